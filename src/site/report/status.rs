//! The site at a glance: constant in size, whatever the fleet.

use serde::{Deserialize, Serialize};

use super::{GuesserLine, PendingLine};
use crate::engine::{self, Phase, Rollout, State, Steps, Summary, steps, summary};
use crate::model::{Digest, SiteTime};

/// The site at a glance.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The site's name.
    pub site: String,
    /// The store before this one was lost, and nobody has said `resume` yet.
    pub store_lost: bool,
    /// The rollouts, newest first.
    pub rollouts: Vec<RolloutLine>,
    /// How many gateways are declared, and how many of them poll.
    pub gateways: GatewayCount,
    /// What could not be accepted.
    pub refused: Vec<RefusalLine>,
    /// Who waits to be accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<PendingLine>,
    /// Who sends wrong tokens, the worst first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guessers: Vec<GuesserLine>,
    /// What the process did since it started.
    pub counters: Counters,
}

/// How many gateways there are.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the words of presence")]
pub struct GatewayCount {
    pub total: u32,
    pub polling: u32,
}

/// What the process did since it started.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Counters {
    /// Transactions.
    pub commits: u64,
    /// Bytes written to the store's file.
    pub store_bytes: u64,
    /// Requests of devices.
    pub requests: u64,
    /// Bytes of artifacts sent to devices.
    pub served_bytes: u64,
    /// Requests without a valid token.
    pub unauthorized: u64,
    /// And of these, under a controller id that nobody declared.
    pub unknown: u64,
    /// Connections that waited because their address had its share.
    pub held_back: u64,
}

/// A rollout.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RolloutLine {
    /// What it is called.
    pub name: String,
    /// Its artifact.
    pub artifact: ArtifactLine,
    /// `Ready`, `Reconciling` or `Stalled`.
    pub phase: String,
    /// One word.
    pub reason: String,
    /// For a person.
    pub message: String,
    /// Its waves; empty before the first opened.
    pub waves: Vec<WaveLine>,
    /// How many members are at which step.
    pub steps: Steps,
    /// The same in the words of `kubectl get`.
    pub summary: Summary,
}

/// An artifact.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactLine {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its digest.
    pub digest: String,
    /// In bytes.
    pub size: u64,
    /// `Verified`, `Wanted`, `Fetching` or `Failed`.
    pub state: String,
    /// How much of it came, while it is `Fetching`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// A wave.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WaveLine {
    /// How many members.
    pub size: u32,
    /// It opened.
    pub opened: bool,
    /// It is proven.
    pub proven: bool,
}

/// Something that was not accepted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RefusalLine {
    /// The file, and the object in it.
    pub what: String,
    /// What is wrong, where, and what to do.
    pub why: String,
}

/// The site at a glance. `fetching`: how much of an artifact came, while it comes.
pub fn status(
    site: &str,
    state: &State,
    now: SiteTime,
    fetching: impl Fn(&Digest) -> Option<u64>,
    counters: Counters,
) -> Status {
    let mut rollouts: Vec<_> = state.rollouts.values().filter(|rollout| !rollout.replaced).collect();
    rollouts.sort_by_key(|rollout| std::cmp::Reverse(rollout.arrival));
    let polling = |g: &&engine::Gateway| g.presence == crate::model::Presence::Polling;
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Status {
        site: site.to_owned(),
        store_lost: state.site.lost,
        rollouts: rollouts.into_iter().map(|rollout| rollout_line(state, rollout, now, &fetching)).collect(),
        gateways: GatewayCount {
            total: count(state.gateways.len()),
            polling: count(state.gateways.values().filter(polling).count()),
        },
        refused: state
            .refused
            .iter()
            .map(|refusal| RefusalLine { what: refusal.what.clone(), why: refusal.why.clone() })
            .collect(),
        pending: Vec::new(),
        guessers: Vec::new(),
        counters,
    }
}

fn rollout_line(
    state: &State,
    rollout: &Rollout,
    now: SiteTime,
    fetching: &impl Fn(&Digest) -> Option<u64>,
) -> RolloutLine {
    let (phase, reason, message) = match engine::phase(state, rollout, now) {
        Phase::Ready => ("Ready", "Done".into(), String::new()),
        Phase::Reconciling(reason, message) => ("Reconciling", reason.to_string(), message),
        Phase::Stalled(reason, message) => ("Stalled", reason.to_string(), message),
    };
    let waves = rollout.frozen.iter().flat_map(|frozen| &frozen.waves);
    RolloutLine {
        name: rollout.identity.to_string(),
        artifact: artifact_line(state, rollout, fetching),
        phase: phase.into(),
        reason,
        message,
        waves: waves
            .map(|w| WaveLine { size: w.size, opened: w.opened_at.is_some(), proven: w.proven_at.is_some() })
            .collect(),
        steps: steps(rollout),
        summary: summary(rollout),
    }
}

fn artifact_line(state: &State, rollout: &Rollout, fetching: &impl Fn(&Digest) -> Option<u64>) -> ArtifactLine {
    let artifact = &rollout.spec.artifact;
    let known = state.artifacts.get(&artifact.key.digest);
    let bytes = fetching(&artifact.key.digest);
    ArtifactLine {
        name: artifact.key.name.clone(),
        version: artifact.key.version.to_string(),
        digest: artifact.key.digest.to_string(),
        size: artifact.size,
        bytes,
        state: match known {
            _ if bytes.is_some() => "Fetching",
            Some(known) if known.failed.is_some() => "Failed",
            Some(known) if known.sums.is_some() => "Verified",
            _ => "Wanted",
        }
        .into(),
    }
}
