//! `lamplighter pause`: stop a rollout on the spot.

use std::io::Write;
use std::process::ExitCode;

use super::order::{Addressee, Reason};
use crate::site::report::Wanted;

/// Offer nothing of a rollout and open no wave of it, until it is resumed
#[derive(Debug, clap::Args)]
#[command(
    after_help = "It is bound to the name: edits, new versions, restarts and the hub do not lift it, `lamplighter resume` does.\n\nExamples:\n  \
    lamplighter pause press-fw --reason \"the press is hot\""
)]
pub struct PauseArgs {
    /// Its name
    #[arg(value_name = "ROLLOUT")]
    rollout: String,
    #[command(flatten)]
    reason: Reason,
    #[command(flatten)]
    to: Addressee,
}

pub(super) fn run(args: &PauseArgs, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let wanted = Wanted::Pause { rollout: args.rollout.clone(), reason: args.reason.given() };
    args.to.give(&wanted, out)
}
