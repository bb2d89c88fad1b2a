//! How a rollout stands, for people and for `kubectl wait`.

use serde::{Deserialize, Serialize};

use super::approval::{approval, is_approved};
use super::state::{Member, Rollout, State, Step};
use super::target::{self, files_in_use};
use super::wave::{self, Proof, title};
use super::{deal, spread, way_back};
use crate::model::{ControllerId, ReconcilingReason, SiteTime, SkippedReason, StalledReason, WaitingReason};

/// How a rollout stands; the texts complete "Reconciling: …".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// All done.
    Ready,
    /// Under way; the text is for a person.
    Reconciling(ReconcilingReason, String),
    /// Needs a person.
    Stalled(StalledReason, String),
}

/// How many members are at which step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
#[expect(missing_docs, reason = "the steps of `Step`")]
pub struct Steps {
    pub waiting: u32,
    pub offered: u32,
    pub downloading: u32,
    pub installing: u32,
    pub confirming: u32,
    pub updated: u32,
    #[serde(default)]
    pub rolled_back: u32,
    pub failed: u32,
    pub skipped: u32,
}

/// The same for a person: disjoint, and adds up to the total.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the columns of status")]
pub struct Summary {
    pub total: u32,
    pub pending: u32,
    pub updating: u32,
    pub updated: u32,
    pub failed: u32,
    pub skipped: u32,
    pub offline: u32,
    #[serde(default, rename = "rolledBack")]
    pub rolled_back: u32,
}

/// Counts the members by step.
pub fn steps(rollout: &Rollout) -> Steps {
    let mut steps = Steps::default();
    for member in rollout.members.values() {
        let count = match member.step {
            Step::Waiting(_) => &mut steps.waiting,
            Step::Offered => &mut steps.offered,
            Step::Downloading => &mut steps.downloading,
            Step::Installing => &mut steps.installing,
            Step::Confirming => &mut steps.confirming,
            Step::Updated => &mut steps.updated,
            Step::RolledBack => &mut steps.rolled_back,
            Step::Failed(_) => &mut steps.failed,
            Step::Skipped(_) => &mut steps.skipped,
        };
        *count += 1;
    }
    steps
}

/// Counts the members for a person.
pub fn summary(rollout: &Rollout) -> Summary {
    let steps = steps(rollout);
    let offline = rollout.members.values().filter(|m| m.step == Step::Waiting(WaitingReason::Offline)).count();
    let offline = u32::try_from(offline).unwrap_or(u32::MAX);
    let updating = steps.offered + steps.downloading + steps.installing + steps.confirming;
    Summary {
        total: u32::try_from(rollout.members.len()).unwrap_or(u32::MAX),
        pending: steps.waiting - offline,
        updating,
        updated: steps.updated,
        failed: steps.failed,
        skipped: steps.skipped,
        offline,
        rolled_back: steps.rolled_back,
    }
}

/// How a rollout stands.
pub fn phase(state: &State, rollout: &Rollout, now: SiteTime) -> Phase {
    if state.site.lost {
        return Phase::Stalled(StalledReason::StoreLost, WaitingReason::StoreLost.remedy().into());
    }
    if rollout.cancelled {
        return cancelled_phase(state, rollout);
    }
    // once ready it stays so, whatever becomes of latecomers
    if rollout.ready_at.is_some() {
        return Phase::Ready;
    }
    if let Some(given) = state.orders.cancel(&rollout.identity) {
        let text = format!("cancelled on the spot {}, so no version of it begins; {}", given, lift(rollout));
        return Phase::Stalled(StalledReason::Cancelled, text);
    }
    if rollout.rolled_back_at.is_some() {
        return rolled_back_phase(state, rollout);
    }
    if let Some(tripped) = &rollout.tripped {
        return Phase::Stalled(StalledReason::FailureLimit, tripped.to_string());
    }
    if rollout.conflict {
        return Phase::Stalled(StalledReason::DigestConflict, conflict(rollout));
    }
    let mut files = files_in_use(state, rollout);
    if let Some(why) = files.find_map(|file| state.artifacts.get(&file.key.digest)?.failed.as_ref()) {
        return Phase::Stalled(StalledReason::ArtifactFailed, why.clone());
    }
    if !state.listed || !rollout.listed {
        return Phase::Reconciling(ReconcilingReason::Unlisted, WaitingReason::Unlisted.meaning().into());
    }
    if let Some(text) = paused(state, rollout) {
        return Phase::Reconciling(ReconcilingReason::Paused, text);
    }
    if state.api.awaited && rollout.frozen.is_none() {
        return Phase::Reconciling(ReconcilingReason::AwaitingApi, ReconcilingReason::AwaitingApi.remedy().into());
    }
    if state.site.silence.is_some() {
        return Phase::Reconciling(ReconcilingReason::SiteSilent, ReconcilingReason::SiteSilent.meaning().into());
    }
    if rollout.members.is_empty() {
        return Phase::Stalled(StalledReason::NoMembers, "no gateway has the labels that the selector asks for".into());
    }
    let has_variant = |id: &ControllerId| target::choose(state, rollout, id).is_some();
    if rollout.frozen.is_none() && !rollout.members.keys().any(has_variant) {
        let text = "none of the gateways that the selector means is of a hardware for which there is a variant";
        return Phase::Stalled(StalledReason::NoMembers, text.into());
    }
    if let (None, Err(lacking)) = (&rollout.frozen, ways_back(state, rollout)) {
        return Phase::Stalled(StalledReason::RollbackImpossible, lacking.text(&rollout.spec.artifact.key.name));
    }
    if !state.has_files(rollout) {
        return Phase::Reconciling(
            ReconcilingReason::ArtifactNotVerified,
            WaitingReason::ArtifactNotVerified.meaning().into(),
        );
    }
    let obstacle = match &rollout.frozen {
        Some(frozen) => deal::obstacle(&frozen.waves),
        None => deal::obstacle(&deal::draw_up(state, rollout).0.waves),
    };
    if let Some(why) = obstacle {
        return Phase::Stalled(StalledReason::WavesImpossible, why);
    }
    wave_phase(state, rollout, now)
}

