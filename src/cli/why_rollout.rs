//! `lamplighter why rollout/NAME`: why a rollout is where it is, and what would change that.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;

use super::Output;
use super::at_rest::{AtRest, Visit};
use super::control::SiteArgs;
use super::prose::paragraph;
use super::watch::{WatchArgs, show};
use super::why::{at_rest_since, expects_what, journal, line, standing, stop};
use crate::engine::Awaited;
use crate::site::report::{self, ROWS_FOR_WHY, RolloutWhy};

pub(super) fn run(
    name: &str,
    site: &SiteArgs,
    watch: WatchArgs,
    output: Output,
    out: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    let encoded = percent_encoding::utf8_percent_encode(name, percent_encoding::NON_ALPHANUMERIC);
    let path = format!("/v1/why-rollout/{encoded}");
    let mut visit = Visit::new(site);
    show(watch, output, out, || visit.get(&path, |site| at_rest(site, name)), text)
}

fn at_rest(site: &AtRest, name: &str) -> anyhow::Result<RolloutWhy> {
    let rows = site.newest(ROWS_FOR_WHY)?;
    let why = report::rollout_why(site.state(), site.now(), name, &rows).map_err(anyhow::Error::msg)?;
    Ok(RolloutWhy { running: false, saved_at: site.saved_at(), ..why })
}

fn text(why: &RolloutWhy) -> String {
    let rollout = &why.rollout;
    let (artifact, summary) = (&rollout.artifact, &rollout.summary);
    let state = standing(&rollout.phase, &rollout.reason);
    let mut text = paragraph("", &format!("{} to {} {}: {state}", rollout.name, artifact.name, artifact.version));
    text += &at_rest_since(why.running, why.saved_at.as_deref());
    let mut line = |what: &str, value: Option<&str>| text += &line(what, value);
    line("means", Some(&why.meaning));
    line("message", Some(&rollout.message));
    line("to do", why.remedy.as_deref().filter(|_| why.stops.is_empty()));
    let expects = why.expected.as_ref().filter(|expected| expected.what != Awaited::Person.to_string());
    line("expects", expects.map(expects_what).as_deref());
    line("updated", Some(&format!("{} of {}", summary.updated, summary.total)));
    line("waits", Some(&counts(&why.waiting)));
    line("failed", Some(&counts(&why.failed)));
    text.extend(why.stops.iter().map(stop));
    text += &journal(&format!("--rollout {}", rollout.name), &why.journal);
    text
}

/// `3 MaxInFlight, 1 Offline`.
fn counts(counts: &BTreeMap<String, u32>) -> String {
    counts.iter().map(|(reason, count)| format!("{count} {reason}")).collect::<Vec<_>>().join(", ")
}
