//! `lamplighter resume`: go on although the site's memory was lost.

use std::io::Write;
use std::process::ExitCode;

use super::control::SiteArgs;

/// Go on after the store was lost: offer updates again
#[derive(Debug, clap::Args)]
pub struct ResumeArgs {
    #[command(flatten)]
    site: SiteArgs,
}

pub(super) fn run(args: &ResumeArgs, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    args.site.post("/v1/resume")?;
    writeln!(out, "resumed; gateways that have not reported a version wait until they do")?;
    Ok(ExitCode::SUCCESS)
}
