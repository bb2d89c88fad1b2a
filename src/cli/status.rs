//! `lamplighter status`: the site at a glance.

use std::io::Write;
use std::process::ExitCode;

use serde::Serialize;

use super::at_rest::{AtRest, Visit};
use super::control::SiteArgs;
use super::prose::{ago, last_written, paragraph, span};
use super::table::table;
use super::watch::{WatchArgs, show};
use super::{Output, fetching, waves};
use crate::site::report::{
    self, ClockLine, Counters, GatewayCount, GatewayLine, GatewayList, RolloutLine, SiteFileLine, Status,
};

/// Show how the site's rollouts and services stand, and what was refused
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without a running site it says how they stood when the store was last written.\n\nExamples:\n  \
    lamplighter status --gateways\n  lamplighter status --watch\n  lamplighter status -o json | jq '.rollouts[].reason'"
)]
pub struct StatusArgs {
    #[command(flatten)]
    site: SiteArgs,
    /// List every gateway too
    #[arg(short, long)]
    gateways: bool,
    #[command(flatten)]
    watch: WatchArgs,
    /// How to answer: text, json or yaml
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t, hide_possible_values = true)]
    output: Output,
}

/// What is shown.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    #[serde(flatten)]
    status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    gateway_list: Option<Vec<GatewayLine>>,
}

pub(super) fn run(args: &StatusArgs, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let mut visit = Visit::new(&args.site);
    let ask = || {
        let status: Status = visit.get("/v1/status", |site| Ok(at_rest(site)))?;
        let list = args.gateways.then(|| visit.get("/v1/gateways", |site| Ok(report::gateways(site.state()))));
        let gateway_list = list.transpose()?.map(|list: GatewayList| list.gateways);
        Ok(Shown { status, gateway_list })
    };
    show(args.watch, args.output, out, ask, text)
}

fn at_rest(site: &AtRest) -> Status {
    let status = report::status(&site.name, site.state(), site.now(), |_| None, Vec::new(), Counters::default());
    Status { running: false, saved_at: site.saved_at(), ..status }
}

fn text(shown: &Shown) -> String {
    let status = &shown.status;
    let mut text = heading(status);
    if let Some(file) = &status.site_file {
        text += &site_file(file);
    }
    if let Some(clock) = &status.clock {
        text += &self::clock(clock, &status.rollouts);
    }
    if status.store_lost {
        text += "\n";
        text += &paragraph("", STORE_LOST);
    }
    if let Some(seconds) = status.silent_seconds {
        text += "\n";
        text += &paragraph("", &format!("The site is silent for {}: {SITE_SILENT}", span(seconds)));
    }
    if !status.notices.is_empty() {
        text += "\n";
        for notice in &status.notices {
            text += &paragraph("", notice);
        }
    }
    text += "\n";
    if status.rollouts.is_empty() {
        if status.services.is_empty() {
            text += &paragraph("", "no rollouts; an OtaRollout in a manifest directory makes one");
        }
    } else {
        text += &rollouts(&status.rollouts);
    }
    text += &super::services::text(&status.services);
    text += &orders(status);
    if let Some(list) = &shown.gateway_list {
        text += "\n";
        text += &gateways(list);
    }
    text += &super::knocking::text(status);
    if !status.drops.is_empty() {
        text += "\ndrops that wait or were refused:\n";
        for drop in &status.drops {
            text += &paragraph("  ", &format!("{}: {}", drop.file, drop.state));
            text += &paragraph("    ", &drop.message);
        }
    }
    if !status.refused.is_empty() {
        text += "\nrefused until corrected:\n";
        for refusal in &status.refused {
            text += &paragraph("  ", &refusal.what);
            text += &paragraph("    ", &refusal.why);
        }
    }
    text
}

fn heading(status: &Status) -> String {
    if status.running {
        return paragraph("", &format!("site {}: {}", status.site, fleet(status.gateways, "polling")));
    }
    let when = last_written(status.saved_at.as_deref());
    let mut text = paragraph("", &format!("site {} does not run; its store was last written {when}", status.site));
    text += &paragraph("", &format!("{}; `lamplighter run` starts it", fleet(status.gateways, "polling then")));
    text
}

/// `3 gateways, 2 of them polling`.
fn fleet(gateways: GatewayCount, polling: &str) -> String {
    match (gateways.total, gateways.polling) {
        (0, _) => "no gateways".into(),
        (1, 1) => format!("1 gateway, {polling}"),
        (1, _) => format!("1 gateway, not {polling}"),
        (total, 0) => format!("{total} gateways, none of them {polling}"),
        (total, all) if total == all => format!("{total} gateways, all of them {polling}"),
        (total, some) => format!("{total} gateways, {some} of them {polling}"),
    }
}

fn site_file(file: &SiteFileLine) -> String {
    let in_force = span(file.in_force_seconds);
    let mut text = paragraph("", &format!("site file: in force for {in_force}"));
    if let Some(why) = &file.problem {
        let since = ago(file.problem_seconds.unwrap_or(0));
        text += "\n";
        text += &paragraph(
            "",
            &format!("the site file was changed {since} and is not accepted, so what it said before stays in force:"),
        );
        text += &paragraph("  ", why);
    }
    if !file.needs_restart.is_empty() {
        let (fields, is) = (file.needs_restart.join(", "), if file.needs_restart.len() == 1 { "is" } else { "are" });
        text += "\n";
        text += &paragraph(
            "",
            &format!(
                "{fields} {is} changed in the site file, which needs a restart: stop the site and `lamplighter run` it again; no gateway notices"
            ),
        );
    }
    text
}

