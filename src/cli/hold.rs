//! `lamplighter hold`: keep a gateway out of it on the spot.

use std::io::Write;
use std::process::ExitCode;

use super::Output;
use super::control::SiteArgs;
use super::order::give;
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
    /// Why, for whoever asks later: at most 200 characters
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    site: SiteArgs,
    /// How to answer: text, json or yaml
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t, hide_possible_values = true)]
    output: Output,
}

pub(super) fn run(args: &HoldArgs, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let wanted = Wanted::Hold { gateway: args.gateway.clone(), reason: args.reason.clone() };
    give(&args.site, args.output, &wanted, out)
}
