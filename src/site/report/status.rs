//! The site at a glance: constant in size, whatever the fleet.

use serde::{Deserialize, Serialize};

use super::OpensLine;
use super::artifacts::ProgressLine;
use super::order::{OrderLine, standing_orders};
use super::service::{ServiceLine, service_lines};
use super::{GuesserLine, PendingLine};
use crate::artifact::Progress;
use crate::engine::{self, Member, Phase, Rollout, Standing, State, Step, Steps, Summary, WaveView, steps, summary};
use crate::intake::drops::DropLine;
use crate::model::{ArtifactSpec, Digest, Dispute, Refusal, SiteTime, SkippedReason};

/// The site at a glance.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The site's name.
    pub site: String,
    /// A process runs; otherwise this is what its store says.
    #[serde(default = "super::yes")]
    pub running: bool,
    /// When the store was last written, RFC 3339; only of a site that does not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved_at: Option<String>,
    /// The site file; only of a site that runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site_file: Option<SiteFileLine>,
    /// The wall clock; only of a site that runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockLine>,
    /// The store before this one was lost, and nobody has said `resume` yet.
    pub store_lost: bool,
    /// For how long so many gateways have been silent that deadlines stand still.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent_seconds: Option<u64>,
    /// The rollouts, newest first.
    pub rollouts: Vec<RolloutLine>,
    /// The services, those that need a person first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<ServiceLine>,
    /// The newest orders that people gave on the spot and that stand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub orders: Vec<OrderLine>,
    /// How many of them there are.
    #[serde(default)]
    pub orders_total: u32,
    /// How many gateways are declared, and how many of them poll.
    pub gateways: GatewayCount,
    /// What could not be accepted.
    pub refused: Vec<RefusalLine>,
    /// Drops that wait or were refused.
    #[serde(default)]
    pub drops: Vec<DropLine>,
    /// What a person should know about certificates, keys and tokens.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
    /// Who waits to be accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<PendingLine>,
    /// Who sends wrong tokens, the worst first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guessers: Vec<GuesserLine>,
    /// What the process did since it started.
    pub counters: Counters,
}

/// How the site file stands to what is in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SiteFileLine {
    /// The file.
    pub file: String,
    /// For how long what it said last is in force.
    pub in_force_seconds: u64,
    /// Why what it says now is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// For how long it has been so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem_seconds: Option<u64>,
    /// Fields in which it says something else, to be in force from the next start on.
    pub needs_restart: Vec<String>,
}

/// The wall clock, and whether it is believed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClockLine {
    /// What it shows, RFC 3339.
    pub time: Option<String>,
    /// Windows are decided by it.
    pub trusted: bool,
    /// A time server keeps it right.
    pub synchronised: bool,
    /// Why it is trusted or not; completes `clock: …`.
    pub why: String,
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
    /// Requests without a valid token or certificate.
    pub unauthorized: u64,
    /// And of these, under a controller id that nobody declared.
    #[serde(default)]
    pub unknown: u64,
    /// Connections that waited because their address had its share.
    #[serde(default)]
    pub held_back: u64,
    /// TLS handshakes that failed or took too long.
    #[serde(default)]
    pub handshakes_failed: u64,
    /// Requests to the API server.
    #[serde(default)]
    pub api_requests: u64,
    /// And of these, writes.
    #[serde(default)]
    pub api_writes: u64,
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
    /// Of one with windows: `Open`, `Closing` (its last start has passed), `Closed`, or `Unknown` as the clock is not trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<String>,
    /// When updates may start next, while they may not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opens: Option<OpensLine>,
    /// What was edited and came too late to change anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change_ignored: Option<String>,
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
    /// How far it is, while it is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<ProgressLine>,
    /// Its files, if there is one for each type of hardware; what stands above is of the one that is furthest behind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<VariantLine>,
}

/// A file for one type of hardware.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VariantLine {
    /// Its digest.
    pub digest: String,
    /// In bytes.
    pub size: u64,
    /// `Verified`, `Wanted`, `Fetching` or `Failed`.
    pub state: String,
    /// How many members get it, once that is fixed.
    pub gateways: u32,
}

/// A wave.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WaveLine {
    /// What it is called.
    #[serde(default)]
    pub name: String,
    /// How many members.
    pub size: u32,
    /// So many are updated, or had the version already.
    #[serde(default)]
    pub updated: u32,
    /// So many failed.
    #[serde(default)]
    pub failed: u32,
    /// `NotOpen`, `ApprovalNeeded`, `Open`, `Soaking`, `Unproven` or `Proven`.
    #[serde(default)]
    pub state: String,
    /// For how long it is watched yet, while it is `Soaking`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soak_seconds: Option<u64>,
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

/// The site at a glance. `progress`: how far an artifact is that is on its way.
pub fn status(
    site: &str,
    state: &State,
    now: SiteTime,
    progress: impl Fn(&Digest) -> Option<Progress>,
    drops: Vec<DropLine>,
    counters: Counters,
) -> Status {
    let mut rollouts: Vec<_> = state.rollouts.values().filter(|rollout| !rollout.replaced).collect();
    rollouts.sort_by_key(|rollout| std::cmp::Reverse(rollout.arrival));
    let polling = |g: &&engine::Gateway| g.presence == crate::model::Presence::Polling;
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let (orders, orders_total) = standing_orders(state, now);
    Status {
        site: site.to_owned(),
        running: true,
        saved_at: None,
        site_file: None,
        clock: None,
        store_lost: state.site.lost,
        silent_seconds: state.site.silence.map(|since| now.since(since).as_secs()),
        rollouts: rollouts.into_iter().map(|rollout| rollout_line(state, rollout, now, &progress)).collect(),
        services: service_lines(state, now),
        orders,
        orders_total,
        gateways: GatewayCount {
            total: count(state.gateways.len()),
            polling: count(state.gateways.values().filter(polling).count()),
        },
        refused: refused(state)
            .into_iter()
            .map(|refusal| RefusalLine { what: refusal.what.clone(), why: refusal.why.clone() })
            .collect(),
        drops,
        notices: Vec::new(),
        pending: Vec::new(),
        guessers: Vec::new(),
        counters,
    }
}

