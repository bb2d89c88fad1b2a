//! Polls over a connection of their own each, as clients that keep none open do: plain, and with a handshake for each.

use std::path::Path;
use std::time::Instant;

use crate::GATEWAYS;
use crate::gateway::{Take, Wire, root};
use crate::site::Site;
use crate::table::{quantile, told};
use crate::threads::{in_one_thread, together};
use crate::tls::Pair;

const AT_ONCE: usize = 16;
const POLLS: usize = 20_000;
/// A handshake takes the client longer than the site.
const HANDSHAKES: usize = 8_000;

pub fn measure(binary: &Path) {
    polls(binary, "polls over a new connection each", POLLS, None);
    polls(binary, "polls with a TLS handshake each", HANDSHAKES, Some(&Pair::new()));
}

fn polls(binary: &Path, what: &str, polls: usize, tls: Option<&Pair>) {
    let site = Site::over(tls, binary, GATEWAYS, &[]);
    let (address, connector) = (site.devices, tls.map(Pair::connector));
    let (cpu, start) = (site.process().cpu_seconds(), Instant::now());
    let poller = |first: usize| {
        let connector = connector.clone();
        async move {
            let mut times = Vec::with_capacity(polls / AT_ONCE);
            for number in (0..GATEWAYS).cycle().skip(first * GATEWAYS / AT_ONCE).take(polls / AT_ONCE) {
                let begin = Instant::now();
                let mut wire = Wire::by(address, connector.as_ref()).await.unwrap();
                let answer = wire.ask(&format!("GET {}", root(number)), Some(number), "", Take::Discard).await.unwrap();
                assert_eq!(answer.status, 200);
                times.push(begin.elapsed().as_secs_f64() * 1_000.0);
            }
            times
        }
    };
    let mut times: Vec<f64> = in_one_thread(together(AT_ONCE, poller)).concat();
    times.sort_by(f64::total_cmp);
    let (wall, polls, used) = (start.elapsed().as_secs_f64(), times.len() as f64, site.process().cpu_seconds() - cpu);
    told(&format!("{what}, per second of wall time"), polls / wall, "/s", "");
    told("the same per second of the site's processor time", polls / used, "/s", "");
    told("the same: processor time per poll", used / polls * 1e6, "µs", "");
    for percent in [50, 99] {
        told(&format!("the same: p{percent}"), quantile(&times, percent), "ms", "");
    }
}
