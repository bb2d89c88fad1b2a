//! `lamplighter why GATEWAY|rollout/NAME|service/NAME`: why it is where it is, and what would change that.

use std::io::Write;
use std::process::ExitCode;

use super::Output;
use super::at_rest::{AtRest, Visit};
use super::control::SiteArgs;
use super::prose::{ago, ago_since, last_written, paragraph, span};
use super::table::table;
use super::watch::{WatchArgs, show};
use crate::engine::Awaited;
use crate::model::Texts;
use crate::site::report::{self, ExpectedLine, JournalLine, MemberWhy, OrderLine, ROWS_FOR_WHY, Why};

/// Explain where one gateway, rollout or service stands, and what would change that
#[derive(Debug, clap::Args)]
#[command(after_help = "Without a running site it says how it stood when the store was last written.\n\nExamples:\n  \
    lamplighter why press-1\n  lamplighter why press-1 --watch\n  lamplighter why rollout/press-fw\n  lamplighter why service/modbus-bridge")]
pub struct WhyArgs {
    /// A gateway's name or controller id, or `rollout/` or `service/` and the name of one
    #[arg(value_name = "GATEWAY")]
    gateway: String,
    #[command(flatten)]
    site: SiteArgs,
    #[command(flatten)]
    watch: WatchArgs,
    /// How to answer: text, json or yaml
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t, hide_possible_values = true)]
    output: Output,
}

pub(super) fn run(args: &WhyArgs, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    if let Some(rollout) = args.gateway.strip_prefix("rollout/") {
        return super::why_rollout::run(rollout, &args.site, args.watch, args.output, out);
    }
    if let Some(service) = args.gateway.strip_prefix("service/") {
        return super::why_service::run(service, &args.site, args.watch, args.output, out);
    }
    let name = percent_encoding::utf8_percent_encode(&args.gateway, percent_encoding::NON_ALPHANUMERIC);
    let path = format!("/v1/why/{name}");
    let mut visit = Visit::new(&args.site);
    let ask = || visit.get(&path, |site| at_rest(site, &args.gateway));
    show(args.watch, args.output, out, ask, text)
}

fn at_rest(site: &AtRest, who: &str) -> anyhow::Result<Why> {
    let rows = site.newest(ROWS_FOR_WHY)?;
    let why = report::why(site.state(), site.now(), who, |_| None, |_| None, &rows);
    let why = why.ok_or_else(|| anyhow::anyhow!("{}", report::no_such_gateway(site.state(), who)))?;
    Ok(Why { running: false, saved_at: site.saved_at(), ..why })
}

/// So much of the journal; scripts have all of it.
const LATELY: usize = 20;

fn text(why: &Why) -> String {
    let id = if why.name == why.controller_id { String::new() } else { format!(" ({})", why.controller_id) };
    let held = if why.hold { "; it is held" } else { "" };
    let mut text = paragraph("", &format!("{}{id} {}{held}", why.name, presence(why)));
    for hold in &why.holds {
        text += &stop(hold);
    }
    text += &at_rest_since(why.running, why.saved_at.as_deref());
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
    text += &journal(&format!("--gateway {}", why.name), &why.journal);
    text
}

fn presence(why: &Why) -> String {
    let polled = why.polled_ago_seconds.map(|seconds| format!("polled {}", ago(seconds)));
    match (why.presence.as_str(), polled) {
        ("Never", _) => "has never polled".into(),
        ("Polling", Some(polled)) => polled,
        ("Polling", None) if why.running => "polled shortly before the site was started".into(),
        ("Polling", None) => "was polling".into(),
        ("Quiet", Some(polled)) => format!("is late: it {polled}"),
        ("Offline", Some(polled)) => format!("is offline: it {polled}"),
        ("Quiet", None) if !why.running => "was late".into(),
        (_, None) if !why.running => "was offline".into(),
        (state, _) => format!("is {}, and has not polled since the site was started", state.to_lowercase()),
    }
}

