//! The real binary and a real API server: kube-apiserver on kine, under the Role that we ship.
//!
//! Run by `make test-cluster`, which builds them first.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]
#![allow(clippy::format_collect, clippy::format_push_string, reason = "tests are read, not timed")]

mod central;
mod cluster;
mod costs;
mod definitions;
mod deletion;
#[path = "../it/process/device.rs"]
#[expect(dead_code, reason = "shared with the tests of the process")]
mod device;
mod drops;
#[path = "../support/eventually.rs"]
mod eventually;
#[path = "../it/process/exposition.rs"]
mod exposition;
mod following;
mod hall;
mod link;
mod main_job;
mod memory;
mod monitoring;
mod offline;
mod on_the_spot;
mod pages;
mod recreate;
mod secrets;
mod shipped;
#[path = "../it/process/site.rs"]
#[expect(dead_code, reason = "shared with the tests of the process")]
mod site;
mod swupdate;
mod uninstalled;
#[path = "../it/process/wire.rs"]
mod wire;
mod writing;

use eventually::eventually;
use site::binary;
