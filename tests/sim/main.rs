//! The world of `src/world`: calm and in storms, with people who change their mind, and what must hold whatever happens.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

#[path = "../support/crash_backend.rs"]
mod crash_backend;
mod disk;
mod fate;
mod fleet;
mod judge;
mod scene;

mod calm;
mod crash_at_every_commit;
mod people;
mod props;
mod random_windows;
mod rolling_back;
mod scenarios;
mod storms;
mod windows;
