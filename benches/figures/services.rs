//! Services under a real systemd: from a change to its restart, and what 200 of them take at rest.

#[path = "../../tests/services/hall.rs"]
#[allow(dead_code, reason = "the tests' own site, of which this needs a part")]
mod hall;

use std::fmt::Write as _;
use std::thread::sleep;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::table::{quantile, told};
use hall::Hall;

const CHANGES: usize = 200;
const SERVICES: usize = 200;
const DIRECTORIES: usize = 50;
/// Longer than one look at everything, which is each minute.
const WATCHED: Duration = Duration::from_secs(130);

pub fn measure() {
    if std::env::var_os("LAB_PID").is_none() {
        return println!("services: not measured, there is no systemd; `make bench` boots one");
    }
    latency();
    at_rest();
}

/// From the rename that changes a file to the moment at which systemd begins to stop the unit.
fn latency() {
    let hall = Hall::with_service("bench", "bridge", "");
    let mut late = Vec::new();
    for at in 0..CHANGES {
        let changed = monotonic();
        hall.configure("a.conf", &at.to_string());
        hall.until_starts("bridge", at + 2);
        let stopped = hall.sh("systemctl show -P ActiveExitTimestampMonotonic bench-bridge.service");
        let stopped: f64 = stopped.trim().parse().unwrap();
        late.push((stopped / 1e3) - changed - 300.0);
        hall.until_ready("bridge");
    }
    late.sort_by(f64::total_cmp);
    told("configuration change to restart, beyond settle: p50", quantile(&late, 50), "ms", "");
    told("configuration change to restart, beyond settle: p99 of 200", quantile(&late, 99), "ms", "≤ 50");
}

/// Milliseconds since boot.
fn monotonic() -> f64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as f64 * 1e3 + now.tv_nsec as f64 / 1e6
}

fn at_rest() {
    let hall = Hall::new("rest");
    sleep(Duration::from_secs(3));
    let before = (hall.kib("VmRSS"), hall.kib("RssAnon"));
    let mut manifests = String::new();
    for at in 0..SERVICES {
        let directory = at % DIRECTORIES;
        hall.write(&format!("edge/{directory}/a.conf"), &at.to_string());
        writeln!(
            manifests,
            "---\n{{apiVersion: lamplighter.dev/v1alpha1, kind: EdgeService, metadata: {{name: s{at}}}, spec: {{config: [{{path: \
             /srv/rest/edge/{directory}}}], restart: {{unit: rest-{at}.service}}}}}}"
        )
        .unwrap();
        hall.idle_unit(&at.to_string());
    }
    hall.sh("systemctl daemon-reload");
    hall.write("manifests/services.yaml", &manifests);
    for at in 0..SERVICES {
        hall.until_ready(&format!("s{at}"));
    }
    hall.kill();
    hall.start();
    hall.until_ready(&format!("s{}", SERVICES - 1));
    sleep(Duration::from_secs(3));
    let what = format!("{SERVICES} services on {DIRECTORIES} directories");
    told(&format!("{what}: RSS"), hall.kib("VmRSS"), "KiB", &format!("{:.0} without", before.0));
    told(&format!("{what}: RssAnon"), hall.kib("RssAnon"), "KiB", &format!("{:.0} without", before.1));
    let cpu = hall.cpu_ms();
    sleep(WATCHED);
    let hour = (hall.cpu_ms() - cpu) / WATCHED.as_secs_f64() * 3.6;
    told(&format!("{what}: processor time of an idle hour"), hour, "s", "");
}
