//! `lamplighter cancel`: call a rollout off on the spot.

use std::io::Write;
use std::process::ExitCode;

use super::order::{Addressee, Reason};
use crate::site::report::Wanted;

/// Call a rollout off for good, and its later versions until it is resumed
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Offers are taken back, downloads are broken off, and only who has the whole artifact goes on. It is bound to the\n\
    name: `lamplighter resume` lets later versions begin; what was called off stays so.\n\nExamples:\n  \
    lamplighter cancel press-fw --reason \"wrong file\""
)]
pub struct CancelArgs {
    /// Its name
    #[arg(value_name = "ROLLOUT")]
    rollout: String,
    #[command(flatten)]
    reason: Reason,
    #[command(flatten)]
    to: Addressee,
}

pub(super) fn run(args: &CancelArgs, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let wanted = Wanted::Cancel { rollout: args.rollout.clone(), reason: args.reason.given() };
    args.to.give(&wanted, out)
}