/// A clock that is not trusted is news; else it matters only to windows.
fn clock(clock: &ClockLine, rollouts: &[RolloutLine]) -> String {
    let shows = clock.time.as_deref().unwrap_or("nothing");
    match (clock.trusted, rollouts.iter().any(|rollout| rollout.window.is_some())) {
        (true, true) => paragraph("", &format!("clock: {shows}, {}", clock.why)),
        (true, false) => String::new(),
        (false, _) => {
            let text = format!("the clock is not trusted, so windows follow whenClockUnknown: {}", clock.why);
            format!("\n{}", paragraph("", &text))
        }
    }
}

const STORE_LOST: &str = "The store was lost: holds, pauses and what gateways run are unknown, so nothing is offered. The \
    log says what was set aside and why. When the manifests say what you want, run `lamplighter resume`.";

const SITE_SILENT: &str = "many gateways that nobody was updating stopped polling at once. Nothing is offered and no \
    deadline runs until they are back, or for 24h. Look at the site's network and power.";

fn rollouts(rollouts: &[RolloutLine]) -> String {
    let counts = |rollout: &RolloutLine| {
        let summary = &rollout.summary;
        [summary.updating, summary.pending, summary.offline, summary.failed, summary.skipped, summary.rolled_back]
    };
    // a column of zeros says nothing, and takes what a narrow terminal has
    let told: Vec<usize> = (0..COUNTS.len())
        .filter(|at| rollouts.iter().any(|rollout| counts(rollout).get(*at).is_some_and(|count| *count > 0)))
        .collect();
    let mut headings = vec!["ROLLOUT", "ARTIFACT", "WAVE", "UPDATED"];
    headings.extend(told.iter().filter_map(|at| COUNTS.get(*at)));
    headings.push("STATE");
    let row = |rollout: &RolloutLine| {
        let opened = rollout.waves.iter().filter(|wave| wave.opened).count();
        let wave = if rollout.waves.is_empty() { "-".into() } else { format!("{opened}/{}", rollout.waves.len()) };
        let artifact = format!("{} {}", rollout.artifact.name, rollout.artifact.version);
        let updated = format!("{}/{}", rollout.summary.updated, rollout.summary.total);
        let mut cells = vec![rollout.name.clone(), artifact, wave, updated];
        cells.extend(told.iter().filter_map(|at| counts(rollout).get(*at).map(u32::to_string)));
        cells.push(match rollout.phase.as_str() {
            "Ready" => "Ready".into(),
            phase => format!("{phase} ({})", rollout.reason),
        });
        cells
    };
    let rows: Vec<_> = rollouts.iter().map(row).collect();
    let mut text = table(&headings, &rows, &["WAVE", "PENDING", "ARTIFACT", "SKIPPED", "UPDATING", "OFFLINE"]);
    for rollout in rollouts {
        let progress = rollout.artifact.progress.as_ref();
        if let Some(words) = progress.and_then(|progress| fetching::words(progress, Some(rollout.artifact.size))) {
            text += &paragraph("", &format!("{}: fetching the artifact: {words}", rollout.name));
        }
    }
    for rollout in rollouts {
        if !rollout.message.is_empty() {
            text += &paragraph("", &format!("{}: {}", rollout.name, rollout.message));
        }
        if let Some(ignored) = &rollout.change_ignored {
            text += &paragraph("", &format!("{}: change ignored: {ignored}", rollout.name));
        }
        text += &waves::text(rollout);
    }
    text
}

/// What people said on the spot, and has not been lifted.
fn orders(status: &Status) -> String {
    if status.orders.is_empty() {
        return String::new();
    }
    let mut text = "\nordered on the spot:\n".to_owned();
    for order in &status.orders {
        let about = order.rollout.as_ref().or(order.gateway.as_ref()).map_or("", String::as_str);
        text += &paragraph("  ", &format!("{} {about}, {}; {} lifts that", order.order, order.whose(), order.lift));
    }
    let more = usize::try_from(status.orders_total).unwrap_or(usize::MAX).saturating_sub(status.orders.len());
    if more > 0 {
        text += &paragraph("  ", &format!("and {more} before these"));
    }
    text
}

const COUNTS: [&str; 6] = ["UPDATING", "PENDING", "OFFLINE", "FAILED", "SKIPPED", "ROLLED BACK"];

fn gateways(list: &[GatewayLine]) -> String {
    if list.is_empty() {
        return paragraph("", "no gateways; an EdgeGateway in a manifest directory makes one");
    }
    let row = |gateway: &GatewayLine| {
        let member = gateway.member.as_ref();
        let step = member.map_or("-".into(), |member| match &member.reason {
            Some(reason) => format!("{} ({reason})", member.step),
            None => member.step.clone(),
        });
        let versions: Vec<_> = gateway.versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
        let reports = if versions.is_empty() { "-".into() } else { versions.join(", ") };
        let rollout = member.map_or("-".into(), |member| member.rollout.clone());
        vec![gateway.name.clone(), gateway.controller_id.clone(), gateway.presence.clone(), reports, rollout, step]
    };
    let rows: Vec<_> = list.iter().map(row).collect();
    let headings = ["GATEWAY", "CONTROLLER ID", "PRESENCE", "REPORTS", "ROLLOUT", "STEP"];
    table(&headings, &rows, &["CONTROLLER ID", "ROLLOUT", "REPORTS", "PRESENCE"])
}