fn conflict(rollout: &Rollout) -> String {
    let key = &rollout.spec.artifact.key;
    format!(
        "gateways were served another file as {key} already, so nothing of this one is offered; give it another version"
    )
}

fn ways_back(state: &State, rollout: &Rollout) -> Result<way_back::WaysBack, way_back::Lacking> {
    let has_variant = |id: &&ControllerId| target::choose(state, rollout, id).is_some();
    way_back::find(state, rollout, rollout.members.keys().filter(has_variant))
}

fn rolled_back_phase(state: &State, rollout: &Rollout) -> Phase {
    let count = |is: fn(&Member) -> bool| rollout.members.values().filter(|member| is(member)).count();
    let all = count(|member| member.reverting);
    let back = count(|member| member.step == Step::RolledBack);
    let failed = count(|member| member.reverting && matches!(member.step, Step::Failed(_)));
    let open = count(|member| member.step.is_in_flight() || (member.reverting && !member.step.is_terminal()));
    let why = rollout.tripped.as_ref().map(ToString::to_string).unwrap_or_default();
    let so_far = format!("{why}; {back} of {all} gateways are back on what they ran before");
    if failed > 0 {
        return Phase::Stalled(StalledReason::RollbackFailed, format!("{so_far}, {failed} failed to go back"));
    }
    if open == 0 {
        return Phase::Stalled(StalledReason::RolledBack, so_far);
    }
    match paused(state, rollout) {
        Some(text) => Phase::Reconciling(ReconcilingReason::Paused, format!("{text}; {so_far}")),
        None => Phase::Reconciling(ReconcilingReason::RollingBack, so_far),
    }
}

/// By whom a rollout is paused: each has to be lifted where it was given.
fn paused(state: &State, rollout: &Rollout) -> Option<String> {
    let by_spec = rollout.spec.paused.then(|| "`spec.paused` is true".to_owned());
    let given = state.orders.pause(&rollout.identity);
    let by_person = given.map(|given| format!("paused on the spot {given}; {}", lift(rollout)));
    let all: Vec<_> = [by_spec, by_person].into_iter().flatten().collect();
    (!all.is_empty()).then(|| all.join(", and "))
}

fn lift(rollout: &Rollout) -> String {
    format!("`lamplighter resume {}` lifts that", rollout.identity)
}

fn cancelled_phase(state: &State, rollout: &Rollout) -> Phase {
    let count = |is: fn(&Member) -> bool| rollout.members.values().filter(|member| is(member)).count();
    let (asked, under_way) = (count(Member::is_cancelling), count(|member| member.step.is_in_flight()));
    if asked + under_way == 0 {
        let given = state.orders.cancel(&rollout.identity);
        let whose = given
            .map(|given| format!("; cancelled on the spot {given}, so no later version begins; {}", lift(rollout)));
        let text = format!("nothing of it is offered any more{}", whose.unwrap_or_default());
        return Phase::Stalled(StalledReason::Cancelled, text);
    }
    let text = format!("{asked} gateways have not dropped their order yet, {under_way} are installing");
    Phase::Reconciling(ReconcilingReason::Cancelling, text)
}

