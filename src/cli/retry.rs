//! `lamplighter retry`: failed members begin again.

use std::io::Write;
use std::process::ExitCode;

use super::order::Addressee;
use crate::site::report::Wanted;

/// Let members of a rollout that failed begin again
#[derive(Debug, clap::Args)]
#[command(
    after_help = "They have all their attempts again, and the failure limit counts anew. Members of whom it is not known what they run\n\
    (UnknownVersion) go on too.\n\nExamples:\n  \
    lamplighter retry press-fw press-7"
)]
pub struct RetryArgs {
    /// Its name
    #[arg(value_name = "ROLLOUT")]
    rollout: String,
    /// Only these, by name or controller id; all that failed, if none is named
    #[arg(value_name = "GATEWAY")]
    gateways: Vec<String>,
    #[command(flatten)]
    to: Addressee,
}

pub(super) fn run(args: &RetryArgs, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let wanted = Wanted::Retry { rollout: args.rollout.clone(), gateways: args.gateways.clone() };
    args.to.give(&wanted, out)
}
