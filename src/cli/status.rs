//! `lamplighter status`: the site at a glance.

use std::fmt::Write as _;
use std::io::Write;
use std::process::ExitCode;

use super::Output;
use super::control::SiteArgs;
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
        text += "the store was lost, nothing is offered: look at the log, then run `lamplighter resume`\n";
    }
    if status.rollouts.is_empty() {
        text += "\nno rollouts\n";
    } else {
        text += "\n";
        text += &rollouts(&status.rollouts);
    }
    if let Some(list) = list {
        text += "\n";
        text += &gateways(list);
    }
    if !status.refused.is_empty() {
        text += "\nrefused:\n";
        for refusal in &status.refused {
            let _ = writeln!(text, "  {}: {}", refusal.what, refusal.why);
        }
    }
    text
}

fn rollouts(rollouts: &[RolloutLine]) -> String {
    let headings =
        ["ROLLOUT", "ARTIFACT", "PHASE", "WAVE", "UPDATED", "UPDATING", "PENDING", "FAILED", "SKIPPED", "OFFLINE"];
    let rows: Vec<_> = rollouts.iter().map(row).collect();
    let mut text = table(&headings, &rows);
    for (rollout, bytes) in rollouts.iter().filter_map(|rollout| Some((rollout, rollout.artifact.bytes?))) {
        let (came, size) = (indicatif::BinaryBytes(bytes), indicatif::BinaryBytes(rollout.artifact.size));
        let share = u128::from(bytes) * 100 / u128::from(rollout.artifact.size.max(1));
        let _ = writeln!(text, "{}: fetching the artifact: {came} of {size} ({share} %)", rollout.name);
    }
    for rollout in rollouts.iter().filter(|rollout| !rollout.message.is_empty()) {
        let _ = writeln!(text, "{}: {}", rollout.name, rollout.message);
    }
    text
}

fn row(rollout: &RolloutLine) -> Vec<String> {
    let summary = &rollout.summary;
    let opened = rollout.waves.iter().filter(|wave| wave.opened).count();
    let phase = if rollout.phase == "Ready" {
        rollout.phase.clone()
    } else {
        format!("{} ({})", rollout.phase, rollout.reason)
    };
    let wave = if rollout.waves.is_empty() { "-".into() } else { format!("{opened}/{}", rollout.waves.len()) };
    let mut cells =
        vec![rollout.name.clone(), format!("{} {}", rollout.artifact.name, rollout.artifact.version), phase, wave];
    cells.push(format!("{}/{}", summary.updated, summary.total));
    let counts = [summary.updating, summary.pending, summary.failed, summary.skipped, summary.offline];
    cells.extend(counts.map(|count| count.to_string()));
    cells
}

fn gateways(list: &GatewayList) -> String {
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
            let rollout = member.map_or("-".into(), |member| member.rollout.clone());
            vec![gateway.name.clone(), gateway.presence.clone(), rollout, step, versions.join(", ")]
        })
        .collect();
    table(&["GATEWAY", "PRESENCE", "ROLLOUT", "STEP", "REPORTS"], &rows)
}
