//! `lamplighter why GATEWAY`: why it is where it is, and what would change that.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use super::Output;
use super::control::SiteArgs;
use super::prose::paragraph;
use super::table::table;
use crate::model::{Texts, format_duration};
use crate::site::report::{JournalLine, MemberWhy, Why};

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

/// So much of the journal; scripts have all of it.
const LATELY: usize = 20;

fn text(why: &Why) -> String {
    let id = if why.name == why.controller_id { String::new() } else { format!(" ({})", why.controller_id) };
    let mut text = format!("{}{id} {}{}\n", why.name, presence(why), if why.hold { "; it is held" } else { "" });
    let mut list = |what: &str, map: &Texts| {
        let pairs: Vec<_> = map.iter().map(|(key, value)| format!("{key}={value}")).collect();
        if !pairs.is_empty() {
            text += &paragraph(&lead(what), &pairs.join(" "));
        }
    };
    list("labels", &why.labels);
    list("reports", &why.attributes);
    if why.rollouts.is_empty() {
        text += "\nno rollout's selector matches its labels\n";
    }
    for member in &why.rollouts {
        text += "\n";
        text += &membership(member);
    }
    if !why.journal.is_empty() {
        text += "\n";
        text += &journal(&why.journal);
    }
    text
}

fn presence(why: &Why) -> String {
    let polled = why.polled_ago_seconds.map(|seconds| format!("polled {} ago", duration(seconds)));
    match (why.presence.as_str(), polled) {
        ("Never", _) => "has never polled".into(),
        ("Polling", Some(polled)) => polled,
        ("Polling", None) => "polled shortly before the site was started".into(),
        ("Quiet", Some(polled)) => format!("is late: it {polled}"),
        ("Offline", Some(polled)) => format!("is offline: it {polled}"),
        (state, _) => format!("is {}, and has not polled since the site was started", state.to_lowercase()),
    }
}

fn membership(member: &MemberWhy) -> String {
    let reason = member.reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
    let (step, lasts) = (&member.step, duration(member.step_seconds));
    let mut text = format!("{} to {}: {step}{reason} for {lasts}\n", member.rollout, member.version);
    let mut line = |what: &str, value: Option<&str>| {
        if let Some(value) = value {
            text += &paragraph(&lead(what), value);
        }
    };
    line("means", Some(&member.meaning));
    line("message", member.progress.as_deref().or(member.message.as_deref()));
    line("to do", member.remedy.as_deref());
    let due = member.due_seconds.map(|seconds| format!("in {}", duration(seconds)));
    let retries = step == "Waiting" && member.reason.as_deref() != Some("Cancelling");
    line(if retries { "retry" } else { "deadline" }, due.as_deref());
    line("wave", member.wave.map(|wave| wave.to_string()).as_deref());
    let (used, allowed) = member.attempts;
    line("attempts", Some(&format!("{used} of {allowed} used")));
    line("sent", member.sent.as_deref());
    line("action", member.action.map(|action| action.to_string()).as_deref());
    text
}

fn journal(rows: &[JournalLine]) -> String {
    let hidden = rows.len().saturating_sub(LATELY);
    let cells = |row: &JournalLine| {
        let text = |text: Option<&str>| text.filter(|text| !text.is_empty()).unwrap_or("-").to_owned();
        vec![text(row.time.as_deref()), row.what.clone(), text(row.rollout.as_deref()), text(Some(&row.detail))]
    };
    let rows: Vec<_> = rows.iter().skip(hidden).map(cells).collect();
    let text = table(&["WHEN", "WHAT", "ROLLOUT", "DETAIL"], &rows);
    if hidden == 0 { text } else { format!("{text}and {hidden} before that; `-o json` has them all\n") }
}

fn lead(what: &str) -> String {
    format!("  {what:9} ")
}

fn duration(seconds: u64) -> String {
    format_duration(Duration::from_secs(seconds))
}
