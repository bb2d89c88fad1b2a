//! A site at rest: memory, and how often it wakes.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use crate::GATEWAYS;
use crate::site::Site;
use crate::table::Table;

/// 8 MB and 2.5 MB.
const RESIDENT: f64 = 7_812.0;
const ANONYMOUS: f64 = 2_441.0;
/// After a start everything is at rest by then.
const SETTLE: Duration = Duration::from_secs(2);
const WATCHED: Duration = Duration::from_secs(20);

pub fn measure(table: &mut Table, binary: &Path) {
    for gateways in [0, GATEWAYS] {
        let mut site = Site::start(binary, gateways);
        // the state in which a site spends its life: started again on a store that knows its gateways
        site.kill();
        site.start_again();
        sleep(SETTLE);
        let process = site.process();
        table.bounded(&format!("idle, {gateways} gateways: RSS"), process.kib("VmRSS"), "KiB", RESIDENT);
        table.bounded(&format!("idle, {gateways} gateways: RssAnon"), process.kib("RssAnon"), "KiB", ANONYMOUS);
        let before = process.sleeps();
        sleep(WATCHED);
        let wakes = process.sleeps().since(&before) / WATCHED.as_secs_f64();
        table.bounded(&format!("idle, {gateways} gateways: wake-ups"), wakes, "/s", 1.0);
    }
}
