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
    let binary = Path::new(env!("CARGO_BIN_EXE_lamplighter"));
    let bytes = binary.metadata().unwrap().len();
    table.bounded("binary, stripped", bytes as f64 / 1024.0, "KiB", 10_240.0);
    engine::measure();
    quiet::measure(&mut table, binary);
    start::measure(binary);
    polls::measure(&mut table, binary);
    rollout::measure(&mut table, binary);
    table.verdict()
}
