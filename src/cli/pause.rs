//! `lamplighter pause`: stop a rollout on the spot.

use std::io::Write;
use std::process::ExitCode;

use super::Output;
use super::control::SiteArgs;
use super::order::give;
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
    /// Why, for whoever asks later: at most 200 characters
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    site: SiteArgs,
    /// How to answer: text, json or yaml
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t, hide_possible_values = true)]
    output: Output,
}

pub(super) fn run(args: &PauseArgs, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let wanted = Wanted::Pause { rollout: args.rollout.clone(), reason: args.reason.clone() };
    give(&args.site, args.output, &wanted, out)
}
