//! `lamplighter unhold`: let a gateway go on.

use std::io::Write;
use std::process::ExitCode;

use super::order::Addressee;
use crate::site::report::Wanted;

/// Let a gateway that is held on the spot take orders again
#[derive(Debug, clap::Args)]
#[command(after_help = "It does not lift the hold of an EdgeGateway, and says so if there is one.")]
pub struct UnholdArgs {
    /// Its name or its controller id
    #[arg(value_name = "GATEWAY")]
    gateway: String,
    #[command(flatten)]
    to: Addressee,
}

pub(super) fn run(args: &UnholdArgs, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let wanted = Wanted::Unhold { gateway: args.gateway.clone() };
    args.to.give(&wanted, out)
}
