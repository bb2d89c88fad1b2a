//! `lamplighter plan`: what would happen, in which order, before anything is offered.

mod text;

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::at_rest::{AtRest, Visit};
use super::control::SiteArgs;
use super::{Output, bad_input, check};
use crate::resources::Limits;
use crate::site::report::{self, Plans};

/// Show what rollouts would do, in which order, and what holds each gateway back
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Nothing is changed by it. With `-f` the running site says what it would do with a manifest that it was not given.\n\n\
    Examples:\n  lamplighter plan press-fw\n  lamplighter plan -f press-fw.yaml\n  lamplighter plan -o json | jq '.plans[].waves[].members[].reason'"
)]
pub struct PlanArgs {
    /// Only this rollout; all of them, if none is named
    #[arg(value_name = "ROLLOUT", conflicts_with = "file")]
    rollout: Option<String>,
    /// A manifest that the site was not given; `-` reads it from standard input
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    site: SiteArgs,
    /// How to answer: text, json or yaml
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t, hide_possible_values = true)]
    output: Output,
}

pub(super) fn run(args: &PlanArgs, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let plans = match &args.file {
        None => known(args)?,
        Some(file) => match manifest(file) {
            Ok(manifest) => args.site.post_text("/v1/plan", manifest)?,
            Err(why) => return Ok(bad_input(&format!("{}: {why}", file.display()))),
        },
    };
    args.output.print(out, &plans, text::text)?;
    Ok(if plans.refused.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Of what the site was given.
fn known(args: &PlanArgs) -> anyhow::Result<Plans> {
    let path = match &args.rollout {
        Some(name) => {
            format!("/v1/plan/{}", percent_encoding::utf8_percent_encode(name, percent_encoding::NON_ALPHANUMERIC))
        }
        None => "/v1/plan".into(),
    };
    Visit::new(&args.site).get(&path, |site| at_rest(site, args.rollout.as_deref()))
}

fn at_rest(site: &AtRest, of: Option<&str>) -> anyhow::Result<Plans> {
    let plans = report::plans(site.state(), site.now(), of).map_err(anyhow::Error::msg)?;
    Ok(Plans { running: false, saved_at: site.saved_at(), ..plans })
}

fn manifest(file: &Path) -> Result<Vec<u8>, String> {
    if file != Path::new("-") {
        return check::bytes(file);
    }
    let mut bytes = Vec::new();
    let read = io::stdin().lock().take(Limits::FILE_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("cannot be read: {error}"))?;
    if u64::try_from(bytes.len()).is_ok_and(|len| len > Limits::FILE_BYTES) {
        return Err(format!("has more than {} bytes", Limits::FILE_BYTES));
    }
    Ok(bytes)
}
