//! `lamplighter accept`: let gateways in that nobody declared.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;

use super::Output;
use super::control::SiteArgs;
use super::prose::paragraph;
use crate::site::report::{Acceptance, Accepted};

/// Let gateways in that nobody declared, with the token that each showed first
#[derive(Debug, clap::Args)]
pub struct AcceptArgs {
    #[command(flatten)]
    site: SiteArgs,
    /// Their controller ids, as `lamplighter status` lists them
    #[arg(value_name = "ID", required_unless_present = "all")]
    ids: Vec<String>,
    /// Accept all that wait, but those in whose name two tokens were shown
    #[arg(long, conflicts_with = "ids")]
    all: bool,
    /// A label for each of them; may be repeated
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = label)]
    labels: Vec<(String, String)>,
    /// How to answer: text, json or yaml
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t, hide_possible_values = true)]
    output: Output,
}

fn label(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}

pub(super) fn run(args: &AcceptArgs, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let labels: BTreeMap<_, _> = args.labels.iter().cloned().collect();
    let wanted = Acceptance { ids: args.ids.clone(), labels };
    let done: Accepted = args.site.post_json("/v1/accept", &wanted)?;
    args.output.print(out, &done, text)?;
    Ok(if done.refused.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn text(done: &Accepted) -> String {
    if done.accepted.is_empty() && done.refused.is_empty() {
        return "nobody waits to be accepted\n".into();
    }
    let mut text = done.accepted.iter().fold(String::new(), |text, id| text + "accepted " + id + "\n");
    for refused in &done.refused {
        text += &paragraph("", &format!("not accepted: {}: {}", refused.controller_id, refused.why));
    }
    text
}
