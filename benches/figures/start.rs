//! From a kill to the first answered poll, with all gateways in the store.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::GATEWAYS;
use crate::site::{Site, poll};
use crate::table::{quantile, told};

const STARTS: usize = 9;
const PATIENCE: Duration = Duration::from_secs(30);

pub fn measure(binary: &Path) {
    let mut site = Site::start(binary, GATEWAYS);
    assert!((0..GATEWAYS).all(|number| poll(site.devices, number)), "every gateway is known");
    let mut times: Vec<f64> = (0..STARTS)
        .map(|number| {
            site.kill();
            let start = Instant::now();
            site.start_again();
            while !poll(site.devices, number) {
                assert!(start.elapsed() < PATIENCE, "the site does not come back");
                sleep(Duration::from_micros(500));
            }
            start.elapsed().as_secs_f64() * 1_000.0
        })
        .collect();
    times.sort_by(f64::total_cmp);
    told(&format!("kill -9 to first answered poll, median of {STARTS}"), quantile(&times, 50), "ms", "≤ 200");
    told("the same, slowest", quantile(&times, 100), "ms", "");
}
