//! Lamplighter: an edge OTA operator. See `docs/architecture.md` for the house and its rooms.

pub mod cli;
pub mod device;
pub mod model;
pub mod store;
