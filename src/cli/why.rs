//! `lamplighter why GATEWAY`: why it is where it is, and what would change that.

use std::fmt::Write as _;
use std::io::Write;
use std::process::ExitCode;

use super::Output;
use super::control::SiteArgs;
use crate::site::report::{MemberWhy, Why};

/// Explain where one gateway stands, and what would change that
#[derive(Debug, clap::Args)]
pub struct WhyArgs {
    /// Its name or its controller id
    gateway: String,
    #[command(flatten)]
    site: SiteArgs,
    /// How to answer
    #[arg(short, long, value_enum, default_value_t)]
    output: Output,
}

pub(super) fn run(args: &WhyArgs, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let name = percent_encoding::utf8_percent_encode(&args.gateway, percent_encoding::NON_ALPHANUMERIC);
    let why: Why = args.site.get(&format!("/v1/why/{name}"))?;
    match args.output {
        Output::Json => writeln!(out, "{}", serde_json::to_string_pretty(&why)?)?,
        Output::Text => out.write_all(text(&why).as_bytes())?,
    }
    Ok(ExitCode::SUCCESS)
}

fn text(why: &Why) -> String {
    let polled = why.polled.as_ref().map(|polled| format!(", polled {polled}")).unwrap_or_default();
    let hold = if why.hold { ", on hold" } else { "" };
    let id = if why.name == why.controller_id { String::new() } else { format!(" ({})", why.controller_id) };
    let mut text = format!("{}{id}: {}{polled}{hold}\n", why.name, why.presence);
    for (key, value) in why.attributes.iter() {
        let _ = writeln!(text, "  reports {key} = {value}");
    }
    if why.rollouts.is_empty() {
        text += "\nno rollout selects it\n";
    }
    for member in &why.rollouts {
        text += "\n";
        text += &membership(member);
    }
    if !why.journal.is_empty() {
        text += "\nlately:\n";
        for row in &why.journal {
            let detail = if row.detail.is_empty() { String::new() } else { format!("  {}", row.detail) };
            let _ = writeln!(text, "  {}  {}{detail}", row.time.as_deref().unwrap_or("no clock"), row.what);
        }
    }
    text
}

fn membership(member: &MemberWhy) -> String {
    let reason = member.reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
    let mut text =
        format!("{} to {}: {}{reason}, since {}\n", member.rollout, member.version, member.step, member.since);
    let mut line = |what: &str, value: Option<String>| {
        if let Some(value) = value {
            let _ = writeln!(text, "  {what:9}{value}");
        }
    };
    line("because", member.meaning.clone());
    line("do", member.remedy.clone());
    line("it says", member.progress.clone().or(member.message.clone()));
    line("due", member.due.clone());
    line("wave", member.wave.map(|wave| wave.to_string()));
    let (used, allowed) = member.attempts;
    line("attempts", Some(format!("{used} of {allowed} used")));
    line("action", member.action.map(|action| action.to_string()));
    text
}
