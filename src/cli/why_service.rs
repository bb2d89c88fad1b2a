//! `lamplighter why service/NAME`: whether its unit runs with the configuration that is there, and why not.

use std::io::Write;
use std::process::ExitCode;

use super::Output;
use super::at_rest::{AtRest, Visit};
use super::control::SiteArgs;
use super::prose::{ago_since, paragraph};
use super::watch::{WatchArgs, show};
use super::why::{at_rest_since, journal, line, standing};
use crate::site::report::{self, ROWS_FOR_WHY, ServiceWhy};

pub(super) fn run(
    name: &str,
    site: &SiteArgs,
    watch: WatchArgs,
    output: Output,
    out: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    let encoded = percent_encoding::utf8_percent_encode(name, percent_encoding::NON_ALPHANUMERIC);
    let path = format!("/v1/why-service/{encoded}");
    let mut visit = Visit::new(site);
    show(watch, output, out, || visit.get(&path, |site| at_rest(site, name)), text)
}

fn at_rest(site: &AtRest, name: &str) -> anyhow::Result<ServiceWhy> {
    let rows = site.newest(ROWS_FOR_WHY)?;
    let why = report::service_why(site.state(), site.now(), name, &rows).map_err(anyhow::Error::msg)?;
    Ok(ServiceWhy { running: false, saved_at: site.saved_at(), ..why })
}

fn text(why: &ServiceWhy) -> String {
    let service = &why.service;
    let state = standing(&service.phase, &service.reason);
    let mut text = paragraph("", &format!("{}, {}: {state}", service.name, service.unit));
    text += &at_rest_since(why.running, why.saved_at.as_deref());
    let mut line = |what: &str, value: Option<&str>| text += &line(what, value);
    line("means", Some(&why.meaning));
    line("message", Some(&service.message));
    line("to do", why.remedy.as_deref());
    line("late", service.watch_degraded.as_deref());
    line("static", service.config_source_static.as_deref());
    line("reads", Some(&why.config.join(", ")));
    line("applied", service.applied_hash.as_deref());
    line("observed", service.observed_hash.as_deref().filter(|_| service.observed_hash != service.applied_hash));
    line("method", Some(&why.method));
    line("restarts", Some(&service.restarts.to_string()));
    let last = service.last_restart.as_ref().map(|last| {
        let when = last.time.as_deref().and_then(ago_since).unwrap_or_else(|| "at an unknown time".into());
        let message = if last.message.is_empty() { String::new() } else { format!(": {}", last.message) };
        format!("{} ({}), {when}{message}", last.result, last.reason)
    });
    line("last", last.as_deref());
    text += &journal(&format!("--service {}", service.name), &why.journal);
    text
}
