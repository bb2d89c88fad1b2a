//! Services with the real systemd: what is counted is how often a unit was really started.
//!
//! Run by `make test-services`, which boots a systemd in namespaces of its own, and builds an API server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod api;
#[path = "../cluster/cluster.rs"]
#[expect(dead_code, reason = "shared with the tests of the cluster")]
mod cluster;
#[path = "../support/eventually.rs"]
mod eventually;
mod hall;
mod killed;
mod readme;
mod refused;
mod restarts;
mod volume;

use std::process::Command;

use eventually::eventually;

/// What cargo built beside the tests; it knows the definitions.
fn binary() -> Command {
    Command::new(env!("CARGO_BIN_EXE_lamplighter"))
}
