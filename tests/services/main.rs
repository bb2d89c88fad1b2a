//! Services with the real systemd: what is counted is how often a unit was really started.
//!
//! Run by `make test-services`, which boots a systemd in namespaces of its own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod hall;
mod killed;
mod readme;
mod refused;
mod restarts;
mod volume;
