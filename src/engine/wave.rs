//! Waves: when one is proven and the next opens.

use super::draft::Draft;
use super::state::{Rollout, State, Step, Wave};
use super::{approval, beside, brake, deal, target, watch, way_back};
use crate::model::{RolloutId, SiteTime, SkippedReason, WaitingReason, WaveSpec, What};

/// How a wave stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// Members are still on their way.
    Open,
    /// All are at their end, and some of the updated were not heard of since the site started.
    Unheard,
    /// All ended well enough; proven at this time if nothing happens.
    SoakUntil(SiteTime),
    /// All ended, and too few of them updated.
    Unproven,
}

/// Freezes the members when the first wave can open, and opens it.
pub(super) fn freeze(draft: &mut Draft, id: RolloutId) {
    let Some(rollout) = draft.state.rollouts.get(&id) else { return };
    let awaited = draft.state.api.awaited;
    if rollout.frozen.is_some() || rollout.replaced || awaited || !brake::lets_waves_open(draft.state, rollout) {
        return;
    }
    let (mut frozen, places) = deal::draw_up(draft.state, rollout);
    let Some(first) = frozen.waves.first() else { return };
    if places.is_empty() || !approval::is_approved(rollout, first) || deal::obstacle(&frozen.waves).is_some() {
        return;
    }
    let Ok(ways) = way_back::find(draft.state, rollout, places.iter().map(|(gateway, _)| gateway)) else { return };
    let members = rollout.in_order().into_iter();
    let chosen = members.map(|(gateway, _)| (gateway.clone(), target::choose(draft.state, rollout, gateway)));
    let chosen: Vec<_> = chosen.collect();
    let opened = title(&frozen.waves, 0);
    if let Some(first) = frozen.waves.first_mut() {
        first.opened_at = Some(draft.now.site);
    }
    let of = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    let detail = format!("{} in {}", of(places.len(), "member"), of(frozen.waves.len(), "wave"));
    for (gateway, variant) in chosen {
        match variant {
            Some(variant) => draft.edit_member(id, &gateway, |member| {
                (member.variant, member.back) = (variant, ways.of.get(&gateway).copied());
            }),
            None => draft.skip(id, &gateway, SkippedReason::NoVariant),
        }
    }
    deal::place(draft, id, places);
    let began = draft.now.wall;
    draft.edit_rollout(id, |rollout| {
        (rollout.frozen, rollout.began) = (Some(frozen), began);
        rollout.backs = ways.files;
    });
    draft.note_rollout(What::Frozen, id, detail);
    draft.note_rollout(What::WaveOpened, id, opened);
}

/// What people call a wave: `wave 2`, or `wave 2 (bench)` if it has a name of its own.
pub(super) fn title(waves: &[Wave], at: usize) -> String {
    let place = at + 1;
    match waves.get(at).map(|wave| wave.name.as_str()) {
        Some(name) if name != place.to_string() && name != WaveSpec::REST_NAME => format!("wave {place} ({name})"),
        _ => format!("wave {place}"),
    }
}

/// Marks proven waves, opens the next, and marks the rollout ready after the last.
pub(super) fn advance(draft: &mut Draft, id: RolloutId) {
    loop {
        let Some(rollout) = draft.state.rollouts.get(&id) else { return };
        let Some((at, proof)) = current(draft.state, rollout) else { return };
        let now = draft.now.site;
        let waves = rollout.frozen.as_ref().map_or(&[][..], |frozen| &frozen.waves);
        let name = title(waves, at);
        let may_open = || {
            let approved = waves.get(at).is_some_and(|wave| approval::is_approved(rollout, wave));
            approved && deal::obstacle(waves).is_none() && brake::lets_waves_open(draft.state, rollout)
        };
        match proof {
            Some(Proof::SoakUntil(until)) if until <= now && rollout.tripped.is_none() => {
                draft.edit_rollout(id, |rollout| set(rollout, at, |wave| wave.proven_at = Some(now)));
                draft.note_rollout(What::WaveProven, id, name);
            }
            None if may_open() => {
                draft.edit_rollout(id, |rollout| set(rollout, at, |wave| wave.opened_at = Some(now)));
                draft.note_rollout(What::WaveOpened, id, name);
                return;
            }
            _ => return,
        }
        let done = draft.state.rollouts.get(&id).is_some_and(|rollout| current(draft.state, rollout).is_none());
        if done && draft.state.rollouts.get(&id).is_some_and(|r| r.ready_at.is_none() && !r.cancelled) {
            let wall = draft.now.wall;
            draft.edit_rollout(id, |rollout| (rollout.ready_at, rollout.ended) = (Some(now), wall));
            draft.note_rollout(What::RolloutReady, id, "all waves are proven");
            let outdoes = draft.state.rollouts.get(&id).map(|r| (r.arrival, r.spec.clone()));
            if let Some((arrival, spec)) = outdoes {
                draft.touch_older(arrival, &spec.artifact.key.name);
            }
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
    let (mut counted, mut good, mut may_come, mut unheard) = (0_u32, 0_u32, false, false);
    // and the watch begins again after it
    let mut last = opened.max(state.site.silence_over);
    let members = beside::members(&state.gateways, rollout);
    for (_, gateway, member) in members.filter(|(.., member)| member.wave.map(usize::from) == Some(at)) {
        match member.step {
            Step::Waiting(WaitingReason::Held | WaitingReason::DuplicateIdentity | WaitingReason::NotComparable) => {
                may_come = true;
            }
            Step::Waiting(_) if !gateway.listed => may_come = true,
            Step::Updated if watch::silent(state, rollout, gateway, member).is_some() => return Proof::Open,
            Step::Updated if gateway.listed && watch::is_unheard(state, rollout, gateway, member) => unheard = true,
            Step::Updated | Step::Skipped(SkippedReason::AlreadyInstalled) => {
                (counted, good) = (counted + 1, good + 1);
                last = last.max(member.since);
            }
            Step::Skipped(_) => {}
            Step::Failed(_) | Step::RolledBack => {
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
    match () {
        // nobody is watched while the site is silent
        () if state.site.silence.is_some() => Proof::Open,
        () if unheard => Proof::Unheard,
        () if good >= wave.min_updated.of(counted) => Proof::SoakUntil(last.plus(wave.soak)),
        () if may_come => Proof::Open,
        () => Proof::Unproven,
    }
}
