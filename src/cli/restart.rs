//! `lamplighter restart`: a service's unit is restarted because a person says so.

use std::io::Write;
use std::process::ExitCode;

use super::order::Addressee;
use crate::site::report::Wanted;

/// Restart a service's unit, whatever its configuration says
#[derive(Debug, clap::Args)]
#[command(
    after_help = "It is done once, also if the site is stopped meanwhile, and not while firmware is being installed on the machine.\n\
    A unit that is stopped is started.\n\nExamples:\n  lamplighter restart modbus-bridge"
)]
pub struct RestartArgs {
    /// Its name
    #[arg(value_name = "SERVICE")]
    service: String,
    #[command(flatten)]
    to: Addressee,
}

pub(super) fn run(args: &RestartArgs, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let service = args.service.strip_prefix("service/").unwrap_or(&args.service).to_owned();
    args.to.give(&Wanted::Restart { service }, out)
}
