//! `lamplighter simulate --scenario`: a site in virtual time, and whether everything came as the scenario says it must.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde::Serialize;

use crate::cli::screen::Screen;
use crate::cli::style::Style;
use crate::cli::table::table;
use crate::cli::{Output, bad_input};
use crate::model::format_duration;
use crate::resources::Limits;
use crate::world::scenario::{Played, SHIPPED, Scenario};

/// What came of it, and how long that took here.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    #[serde(flatten)]
    played: Played,
    real_seconds: f64,
}

/// A line of the list.
#[derive(Debug, Serialize)]
struct Line {
    name: String,
    about: String,
}

/// Lists the scenarios that come with Lamplighter.
pub(super) fn list(output: Output) -> anyhow::Result<ExitCode> {
    let read = |(name, text): &(&str, &str)| match Scenario::read(text, 1) {
        Ok(scenario) => Line { name: (*name).to_owned(), about: scenario.about },
        Err(error) => Line { name: (*name).to_owned(), about: error.to_string() },
    };
    let lines: Vec<_> = SHIPPED.iter().map(read).collect();
    output.print(&mut io::stdout(), &lines, |lines| {
        let rows: Vec<_> = lines.iter().map(|line| vec![line.name.clone(), line.about.clone()]).collect();
        table(&["SCENARIO", "ABOUT"], &rows, &[])
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Plays one that comes with Lamplighter, or a file.
pub(super) fn play(name: &str, seed: u64, output: Output) -> anyhow::Result<ExitCode> {
    let text = match SHIPPED.iter().find(|(shipped, _)| *shipped == name) {
        Some((_, text)) => (*text).to_owned(),
        None => match read(Path::new(name)) {
            Ok(text) => text,
            Err(error) => {
                return Ok(bad_input(&format!("{error:#}; `lamplighter simulate --list` names those that are there")));
            }
        },
    };
    let scenario = match Scenario::read(&text, seed) {
        Ok(scenario) => scenario,
        Err(refused) => {
            return Ok(bad_input(&format!("{name}:\n  {}", refused.0.join("\n  "))));
        }
    };
    let started = Instant::now();
    if output == Output::Text {
        writeln!(io::stdout(), "{}: {}\n", scenario.name, scenario.about)?;
    }
    let played = scenario.play(seed);
    let real_seconds = (started.elapsed().as_secs_f64() * 1000.0).round() / 1000.0;
    let report = Report { played, real_seconds };
    output.print(&mut io::stdout(), &report, text_of)?;
    Ok(if report.played.holds() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A scenario is a small file of a person's.
fn read(file: &Path) -> anyhow::Result<String> {
    let cannot = || format!("cannot read {}", file.display());
    let mut text = String::new();
    fs::File::open(file)
        .with_context(cannot)?
        .take(Limits::FILE_BYTES)
        .read_to_string(&mut text)
        .with_context(cannot)?;
    Ok(text)
}

fn text_of(report: &Report) -> String {
    let (played, screen) = (&report.played, Screen::now());
    let mut text = String::new();
    for moment in &played.timeline {
        let _ = writeln!(text, "{}  {}", screen.paint(Style::Dim, &moment.time), moment.text);
    }
    text.push('\n');
    let rows: Vec<_> = played
        .rollouts
        .iter()
        .map(|end| {
            let state =
                if end.reason.is_empty() { end.phase.clone() } else { format!("{} ({})", end.phase, end.reason) };
            let steps = &end.steps;
            let under_way = steps.offered + steps.downloading + steps.installing + steps.confirming;
            let counts = [steps.updated, steps.failed, steps.skipped, under_way, steps.waiting].map(|n| n.to_string());
            [end.name.clone(), end.version.clone(), state].into_iter().chain(counts).collect()
        })
        .collect();
    let headings = ["ROLLOUT", "VERSION", "STATE", "UPDATED", "FAILED", "SKIPPED", "UNDER WAY", "WAITING"];
    text += &table(&headings, &rows, &["UNDER WAY", "SKIPPED"]);
    text.push('\n');
    for found in &played.expectations {
        let verdict = if found.holds { screen.paint(Style::Good, "yes") } else { screen.paint(Style::Bad, "NO ") };
        let _ = match &found.found {
            Some(instead) => writeln!(text, "{verdict}  {}; but: {instead}", found.what),
            None => writeln!(text, "{verdict}  {}", found.what),
        };
    }
    let never = "nothing happened that must never happen";
    if played.wrong.is_empty() {
        let _ = writeln!(text, "{}  {never}", screen.paint(Style::Good, "yes"));
    }
    for wrong in &played.wrong {
        let _ = writeln!(text, "{}  {never}; but: {wrong}", screen.paint(Style::Bad, "NO "));
    }
    let virtual_time = format_duration(Duration::from_secs(played.virtual_seconds));
    let _ = writeln!(
        text,
        "\n{virtual_time} of {} gateways in {:.1} s: {} steps, {} commits, {} polls; seed {}",
        played.gateways, report.real_seconds, played.steps, played.commits, played.polls, played.seed
    );
    text
}