/// What was refused in the manifests and in the API, and what they both declare.
fn refused(state: &State) -> Vec<Refusal> {
    let disputed = |dispute: &Dispute| Refusal {
        what: dispute.manifest.name(),
        why: format!(
            "is in a manifest directory, and the API server has {} too; neither counts until one of the two is gone",
            dispute.api.1.name()
        ),
    };
    let in_api = state
        .api
        .refused
        .values()
        .map(|refusal| Refusal { what: format!("{} in the API", refusal.what), why: refusal.why.clone() });
    state.refused.iter().cloned().chain(in_api).chain(state.api.disputes.iter().map(disputed)).collect()
}

pub(super) fn rollout_line(
    state: &State,
    rollout: &Rollout,
    now: SiteTime,
    progress: &impl Fn(&Digest) -> Option<Progress>,
) -> RolloutLine {
    let (phase, reason, message) = match engine::phase(state, rollout, now) {
        Phase::Ready => ("Ready", "Done".into(), String::new()),
        Phase::Reconciling(reason, message) => ("Reconciling", reason.to_string(), message),
        Phase::Stalled(reason, message) => ("Stalled", reason.to_string(), message),
    };
    RolloutLine {
        name: rollout.identity.to_string(),
        artifact: artifact_line(state, rollout, progress),
        phase: phase.into(),
        reason,
        message,
        window: rollout
            .windows_said
            .as_ref()
            .map(|said| said.says.map_or("Unknown".into(), |says| format!("{says:?}"))),
        opens: OpensLine::of(rollout, now),
        change_ignored: engine::ignored(rollout),
        waves: engine::waves(state, rollout).iter().map(|wave| wave_line(wave, now)).collect(),
        steps: steps(rollout),
        summary: summary(rollout),
    }
}

fn wave_line(wave: &WaveView, now: SiteTime) -> WaveLine {
    let (state, soak) = match wave.standing {
        Standing::NotOpen => ("NotOpen", None),
        Standing::ApprovalNeeded => ("ApprovalNeeded", None),
        Standing::Open => ("Open", None),
        Standing::Soaking(until) => ("Soaking", Some(until.since(now).as_secs())),
        Standing::Unproven => ("Unproven", None),
        Standing::Proven => ("Proven", None),
    };
    let opened = !matches!(wave.standing, Standing::NotOpen | Standing::ApprovalNeeded);
    WaveLine {
        name: wave.name.to_owned(),
        size: wave.size,
        updated: wave.updated,
        failed: wave.failed,
        state: state.into(),
        soak_seconds: soak,
        opened,
        proven: wave.standing == Standing::Proven,
    }
}

/// Of several variants the line tells of the one that is furthest behind, of those that gateways of the site need.
fn artifact_line(state: &State, rollout: &Rollout, progress: &impl Fn(&Digest) -> Option<Progress>) -> ArtifactLine {
    let line = |file: &ArtifactSpec| file_line(state, file, progress(&file.key.digest));
    let behind = |line: &ArtifactLine| STATES.iter().position(|state| *state == line.state);
    let furthest = engine::files_in_use(state, rollout).map(line).min_by_key(behind);
    let mut shown = furthest.unwrap_or_else(|| line(&rollout.spec.artifact));
    let variants = rollout.spec.variants.iter().flat_map(|_| rollout.spec.files().zip(0_u8..));
    shown.variants = variants.map(|(file, at)| variant_line(&line(file), rollout, at)).collect();
    // by this one the drop that brought it knows it again
    shown.digest = rollout.spec.artifact.key.digest.to_string();
    shown
}

fn variant_line(line: &ArtifactLine, rollout: &Rollout, at: u8) -> VariantLine {
    let has = |member: &&Member| {
        rollout.frozen.is_some() && member.variant == at && member.step != Step::Skipped(SkippedReason::NoVariant)
    };
    let gateways = rollout.members.values().filter(has).count();
    VariantLine {
        digest: line.digest.clone(),
        size: line.size,
        state: line.state.clone(),
        gateways: u32::try_from(gateways).unwrap_or(u32::MAX),
    }
}

/// What may be said of a file, the furthest behind first.
const STATES: [&str; 4] = ["Failed", "Fetching", "Wanted", "Verified"];

fn file_line(state: &State, file: &ArtifactSpec, progress: Option<Progress>) -> ArtifactLine {
    let known = state.artifacts.get(&file.key.digest);
    let bytes = progress.as_ref().and_then(|progress| progress.bytes);
    ArtifactLine {
        name: file.key.name.clone(),
        version: file.key.version.to_string(),
        digest: file.key.digest.to_string(),
        size: file.size,
        bytes,
        progress: progress.map(Into::into),
        state: match known {
            _ if bytes.is_some() => "Fetching",
            Some(known) if known.failed.is_some() => "Failed",
            Some(known) if known.sums.is_some() => "Verified",
            _ => "Wanted",
        }
        .into(),
        variants: Vec::new(),
    }
}
