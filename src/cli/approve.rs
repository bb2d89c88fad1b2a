//! `lamplighter approve`: let a wave open that asks for it.

use std::io::Write;
use std::process::ExitCode;

use super::order::Addressee;
use crate::site::report::Wanted;

/// Let a wave with `approval: Manual` open, in the version that is in force
#[derive(Debug, clap::Args)]
#[command(after_help = "It is bound to the version: another one needs another approval.\n\nExamples:\n  \
    lamplighter approve press-fw\n  lamplighter approve press-fw line-3\n  lamplighter approve press-fw --all")]
pub struct ApproveArgs {
    /// Its name
    #[arg(value_name = "ROLLOUT")]
    rollout: String,
    /// The wave's name; the one that waits now, if none is named
    #[arg(value_name = "WAVE")]
    wave: Option<String>,
    /// Approve all waves that ask for it
    #[arg(long, conflicts_with = "wave")]
    all: bool,
    #[command(flatten)]
    to: Addressee,
}

pub(super) fn run(args: &ApproveArgs, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let wanted = Wanted::Approve { rollout: args.rollout.clone(), wave: args.wave.clone(), all: args.all };
    args.to.give(&wanted, out)
}
