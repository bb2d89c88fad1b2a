//! `lamplighter report FILE…`: what was carried back from sites, at a glance.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use serde::Serialize;

use super::bundle::Bundle;
use super::prose::paragraph;
use super::table::table;
use super::{Output, bad_input};
use crate::intake::drops::DropLine;
use crate::site::report::{GatewayCount, GatewayLine, RefusalLine, RolloutLine};

/// So many gateways of a site are named.
const MOST_NAMED: usize = 20;

/// Read reports that were carried back from sites
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exits with 2 if one of the files is no report or was written by a newer version; the others are shown all the same."
)]
pub struct ReportArgs {
    /// Files that `lamplighter drop report` wrote
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// How to answer: text, json or yaml
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t, hide_possible_values = true)]
    output: Output,
}

/// All reports.
#[derive(Debug, Serialize)]
struct Reports {
    reports: Vec<Report>,
}

/// One report, without its journal.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    file: String,
    site: String,
    made_at: String,
    /// The site ran.
    running: bool,
    store_lost: bool,
    rollouts: Vec<RolloutLine>,
    gateways: GatewayCount,
    /// Gateways on which a rollout failed.
    failed: Vec<GatewayLine>,
    drops: Vec<DropLine>,
    refused: Vec<RefusalLine>,
    journal_rows: usize,
}

pub(super) fn run(args: &ReportArgs, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let (mut reports, mut end) = (Vec::new(), ExitCode::SUCCESS);
    for file in &args.files {
        match Bundle::read(file) {
            Ok(bundle) => reports.push(Report::of(file.display().to_string(), bundle)),
            Err(why) => end = bad_input(&format!("{}: {why}", file.display())),
        }
    }
    let reports = Reports { reports };
    args.output.print(out, &reports, |reports| text(&reports.reports))?;
    Ok(end)
}

impl Report {
    fn of(file: String, bundle: Bundle) -> Self {
        let Bundle { site, made_at, running, status, gateways, journal, .. } = bundle;
        let failed = |gateway: &GatewayLine| gateway.member.as_ref().is_some_and(|member| member.step == "Failed");
        Self {
            file,
            site,
            made_at,
            running,
            store_lost: status.store_lost,
            rollouts: status.rollouts,
            gateways: status.gateways,
            failed: gateways.into_iter().filter(failed).collect(),
            drops: status.drops,
            refused: status.refused,
            journal_rows: journal.len(),
        }
    }
}

fn text(reports: &[Report]) -> String {
    if reports.is_empty() {
        return String::new();
    }
    let headings = [
        "SITE", "MADE AT", "ROLLOUT", "ARTIFACT", "UPDATED", "UPDATING", "PENDING", "OFFLINE", "FAILED", "SKIPPED",
        "STATE",
    ];
    let rows: Vec<Vec<String>> = reports.iter().flat_map(rows).collect();
    let mut text =
        table(&headings, &rows, &["MADE AT", "PENDING", "SKIPPED", "UPDATING", "OFFLINE", "ARTIFACT", "FAILED"]);
    for report in reports {
        let notes = notes(report);
        if !notes.is_empty() {
            text.extend(["\n", &plain(&report.site), ", ", &plain(&report.file), ":\n"]);
            text.extend(notes.iter().map(|note| paragraph("  ", note)));
        }
    }
    text
}

fn rows(report: &Report) -> Vec<Vec<String>> {
    let head = || vec![plain(&report.site), plain(&report.made_at)];
    if report.rollouts.is_empty() {
        let mut row = head();
        row.push("no rollouts".into());
        return vec![row];
    }
    let row = |line: &RolloutLine| {
        let summary = &line.summary;
        let mut row = head();
        row.extend([plain(&line.name), plain(&format!("{} {}", line.artifact.name, line.artifact.version))]);
        row.push(format!("{}/{}", summary.updated, summary.total));
        let counts = [summary.updating, summary.pending, summary.offline, summary.failed, summary.skipped];
        row.extend(counts.map(|count| count.to_string()));
        row.push(plain(&if line.phase == "Ready" {
            line.phase.clone()
        } else {
            format!("{} ({})", line.phase, line.reason)
        }));
        row
    };
    report.rollouts.iter().map(row).collect()
}

/// What a person at the desk should look at.
fn notes(report: &Report) -> Vec<String> {
    let mut notes = Vec::new();
    if !report.running {
        notes.push("the site did not run; this is what its store said".into());
    }
    if report.store_lost {
        notes.push("the store was lost, and nobody has said `lamplighter resume` yet".into());
    }
    let of =
        |line: &RolloutLine| (!line.message.is_empty()).then(|| plain(&format!("{}: {}", line.name, line.message)));
    notes.extend(report.rollouts.iter().filter_map(of));
    for gateway in report.failed.iter().take(MOST_NAMED) {
        let Some(member) = &gateway.member else { continue };
        let reason = member.reason.as_deref().unwrap_or("no reason");
        notes.push(plain(&format!("{} failed in {} ({reason})", gateway.name, member.rollout)));
    }
    if report.failed.len() > MOST_NAMED {
        notes.push(format!("{} more failed; `-o json` names them", report.failed.len() - MOST_NAMED));
    }
    notes.extend(
        report.drops.iter().map(|drop| plain(&format!("drop {}: {}: {}", drop.file, drop.state, drop.message))),
    );
    notes.extend(report.refused.iter().map(|it| plain(&format!("refused: {}: {}", it.what, it.why))));
    notes
}

/// A report comes from elsewhere, and must not steer the terminal.
fn plain(text: &str) -> String {
    text.replace(char::is_control, " ")
}
