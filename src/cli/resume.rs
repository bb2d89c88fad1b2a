//! `lamplighter resume`: go on with a rollout, or although the site's memory was lost.

use std::io::Write;
use std::process::ExitCode;

use super::order::Addressee;
use crate::site::report::Wanted;

/// Go on with a rollout; without a name, after the store was lost
#[derive(Debug, clap::Args)]
#[command(after_help = "It does not lift what a spec says, and says so if there is such a thing.\n\nExamples:\n  \
    lamplighter resume press-fw\n  lamplighter resume")]
pub struct ResumeArgs {
    /// Its name; none: offer updates again after the store was lost
    #[arg(value_name = "ROLLOUT")]
    rollout: Option<String>,
    #[command(flatten)]
    to: Addressee,
}

pub(super) fn run(args: &ResumeArgs, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    args.to.give(&Wanted::Resume { rollout: args.rollout.clone() }, out)
}
