//! Integration tests, one module per room.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

#[path = "../support/crash_backend.rs"]
mod crash_backend;
mod store;
