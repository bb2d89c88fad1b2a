//! The `lamplighter` binary: parses its command line and starts one thing.

use std::process::ExitCode;

fn main() -> ExitCode {
    lamplighter::cli::main()
}
