//! Lamplighter: an edge OTA operator. See `docs/architecture.md` for the house and its rooms.

pub mod artifact;
pub mod authority;
pub mod cli;
pub mod config;
pub mod device;
pub mod engine;
pub mod gate;
mod inside;
pub mod intake;
pub mod kube;
pub mod metrics;
pub mod model;
mod names;
pub mod resources;
pub mod site;
pub mod store;
pub mod world;
