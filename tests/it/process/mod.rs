//! The binary as a person and a gateway meet it: a process on a directory, killed, stopped and started again.

mod cache;
mod commands;
mod damaged;
mod device;
mod drops;
mod drops_and_disks;
mod drops_and_power;
mod drops_and_reports;
mod edits;
pub mod exposition;
mod full_disk;
mod gates;
mod init;
mod journal;
mod kept_state;
mod killed;
mod metrics;
mod ordered;
pub mod pki;
mod proofs;
mod registration;
mod room;
pub mod site;
mod site_file;
mod terminal;
mod tls;
mod waves;
mod windows;
pub mod wire;
mod words;

use std::thread::sleep;
use std::time::{Duration, Instant};

/// Waits until there is something, on a machine that may be slow; says what never came.
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(40);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "never: {what}");
        sleep(Duration::from_millis(20));
    }
}
