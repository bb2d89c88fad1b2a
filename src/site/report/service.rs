//! Services: how each stands, and why.

use serde::{Deserialize, Serialize};

use super::names;
use super::why::{JournalLine, journal_line, wall_time};
use crate::engine::{self, Service, ServicePhase, State};
use crate::model::{JournalEntry, ServiceName, SiteTime};

/// A service.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceLine {
    /// What it is called.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// `Ready`, `Reconciling` or `Stalled`.
    pub phase: String,
    /// One word.
    pub reason: String,
    /// For a person.
    pub message: String,
    /// The hash of what its unit runs with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied_hash: Option<String>,
    /// The hash of what is there now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_hash: Option<String>,
    /// So many restarts.
    pub restarts: u32,
    /// The newest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_restart: Option<LastRestartLine>,
    /// `WatchDegraded`: why changes are found late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch_degraded: Option<String>,
    /// `ConfigSourceStatic`: why changes are never seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_source_static: Option<String>,
}

/// A restart that is over.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LastRestartLine {
    /// When, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// `Changed`, `StartedBefore` or `Ordered`.
    pub reason: String,
    /// `Done`, `Failed` or `Unhealthy`.
    pub result: String,
    /// What a person should know about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// Why a service is where it is.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceWhy {
    /// A process runs; otherwise this is what its store says.
    #[serde(default = "super::yes")]
    pub running: bool,
    /// When the store was last written, RFC 3339; only of a site that does not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved_at: Option<String>,
    /// How it stands.
    pub service: ServiceLine,
    /// What it reads.
    pub config: Vec<String>,
    /// How its unit takes it.
    pub method: String,
    /// What its standing means.
    pub meaning: String,
    /// What a person can do; nothing, if that is so.
    pub remedy: Option<String>,
    /// What happened to it lately, oldest first.
    pub journal: Vec<JournalLine>,
}

/// All that are declared, those that need a person first.
pub(super) fn service_lines(state: &State, now: SiteTime) -> Vec<ServiceLine> {
    let listed = state.services.iter().filter(|(_, service)| service.listed || service.begun.is_some());
    let mut lines: Vec<_> = listed.map(|(name, service)| line(state, name, service, now)).collect();
    lines.sort_by_key(|line| (line.phase != "Stalled", line.phase == "Ready"));
    lines
}

/// How one stands.
pub(super) fn line(state: &State, name: &ServiceName, service: &Service, now: SiteTime) -> ServiceLine {
    let (phase, reason, message) = match engine::service_phase(state, service, now) {
        ServicePhase::Ready => ("Ready", "Applied".into(), String::new()),
        ServicePhase::Reconciling(reason, message) => ("Reconciling", reason.to_string(), message),
        ServicePhase::Stalled(reason, message) => ("Stalled", reason.to_string(), message),
    };
    let seen = service.now.seen.as_ref();
    ServiceLine {
        name: name.to_string(),
        unit: service.spec.unit.to_string(),
        phase: phase.into(),
        reason,
        message,
        applied_hash: service.applied.as_ref().map(|config| config.hash.to_string()),
        observed_hash: seen.map(|seen| seen.config.hash.to_string()),
        restarts: service.restarts,
        last_restart: service.last.as_ref().map(|last| LastRestartLine {
            time: last.wall.and_then(wall_time),
            reason: format!("{:?}", last.why),
            result: format!("{:?}", last.result),
            message: last.text.clone(),
        }),
        watch_degraded: seen.and_then(|seen| seen.degraded.clone()),
        config_source_static: seen.and_then(|seen| seen.fixed.clone()),
    }
}

/// Explains a service, by its name. Errors are lower-case fragments.
pub fn service_why(state: &State, now: SiteTime, who: &str, journal: &[JournalEntry]) -> Result<ServiceWhy, String> {
    let name = names::service(state, who)?;
    let gone = || format!("there is no service {who:?}");
    let service = state.services.get(&name).ok_or_else(gone)?;
    let (meaning, remedy) = match engine::service_phase(state, service, now) {
        ServicePhase::Ready => ("its unit runs with the configuration that is there", "nothing"),
        ServicePhase::Reconciling(reason, _) | ServicePhase::Stalled(reason, _) => (reason.meaning(), reason.remedy()),
    };
    let lately = journal.iter().filter(|row| row.service.as_deref() == Some(who));
    Ok(ServiceWhy {
        running: true,
        saved_at: None,
        service: line(state, &name, service, now),
        config: service.spec.config.iter().map(ToString::to_string).collect(),
        method: service.spec.method.to_string(),
        meaning: meaning.into(),
        remedy: (!matches!(remedy, "nothing" | "wait")).then(|| remedy.into()),
        journal: lately.map(journal_line).collect(),
    })
}

/// What is said to who ordered a restart.
pub(super) fn restarted(state: &State, name: &ServiceName, now: SiteTime, changed: bool) -> Vec<String> {
    let Some(service) = state.services.get(name) else { return Vec::new() };
    let unit = &service.spec.unit;
    if !changed {
        return vec![format!("{unit} is to be restarted already")];
    }
    match engine::service_phase(state, service, now) {
        ServicePhase::Stalled(reason, _) => {
            vec![format!("{unit} is to be restarted, but {}; {}", reason.meaning(), reason.remedy())]
        }
        ServicePhase::Reconciling(reason, _) if reason != crate::model::ServiceReason::Restarting => {
            vec![format!("{unit} is to be restarted, once it can be: {}", reason.meaning())]
        }
        _ => vec![format!("{unit} is restarted now; `lamplighter why service/{name}` says what becomes of it")],
    }
}
