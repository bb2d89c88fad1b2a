//! How a rollout stands, for people and for `kubectl wait`.

use serde::{Deserialize, Serialize};

use super::state::{Member, Rollout, State, Step};
use super::target::{self, files_in_use};
use super::wave::{self, Proof};
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
    if let Some(tripped) = &rollout.tripped {
        return Phase::Stalled(StalledReason::FailureLimit, tripped.to_string());
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
    if rollout.members.is_empty() {
        return Phase::Stalled(StalledReason::NoMembers, "no gateway has the labels that the selector asks for".into());
    }
    let has_variant = |id: &ControllerId| target::choose(state, rollout, id).is_some();
    if rollout.frozen.is_none() && !rollout.members.keys().any(has_variant) {
        let text = "none of the gateways that the selector means is of a hardware for which there is a variant";
        return Phase::Stalled(StalledReason::NoMembers, text.into());
    }
    if !state.has_files(rollout) {
        return Phase::Reconciling(
            ReconcilingReason::ArtifactNotVerified,
            WaitingReason::ArtifactNotVerified.meaning().into(),
        );
    }
    wave_phase(state, rollout, now)
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
    let of = rollout.frozen.as_ref().map_or(0, |frozen| frozen.waves.len());
    match wave::current(state, rollout) {
        Some((at, Some(Proof::SoakUntil(until)))) => {
            let left = crate::model::format_duration(std::time::Duration::from_secs(until.since(now).as_secs()));
            Phase::Reconciling(
                ReconcilingReason::Soaking,
                format!("wave {} of {of} is watched for another {left}", at + 1),
            )
        }
        Some((_, Some(Proof::Unproven))) if is_taken_over(rollout) => {
            let text = "a newer rollout of the artifact took its gateways over; remove this one's manifest";
            Phase::Stalled(StalledReason::Superseded, text.into())
        }
        Some((at, Some(Proof::Unproven))) => {
            let text = format!("too few of wave {} of {of} are updated for the next to open", at + 1);
            Phase::Stalled(StalledReason::WaveUnproven, text)
        }
        Some((at, _)) => match shut(rollout) {
            Some(reason) => Phase::Reconciling(reason, format!("wave {} of {of} {}", at + 1, opens(rollout, now))),
            None => {
                Phase::Reconciling(ReconcilingReason::WaveOpen, format!("wave {} of {of} is being updated", at + 1))
            }
        },
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
    let Some(gate) = &rollout.gate else { return "waits for a window".into() };
    match (&gate.opens, gate.opens_in(now)) {
        (Some(opening), Some(wait)) => {
            // seconds are noise, and would be another text each time
            let wait = crate::model::format_duration(std::time::Duration::from_secs(wait.as_secs().div_ceil(60) * 60));
            format!("waits for a window, which opens {opening}, in {wait}")
        }
        _ if gate.says.is_none() => "waits until the site knows what time it is".into(),
        _ => "waits for a window, and none is in sight".into(),
    }
}

/// Nobody is left whom it could still update, and not for failures.
fn is_taken_over(rollout: &Rollout) -> bool {
    let taken = |member: &Member| member.step == Step::Skipped(SkippedReason::Superseded);
    rollout.members.values().any(taken) && rollout.members.values().all(|m| taken(m) || m.step == Step::Updated)
}
