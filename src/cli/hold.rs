//! `lamplighter hold`: keep a gateway out of it on the spot.

use std::io::Write;
use std::process::ExitCode;

use super::order::{Addressee, Reason};
use crate::site::report::Wanted;

/// Let a gateway take no new order, until it is let go on the spot
#[derive(Debug, clap::Args)]
#[command(
    after_help = "It is bound to the controller id: edits, restarts and the hub do not lift it, `lamplighter unhold` does.\n\nExamples:\n  \
    lamplighter hold press-1 --reason \"acceptance test until noon\""
)]
pub struct HoldArgs {
    /// Its name or its controller id
    #[arg(value_name = "GATEWAY")]
    gateway: String,
    #[command(flatten)]
    reason: Reason,
    #[command(flatten)]
    to: Addressee,
}

pub(super) fn run(args: &HoldArgs, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let wanted = Wanted::Hold { gateway: args.gateway.clone(), reason: args.reason.given() };
    args.to.give(&wanted, out)
}
