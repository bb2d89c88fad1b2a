//! `lamplighter cancel`: call a rollout off on the spot.

use std::io::Write;
use std::process::ExitCode;

use super::Output;
use super::control::SiteArgs;
use super::order::give;
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
    /// Why, for whoever asks later: at most 200 characters
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    site: SiteArgs,
    /// How to answer: text, json or yaml
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t, hide_possible_values = true)]
    output: Output,
}

pub(super) fn run(args: &CancelArgs, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let wanted = Wanted::Cancel { rollout: args.rollout.clone(), reason: args.reason.clone() };
    give(&args.site, args.output, &wanted, out)
}
