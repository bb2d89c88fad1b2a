//! The figures of docs/measurements.md, printed with their budgets: `make bench`. The release binary is measured from outside,
//! as its users meet it; the engine alone from inside.
//!
//! Fails when a budget is broken that is a count, a ratio or memory. Times are only printed: machines differ and are busy.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]
#![allow(clippy::cast_precision_loss, clippy::wildcard_imports, reason = "figures for people")]

mod engine;
mod polls;
mod process;
mod quiet;
mod rollout;
mod site;
mod start;
mod table;

use std::path::Path;
use std::process::ExitCode;

use table::Table;

/// As many as the budgets speak of.
const GATEWAYS: usize = 500;

fn main() -> ExitCode {
    let mut table = Table::default();
    // what cargo builds beside a benchmark has the features that tests ask of the libraries
    let binary =
        std::env::var_os("LAMPLIGHTER").expect("LAMPLIGHTER=… names the binary that is measured: run `make bench`");
    let binary = Path::new(&binary);
    let bytes = binary.metadata().unwrap().len();
    table.bounded("binary, stripped", bytes as f64 / 1024.0, "KiB", 10_240.0);
    engine::measure();
    quiet::measure(&mut table, binary);
    start::measure(binary);
    polls::measure(&mut table, binary);
    rollout::measure(&mut table, binary);
    table.verdict()
}
