//! `lamplighter unhold`: let a gateway go on.

use std::io::Write;
use std::process::ExitCode;

use super::Output;
use super::control::SiteArgs;
use super::order::give;
use crate::site::report::Wanted;

/// Let a gateway that is held on the spot take orders again
#[derive(Debug, clap::Args)]
#[command(after_help = "It does not lift the hold of an EdgeGateway, and says so if there is one.")]
pub struct UnholdArgs {
    /// Its name or its controller id
    #[arg(value_name = "GATEWAY")]
    gateway: String,
    #[command(flatten)]
    site: SiteArgs,
    /// How to answer: text, json or yaml
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t, hide_possible_values = true)]
    output: Output,
}

pub(super) fn run(args: &UnholdArgs, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let wanted = Wanted::Unhold { gateway: args.gateway.clone() };
    give(&args.site, args.output, &wanted, out)
}
