//! A whole rollout, as `simulate` plays it: memory, processor time, and what goes to disk.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use crate::GATEWAYS;
use crate::site::counters;
use crate::table::{Table, told};

/// 12 MB and 6 MB.
const RESIDENT: f64 = 11_718.0;
const ANONYMOUS: f64 = 5_859.0;
const LOOK: Duration = Duration::from_millis(250);

pub fn measure(table: &mut Table, binary: &Path) {
    let dir = tempfile::tempdir().unwrap();
    let mut command = Command::new(binary);
    // its directory goes where its control socket is found
    command.env("TMPDIR", dir.path()).args(["simulate", "-o", "json", "--gateways", &GATEWAYS.to_string()]);
    let mut simulation = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut last = Value::Null;
    while simulation.try_wait().unwrap().is_none() {
        last = look(dir.path()).unwrap_or(last);
        sleep(LOOK);
    }
    let output = simulation.wait_with_output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).expect("the simulation reports");
    assert!(output.status.success(), "{:#}", report["wrong"]);
    let number = |value: &Value| value.as_f64().unwrap();
    let served = number(&report["servedBytes"]) / 1e9;
    table.bounded("rollout: peak RSS (VmHWM)", number(&report["server"]["peakRssKiB"]), "KiB", RESIDENT);
    table.bounded("rollout: peak RssAnon", number(&report["server"]["rssAnonKiB"]), "KiB", ANONYMOUS);
    told("rollout: processor time", number(&report["server"]["cpuSeconds"]), "s", "");
    told("rollout: artifact bytes served", served, "GB", "");
    told("rollout: polls", number(&report["polls"]), "", "");
    told("rollout: commits", number(&last["commits"]), "", "");
    told("rollout: bytes written to the store", number(&last["storeBytes"]) / 1e6, "MB", "");
    told("rollout: the same per gateway", number(&last["storeBytes"]) / 1e3 / GATEWAYS as f64, "kB", "");
}

/// The counters of the site that the simulation runs, while it does.
fn look(dir: &Path) -> Option<Value> {
    let simulated = fs::read_dir(dir).ok()?.next()?.ok()?.path();
    counters(&simulated.join("state/control.sock"))
}
