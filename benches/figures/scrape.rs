//! Scrapes of `/metrics`: how large, and what each costs the site.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use crate::GATEWAYS;
use crate::gateway::{firmware, rollout};
use crate::site::Site;
use crate::table::told;

const SCRAPES: u32 = 1_000;
/// By then the artifact is verified, and everybody waits.
const SETTLE: Duration = Duration::from_secs(3);

pub fn measure(binary: &Path) {
    let bytes = firmware(1, 64 << 10);
    let manifest = rollout("1", &bytes);
    let site = Site::with(binary, GATEWAYS, "", &[("fw.bin", bytes.as_slice()), ("rollout.yaml", manifest.as_bytes())]);
    sleep(SETTLE);
    site.settle();
    let process = site.process();
    let resident = process.kib("VmRSS");
    let length = site.scrape().len();
    let after_one = process.kib("VmRSS");
    let before = process.cpu_seconds();
    for _ in 0..SCRAPES {
        site.scrape();
    }
    let used = process.cpu_seconds() - before;
    told("a scrape of 500 gateways in one rollout: bytes", length as f64, "", "");
    told("the same: processor time, a connection each", used / f64::from(SCRAPES) * 1e6, "µs", "");
    told("more RSS after the first scrape", after_one - resident, "KiB", "");
    told("more RSS after a thousand", process.kib("VmRSS") - resident, "KiB", "");
}
