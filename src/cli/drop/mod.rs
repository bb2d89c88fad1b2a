//! `lamplighter drop …`: what goes to a site on a stick, and what comes back.

mod file;
mod make;
mod report;

use std::io::Write;
use std::process::ExitCode;

/// Make what goes to a site on a stick, and what comes back from it
#[derive(Debug, clap::Args)]
pub struct DropArgs {
    #[command(subcommand)]
    command: DropCommand,
}

#[derive(Debug, clap::Subcommand)]
enum DropCommand {
    Make(make::MakeArgs),
    Report(report::ReportArgs),
}

pub(super) fn run(args: &DropArgs, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    match &args.command {
        DropCommand::Make(args) => make::run(args, out),
        DropCommand::Report(args) => report::run(args, out),
    }
}
