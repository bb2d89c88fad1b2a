//! `lamplighter unhold`: let a gateway go on.

use std::io::Write;
use std::process::ExitCode;

use super::order::Addressee;
use crate::site::report::Wanted;

/// Let a gateway that is held on the spot take orders again
#[derive(Debug, clap::Args)]
#[command(after_help = "It does not lift the hold of an EdgeGateway, and says so if there is one.\n\nExamples:\n  \
    lamplighter unhold press-1\n  lamplighter unhold press-7 --repaired")]
pub struct UnholdArgs {
    /// Its name or its controller id
    #[arg(value_name = "GATEWAY")]
    gateway: String,
    /// It was set right by hand: forget that its last update failed, or that two machines used its id; a hold stays
    #[arg(long)]
    repaired: bool,
    #[command(flatten)]
    to: Addressee,
}

pub(super) fn run(args: &UnholdArgs, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let gateway = args.gateway.clone();
    let wanted = if args.repaired { Wanted::Repaired { gateway } } else { Wanted::Unhold { gateway } };
    args.to.give(&wanted, out)
}
