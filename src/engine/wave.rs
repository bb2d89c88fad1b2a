//! Waves: who belongs to which, and when one is proven and the next opens.

use super::draft::Draft;
use super::state::{Frozen, Rollout, State, Step, Wave};
use super::{brake, target};
use crate::model::{ControllerId, Percent, RolloutId, SiteTime, SkippedReason, WaitingReason, WaveSpec, What};

/// How a wave stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// Members are still on their way.
    Open,
    /// All ended well enough; proven at this time if nothing happens.
    SoakUntil(SiteTime),
    /// All ended, and too few of them updated.
    Unproven,
}

/// At least this share of a wave must be updated for it to prove anything.
const MIN_UPDATED: u32 = 50;

/// Freezes the members when the first wave can open, and opens it.
pub(super) fn freeze(draft: &mut Draft, id: RolloutId) {
    let Some(rollout) = draft.state.rollouts.get(&id) else { return };
    let awaited = draft.state.api.awaited;
    if rollout.frozen.is_some() || rollout.replaced || awaited || !brake::lets_waves_open(draft.state, rollout) {
        return;
    }
    let chosen = |gateway: &ControllerId| (gateway.clone(), target::choose(draft.state, rollout, gateway));
    let (queue, none): (Vec<_>, Vec<_>) = rollout.queue.iter().map(chosen).partition(|(_, variant)| variant.is_some());
    if queue.is_empty() {
        return;
    }
    let total = u32::try_from(queue.len()).unwrap_or(u32::MAX);
    let waves = plan(&rollout.spec.strategy.waves, total, draft.now.site);
    for (gateway, _) in none {
        draft.skip(id, &gateway, SkippedReason::NoVariant);
    }
    let mut members = queue.iter();
    for (at, wave) in (0..).zip(&waves) {
        for (gateway, variant) in members.by_ref().take(usize::try_from(wave.size).unwrap_or(usize::MAX)) {
            draft.edit_member(id, gateway, |member| {
                (member.wave, member.variant) = (Some(at), variant.unwrap_or_default());
            });
        }
    }
    let of = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    let detail = format!("{} in {}", of(queue.len(), "member"), of(waves.len(), "wave"));
    draft.edit_rollout(id, |rollout| {
        rollout.frozen = Some(Frozen { total, waves });
        rollout.requeue();
    });
    draft.note_rollout(What::Frozen, id, detail);
    draft.note_rollout(What::WaveOpened, id, "wave 1");
}

/// The sizes of the waves for so many members; who is left follows as a last wave, and no wave is empty.
pub(super) fn plan(specs: &[WaveSpec], total: u32, now: SiteTime) -> Vec<Wave> {
    let mut waves: Vec<Wave> = Vec::new();
    let mut left = total;
    for spec in specs.iter().chain([&WaveSpec::REST]) {
        let size = spec.size.of(total).min(left);
        if size > 0 {
            let opened_at = waves.is_empty().then_some(now);
            waves.push(Wave { size, soak: spec.soak, opened_at, proven_at: None });
            left -= size;
        }
    }
    waves
}

/// Marks proven waves, opens the next, and marks the rollout ready after the last.
pub(super) fn advance(draft: &mut Draft, id: RolloutId) {
    loop {
        let Some(rollout) = draft.state.rollouts.get(&id) else { return };
        let Some((at, proof)) = current(draft.state, rollout) else { return };
        let now = draft.now.site;
        match proof {
            Some(Proof::SoakUntil(until)) if until <= now && rollout.tripped.is_none() => {
                draft.edit_rollout(id, |rollout| set(rollout, at, |wave| wave.proven_at = Some(now)));
                draft.note_rollout(What::WaveProven, id, format!("wave {}", at + 1));
            }
            None if brake::lets_waves_open(draft.state, rollout) => {
                draft.edit_rollout(id, |rollout| set(rollout, at, |wave| wave.opened_at = Some(now)));
                draft.note_rollout(What::WaveOpened, id, format!("wave {}", at + 1));
                return;
            }
            _ => return,
        }
        let done = draft.state.rollouts.get(&id).is_some_and(|rollout| current(draft.state, rollout).is_none());
        if done && draft.state.rollouts.get(&id).is_some_and(|r| r.ready_at.is_none() && !r.cancelled) {
            draft.edit_rollout(id, |rollout| rollout.ready_at = Some(now));
            draft.note_rollout(What::RolloutReady, id, "all waves are proven");
        }
    }
}

fn set(rollout: &mut Rollout, at: usize, change: impl FnOnce(&mut Wave)) {
    if let Some(wave) = rollout.frozen.as_mut().and_then(|frozen| frozen.waves.get_mut(at)) {
        change(wave);
    }
}

/// The first wave that is not proven: its index, and how it stands if it is open.
pub fn current(state: &State, rollout: &Rollout) -> Option<(usize, Option<Proof>)> {
    let frozen = rollout.frozen.as_ref()?;
    let (at, wave) = frozen.waves.iter().enumerate().find(|(_, wave)| wave.proven_at.is_none())?;
    Some((at, wave.opened_at.map(|opened| proof(state, rollout, at, wave, opened))))
}

/// Every member is terminal, held, offline or its gateway no longer listed, enough of them are updated, and the soak has
/// passed since the last one ended.
fn proof(state: &State, rollout: &Rollout, at: usize, wave: &Wave, opened: SiteTime) -> Proof {
    let unlisted = |id: &ControllerId| state.gateways.get(id).is_some_and(|gateway| !gateway.listed);
    let (mut counted, mut good, mut may_come) = (0_u32, 0_u32, false);
    let mut last = opened;
    for (id, member) in rollout.members.iter().filter(|(_, m)| m.wave.map(usize::from) == Some(at)) {
        match member.step {
            Step::Waiting(WaitingReason::Held | WaitingReason::DuplicateIdentity) => may_come = true,
            Step::Waiting(_) if unlisted(id) => may_come = true,
            Step::Updated | Step::Skipped(SkippedReason::AlreadyInstalled) => {
                (counted, good) = (counted + 1, good + 1);
                last = last.max(member.since);
            }
            Step::Skipped(_) => {}
            Step::Failed(_) => {
                counted += 1;
                last = last.max(member.since);
            }
            // offline excuses only who never took the order
            Step::Waiting(WaitingReason::Offline) if !member.ever_fetched() => {
                (counted, may_come) = (counted + 1, true);
            }
            _ => return Proof::Open,
        }
    }
    let needed = Percent::new(MIN_UPDATED).map_or(counted, |share| share.of(counted));
    match () {
        () if good >= needed => Proof::SoakUntil(last.plus(wave.soak)),
        () if may_come => Proof::Open,
        () => Proof::Unproven,
    }
}
