//! The figures of docs/measurements.md, printed with their budgets: `make bench`. The release binary is measured from outside,
//! as its users meet it; the engine alone from inside.
//!
//! Fails when a budget is broken that is a count, a ratio or memory. Times are only printed: machines differ and are busy.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]
#![allow(clippy::cast_precision_loss, clippy::wildcard_imports, reason = "figures for people")]

mod crowd;
mod engine;
mod fifty;
mod fresh;
mod gateway;
mod polls;
mod process;
mod quiet;
mod rate;
mod rollout;
mod scrape;
mod serve;
mod site;
mod slow;
mod start;
mod table;
mod threads;
mod tls;
mod week;

use std::path::Path;
use std::process::ExitCode;

use table::Table;

/// As many as the budgets speak of.
const GATEWAYS: usize = 500;

/// These need no binary.
const INSIDE: [&str; 2] = ["engine", "week"];

fn main() -> ExitCode {
    let mut table = Table::default();
    // `LAMPLIGHTER=… cargo bench --bench figures -- serve` measures only that
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let wants = |what: &str| wanted.is_empty() || wanted.iter().any(|wanted| wanted == what);
    if wants("engine") {
        engine::measure();
    }
    if wants("week") {
        week::measure();
    }
    if !wanted.is_empty() && wanted.iter().all(|wanted| INSIDE.contains(&wanted.as_str())) {
        return table.verdict();
    }
    // what cargo builds beside a benchmark has the features that tests ask of the libraries
    let binary =
        std::env::var_os("LAMPLIGHTER").expect("LAMPLIGHTER=… names the binary that is measured: run `make bench`");
    let binary = Path::new(&binary);
    if wants("binary") {
        let bytes = binary.metadata().unwrap().len();
        table.bounded("binary, stripped", bytes as f64 / 1024.0, "KiB", 10_240.0);
    }
    let mut group = |what: &str, measure: &dyn Fn(&mut Table)| wants(what).then(|| measure(&mut table));
    group("quiet", &|table| quiet::measure(table, binary));
    group("scrape", &|_| scrape::measure(binary));
    group("start", &|_| start::measure(binary));
    group("polls", &|table| polls::measure(table, binary));
    group("fresh", &|_| fresh::measure(binary));
    group("serve", &|table| serve::measure(table, binary));
    group("rate", &|table| rate::measure(table, binary));
    group("slow", &|_| slow::measure(binary));
    group("crowd", &|table| crowd::measure(table, binary));
    group("fifty", &|table| fifty::measure(table, binary));
    group("rollout", &|table| rollout::measure(table, binary));
    table.verdict()
}