fn membership(member: &MemberWhy) -> String {
    let reason = member.reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
    let (step, lasts) = (&member.step, span(member.step_seconds));
    let mut text = paragraph("", &format!("{} to {}: {step}{reason} for {lasts}", member.rollout, member.version));
    let mut line = |what: &str, value: Option<&str>| text += &line(what, value);
    line("means", Some(&member.meaning));
    line("because", member.because.as_deref());
    line("message", member.progress.as_deref().or(member.message.as_deref()));
    let stops: String = member.stops.iter().map(stop).collect();
    // what stops it says itself what lifts it
    line("to do", member.remedy.as_deref().filter(|_| stops.is_empty()));
    let due = member.due_seconds.map(|seconds| format!("in {}", span(seconds)));
    let opens = member.opens.as_ref().map(|opens| format!("{}, in {}", opens.local, span(opens.in_seconds)));
    line("opens", opens.as_deref());
    let retries = step == "Waiting" && member.reason.as_deref() != Some("Cancelling");
    line(if retries { "retry" } else { "deadline" }, due.as_deref());
    // what is due has been said, and who has to do something too
    let expects = member
        .expected
        .as_ref()
        .filter(|it| member.due_seconds.is_none() && member.opens.is_none() && it.what != Awaited::Person.to_string());
    line("expects", expects.map(expects_what).as_deref());
    line("variant", member.variant.map(|variant| variant.to_string()).as_deref());
    let wave = member.wave.map(|wave| match &member.wave_name {
        Some(name) => format!("{wave} ({name})"),
        None => wave.to_string(),
    });
    line("wave", wave.as_deref());
    line("ignored", member.change_ignored.as_deref());
    let (used, allowed) = member.attempts;
    line("attempts", Some(&format!("{used} of {allowed} used")));
    line("sent", member.sent.as_deref());
    line("action", member.action.map(|action| action.to_string()).as_deref());
    text += &stops;
    text
}

/// Who stopped it, and what lifts that.
pub(super) fn stop(order: &OrderLine) -> String {
    let word = match order.order.as_str() {
        "pause" => "paused",
        "cancel" => "cancelled",
        _ => "held",
    };
    paragraph(&lead(word), &format!("{}; {} lifts that", order.whose(), order.lift))
}

/// `wave 1 to stay healthy for another 9m`.
pub(super) fn expects_what(expected: &ExpectedLine) -> String {
    let when = expected.in_seconds.map(|seconds| format!(", in {}", span(seconds))).unwrap_or_default();
    format!("{}{when}", expected.what)
}

/// `Stalled (NotApproved)`; that something is ready needs no reason.
pub(super) fn standing(phase: &str, reason: &str) -> String {
    if phase == "Ready" { phase.to_owned() } else { format!("{phase} ({reason})") }
}

/// Of a site that does not run: of when it is what it says.
pub(super) fn at_rest_since(running: bool, saved_at: Option<&str>) -> String {
    if running {
        return String::new();
    }
    paragraph("", &format!("the site does not run; its store was last written {}", last_written(saved_at)))
}

/// What is known of something; nothing, if nothing is.
pub(super) fn line(what: &str, value: Option<&str>) -> String {
    let value = value.filter(|value| !value.is_empty());
    value.map(|value| paragraph(&lead(what), value)).unwrap_or_default()
}

/// What happened to it lately, behind an empty line.
pub(super) fn journal(filter: &str, rows: &[JournalLine]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let hidden = rows.len().saturating_sub(LATELY);
    let cells = |row: &JournalLine| {
        let text = |text: Option<&str>| text.filter(|text| !text.is_empty()).unwrap_or("-").to_owned();
        let when = row.time.as_deref().and_then(ago_since);
        vec![text(when.as_deref()), row.what.clone(), text(row.rollout.as_deref()), text(Some(&row.detail))]
    };
    let rows: Vec<_> = rows.iter().skip(hidden).map(cells).collect();
    let mut text = "\n".to_owned() + &table(&["WHEN", "WHAT", "ROLLOUT", "DETAIL"], &rows, &["ROLLOUT"]);
    if hidden > 0 {
        text += &paragraph("", &format!("and {hidden} before that; `lamplighter journal {filter}` has them all"));
    }
    text
}

fn lead(what: &str) -> String {
    format!("  {what:9} ")
}
