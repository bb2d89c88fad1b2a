//! The real binary and a real API server: kube-apiserver on kine, under the Role that we ship.
//!
//! Run by `make test-cluster`, which builds them first.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]
#![allow(clippy::format_collect, clippy::format_push_string, reason = "tests are read, not timed")]

mod cluster;
mod definitions;
mod deletion;
#[path = "../it/process/device.rs"]
#[expect(dead_code, reason = "shared with the tests of the process")]
mod device;
mod following;
mod hall;
mod memory;
mod offline;
#[path = "../it/process/site.rs"]
#[expect(dead_code, reason = "shared with the tests of the process")]
mod site;
#[path = "../it/process/wire.rs"]
mod wire;
mod writing;

use std::thread::sleep;
use std::time::{Duration, Instant};

/// Waits until there is something, on a machine that may be slow; says what never came.
fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(150);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "never: {what}");
        sleep(Duration::from_millis(50));
    }
}
