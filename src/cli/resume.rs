//! `lamplighter resume`: go on although the site's memory was lost.

use std::io::Write;
use std::process::ExitCode;

use super::control::SiteArgs;
use crate::site::report::Status;

/// Go on after the store was lost: offer updates again
#[derive(Debug, clap::Args)]
pub struct ResumeArgs {
    #[command(flatten)]
    site: SiteArgs,
}

pub(super) fn run(args: &ResumeArgs, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let before: Status = args.site.get("/v1/status")?;
    if !before.store_lost {
        writeln!(out, "nothing to resume: the store was not lost, or somebody resumed before")?;
        return Ok(ExitCode::SUCCESS);
    }
    args.site.post::<serde_json::Value>("/v1/resume")?;
    writeln!(out, "resumed: gateways that report a version go on, the others wait as UnknownVersion until they do")?;
    Ok(ExitCode::SUCCESS)
}
