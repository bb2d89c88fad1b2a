//! A site in virtual time: the synchronous heart, a store, and seeded gateways that judge what they are told to do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod bodies;
#[path = "../support/crash_backend.rs"]
mod crash_backend;
mod device;
mod disk;
mod fate;
mod fleet;
mod link;
mod oracle;
mod scene;
mod site;
mod world;

mod calm;
mod crash_at_every_commit;
mod people;
mod props;
mod storms;
mod windows;
