//! Polls over a connection of their own each, as clients that keep none open do.

use std::path::Path;
use std::time::Instant;

use crate::GATEWAYS;
use crate::gateway::{Take, Wire, root};
use crate::site::Site;
use crate::table::{quantile, told};
use crate::threads::{in_one_thread, together};

const AT_ONCE: usize = 16;
const POLLS: usize = 20_000;

pub fn measure(binary: &Path) {
    let site = Site::start(binary, GATEWAYS);
    let address = site.devices;
    let (cpu, start) = (site.process().cpu_seconds(), Instant::now());
    let poller = |first: usize| async move {
        let mut times = Vec::with_capacity(POLLS / AT_ONCE);
        for number in (0..GATEWAYS).cycle().skip(first * GATEWAYS / AT_ONCE).take(POLLS / AT_ONCE) {
            let begin = Instant::now();
            let mut wire = Wire::to(address).await.unwrap();
            let answer = wire.ask(&format!("GET {}", root(number)), Some(number), "", Take::Discard).await.unwrap();
            assert_eq!(answer.status, 200);
            times.push(begin.elapsed().as_secs_f64() * 1_000.0);
        }
        times
    };
    let mut times: Vec<f64> = in_one_thread(together(AT_ONCE, poller)).concat();
    times.sort_by(f64::total_cmp);
    let (wall, polls, used) = (start.elapsed().as_secs_f64(), times.len() as f64, site.process().cpu_seconds() - cpu);
    told("polls over a new connection each, per second of wall time", polls / wall, "/s", "");
    told("the same per second of the site's processor time", polls / used, "/s", "");
    told("the same: processor time per poll", used / polls * 1e6, "µs", "");
    for percent in [50, 99] {
        told(&format!("the same: p{percent}"), quantile(&times, percent), "ms", "");
    }
}
