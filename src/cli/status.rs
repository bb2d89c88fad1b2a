//! `lamplighter status`: the site at a glance.

use std::io::Write;
use std::process::ExitCode;

use super::Output;
use super::control::SiteArgs;
use super::prose::paragraph;
use super::simulate::format_bytes;
use super::table::table;
use crate::site::report::{GatewayList, RolloutLine, Status};

/// Show how the site's rollouts stand
#[derive(Debug, clap::Args)]
pub struct StatusArgs {
    #[command(flatten)]
    site: SiteArgs,
    /// List every gateway too
    #[arg(long)]
    gateways: bool,
    /// How to answer
    #[arg(short, long, value_enum, default_value_t)]
    output: Output,
}

pub(super) fn run(args: &StatusArgs, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let status: Status = args.site.get("/v1/status")?;
    let list: Option<GatewayList> = args.gateways.then(|| args.site.get("/v1/gateways")).transpose()?;
    match args.output {
        Output::Json => {
            let mut json = serde_json::to_value(&status)?;
            if let (Some(list), Some(object)) = (&list, json.as_object_mut()) {
                object.insert("gatewayList".into(), serde_json::to_value(&list.gateways)?);
            }
            writeln!(out, "{}", serde_json::to_string_pretty(&json)?)?;
        }
        Output::Text => out.write_all(text(&status, list.as_ref()).as_bytes())?,
    }
    Ok(ExitCode::SUCCESS)
}

fn text(status: &Status, list: Option<&GatewayList>) -> String {
    let (total, polling) = (status.gateways.total, status.gateways.polling);
    let mut text = format!("site {}: {polling} of {total} gateways poll\n", status.site);
    if status.store_lost {
        text += "\n";
        text += &paragraph("", STORE_LOST);
    }
    text += "\n";
    if status.rollouts.is_empty() {
        text += "no rollouts; an OtaRollout in a manifest directory makes one\n";
    } else {
        text += &rollouts(&status.rollouts);
    }
    if let Some(list) = list {
        text += "\n";
        text += &gateways(list);
    }
    text += &super::knocking::text(status);
    if !status.refused.is_empty() {
        text += "\nrefused until corrected:\n";
        for refusal in &status.refused {
            text += &paragraph("  ", &refusal.what);
            text += &paragraph("    ", &refusal.why);
        }
    }
    text
}

const STORE_LOST: &str = "The store was lost: holds, pauses and what gateways run are unknown, so nothing is offered. The \
    log says what was set aside and why. When the manifests say what you want, run `lamplighter resume`.";

fn rollouts(rollouts: &[RolloutLine]) -> String {
    let headings =
        ["ROLLOUT", "ARTIFACT", "WAVE", "UPDATED", "UPDATING", "PENDING", "OFFLINE", "FAILED", "SKIPPED", "STATE"];
    let rows: Vec<_> = rollouts.iter().map(row).collect();
    let mut text = table(&headings, &rows);
    for (rollout, bytes) in rollouts.iter().filter_map(|rollout| Some((rollout, rollout.artifact.bytes?))) {
        let (came, size) = (format_bytes(bytes), format_bytes(rollout.artifact.size));
        let share = u128::from(bytes) * 100 / u128::from(rollout.artifact.size.max(1));
        text += &paragraph("", &format!("{}: fetching the artifact: {came} of {size} ({share} %)", rollout.name));
    }
    for rollout in rollouts.iter().filter(|rollout| !rollout.message.is_empty()) {
        text += &paragraph("", &format!("{}: {}", rollout.name, rollout.message));
    }
    text
}

fn row(rollout: &RolloutLine) -> Vec<String> {
    let opened = rollout.waves.iter().filter(|wave| wave.opened).count();
    let wave = if rollout.waves.is_empty() { "-".into() } else { format!("{opened}/{}", rollout.waves.len()) };
    let summary = &rollout.summary;
    let mut cells = vec![rollout.name.clone(), format!("{} {}", rollout.artifact.name, rollout.artifact.version), wave];
    cells.push(format!("{}/{}", summary.updated, summary.total));
    let counts = [summary.updating, summary.pending, summary.offline, summary.failed, summary.skipped];
    cells.extend(counts.map(|count| count.to_string()));
    cells.push(if rollout.phase == "Ready" {
        rollout.phase.clone()
    } else {
        format!("{} ({})", rollout.phase, rollout.reason)
    });
    cells
}

fn gateways(list: &GatewayList) -> String {
    if list.gateways.is_empty() {
        return "no gateways; an EdgeGateway in a manifest directory makes one\n".into();
    }
    let rows: Vec<_> = list
        .gateways
        .iter()
        .map(|gateway| {
            let member = gateway.member.as_ref();
            let step = member.map_or("-".into(), |member| match &member.reason {
                Some(reason) => format!("{} ({reason})", member.step),
                None => member.step.clone(),
            });
            let versions: Vec<_> = gateway.versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
            let reports = if versions.is_empty() { "-".into() } else { versions.join(", ") };
            let rollout = member.map_or("-".into(), |member| member.rollout.clone());
            vec![gateway.name.clone(), gateway.controller_id.clone(), gateway.presence.clone(), reports, rollout, step]
        })
        .collect();
    table(&["GATEWAY", "CONTROLLER ID", "PRESENCE", "REPORTS", "ROLLOUT", "STEP"], &rows)
}