/// The wave that is being updated or watched: which one from 0, of how many, and until when it is watched.
pub fn wave_now(state: &State, rollout: &Rollout) -> Option<(usize, usize, Option<SiteTime>)> {
    let of = rollout.frozen.as_ref()?.waves.len();
    let (at, proof) = wave::current(state, rollout)?;
    let until = match proof {
        Some(Proof::SoakUntil(until)) => Some(until),
        _ => None,
    };
    Some((at, of, until))
}

fn wave_phase(state: &State, rollout: &Rollout, now: SiteTime) -> Phase {
    let drawn;
    let waves = match &rollout.frozen {
        Some(frozen) => &frozen.waves,
        None => {
            drawn = deal::draw_up(state, rollout).0.waves;
            &drawn
        }
    };
    let of = waves.len();
    let waits = |at: usize| waves.get(at).filter(|wave| !is_approved(rollout, wave));
    let approve = |at: usize, wave| {
        let text = format!(
            "{} of {of} waits for approval: `lamplighter approve {}`, or add {:?} to spec.approvedWaves",
            title(waves, at),
            rollout.identity,
            approval(rollout, wave)
        );
        Phase::Reconciling(ReconcilingReason::WaitingForApproval, text)
    };
    match wave::current(state, rollout) {
        Some((at, Some(Proof::SoakUntil(until)))) => {
            let left = crate::model::format_duration(std::time::Duration::from_secs(until.since(now).as_secs()));
            Phase::Reconciling(
                ReconcilingReason::Soaking,
                format!("{} of {of} is watched for another {left}", title(waves, at)),
            )
        }
        Some((at, Some(Proof::Unheard))) => Phase::Reconciling(
            ReconcilingReason::Soaking,
            format!(
                "{} of {of} is watched once all its gateways were heard of since the site started",
                title(waves, at)
            ),
        ),
        Some((_, Some(Proof::Unproven))) if is_taken_over(rollout) => {
            let text = "a newer rollout of the artifact took its gateways over; remove this one's manifest";
            Phase::Stalled(StalledReason::Superseded, text.into())
        }
        Some((at, Some(Proof::Unproven))) => {
            let text = format!("too few of {} of {of} are updated for the next to open", title(waves, at));
            Phase::Stalled(StalledReason::WaveUnproven, text)
        }
        Some((at, None)) if let Some(wave) = waits(at) => approve(at, wave),
        Some((at, _)) => match (shut(rollout), spread::stuck(state, rollout)) {
            (Some(reason), _) => {
                Phase::Reconciling(reason, format!("{} of {of} {}", title(waves, at), opens(rollout, now)))
            }
            (None, Some(why)) => Phase::Stalled(StalledReason::SpreadImpossible, why),
            (None, None) => Phase::Reconciling(
                ReconcilingReason::WaveOpen,
                format!("{} of {of} is being updated", title(waves, at)),
            ),
        },
        None if let Some(wave) = waits(0) => approve(0, wave),
        None => Phase::Reconciling(ReconcilingReason::WaveOpen, "the first wave opens".into()),
    }
}

/// Nobody is under way, and windows are what somebody waits for.
fn shut(rollout: &Rollout) -> Option<ReconcilingReason> {
    let mut waiting = None;
    for member in rollout.members.values() {
        match member.step {
            Step::Waiting(WaitingReason::OutsideWindow) => waiting = Some(ReconcilingReason::OutsideWindow),
            Step::Waiting(WaitingReason::WaitingForClock) => waiting = Some(ReconcilingReason::WaitingForClock),
            step if step.is_in_flight() => return None,
            _ => {}
        }
    }
    waiting
}

/// `waits for a window, which opens Sat 5 Dec 22:00 Europe/Berlin, in 3h10m`.
fn opens(rollout: &Rollout, now: SiteTime) -> String {
    let Some(said) = &rollout.windows_said else { return "waits for a window".into() };
    match (&said.opens, said.opens_in(now)) {
        (Some(opening), Some(wait)) => {
            // seconds are noise, and would be another text each time
            let wait = crate::model::format_duration(std::time::Duration::from_secs(wait.as_secs().div_ceil(60) * 60));
            format!("waits for a window, which opens {opening}, in {wait}")
        }
        _ if said.says.is_none() => "waits until the site knows what time it is".into(),
        _ => "waits for a window, and none is in sight".into(),
    }
}

/// Nobody is left whom it could still update, and not for failures.
fn is_taken_over(rollout: &Rollout) -> bool {
    let taken = |member: &Member| member.step == Step::Skipped(SkippedReason::Superseded);
    rollout.members.values().any(taken) && rollout.members.values().all(|m| taken(m) || m.step == Step::Updated)
}
