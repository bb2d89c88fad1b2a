//! Decisions, to a fixpoint, for the rollouts that were touched or are due.

use std::cmp::Reverse;
use std::time::Duration;

use super::brake;
use super::draft::Draft;
use super::room::Room;
use super::state::{Member, Rollout, State, Step};
use super::wave::{self, Proof};
use super::{
    cancel, conflict, deadline, failure_limit, gate, guard, members, needs, rollback, service, silence, spread, watch,
    window,
};
use crate::model::{ControllerId, RolloutId, SiteTime, SkippedReason, WaitingReason};

/// Far more rounds than any chain of decisions is long; a bug must not become an endless loop.
const MOST_ROUNDS: usize = 1_000;

/// Decides for the rollouts and services that were touched in this draft, or are due.
pub fn settle(draft: &mut Draft) {
    settle_rollouts(draft);
    service::settle(draft);
}

fn settle_rollouts(draft: &mut Draft) {
    silence::run(draft);
    let now = draft.now.site;
    window::look(draft);
    let due: Vec<_> = draft
        .state
        .rollouts
        .iter()
        .filter(|(_, r)| r.next_due.is_some_and(|at| at <= now))
        .map(|(id, _)| *id)
        .collect();
    for id in due {
        draft.touch(id);
    }
    for _ in 0..MOST_ROUNDS {
        // newer intents first: they win where two want one gateway
        let mut touched: Vec<_> = draft.take_touched().into_iter().collect();
        if touched.is_empty() && draft.take_stirred() {
            touched = concerned_by_others(draft.state);
        }
        touched.sort_by_key(|id| Reverse(draft.state.rollouts.get(id).map(|rollout| rollout.arrival)));
        if touched.is_empty() {
            return;
        }
        for id in touched {
            settle_rollout(draft, id);
        }
    }
    debug_assert!(false, "settle found no fixpoint");
}

/// Whose members wait for room, for the health of others, or hold room for which another may be ahead of them.
fn concerned_by_others(state: &State) -> Vec<RolloutId> {
    let several = state.rollouts.len() > 1;
    let waits = |member: &Member| matches!(member.step, Step::Waiting(reason) if reason.is_for_room());
    let concerned = |rollout: &Rollout| {
        let spread = rollout.spec.strategy.spread.is_some();
        let stands = |member: &Member| waits(member) || (spread && member.step == Step::Offered);
        (several || spread) && rollout.members.values().any(stands)
    };
    state.rollouts.iter().filter(|(_, rollout)| concerned(rollout)).map(|(id, _)| *id).collect()
}

/// Decides for all rollouts: what [`settle`] must not differ from.
pub fn settle_all(draft: &mut Draft) {
    draft.touch_all();
    draft.touch_services();
    settle(draft);
}

fn settle_rollout(draft: &mut Draft, id: RolloutId) {
    conflict::look(draft, id);
    members::sync(draft, id);
    deadline::run(draft, id);
    watch::run(draft, id);
    skip(draft, id);
    guard::run(draft, id);
    cancel::run(draft, id);
    wave::freeze(draft, id);
    failure_limit::trip(draft, id);
    rollback::run(draft, id);
    wave::advance(draft, id);
    withdraw(draft, id);
    park(draft, id);
    offer(draft, id);
    retire(draft, id);
    let Some(rollout) = draft.state.rollouts.get(&id) else { return };
    let next_due = next_due(draft.state, rollout, draft.now.site);
    if let Some(rollout) = draft.state.rollouts.get_mut(&id) {
        rollout.next_due = next_due;
        rollout.await_windows();
    }
}

/// Ends members that a newer rollout took over, and frozen ones that have the version already.
fn skip(draft: &mut Draft, id: RolloutId) {
    let state = &*draft.state;
    let Some(rollout) = state.rollouts.get(&id) else { return };
    let name = &rollout.spec.artifact.key.name;
    let newer: Vec<_> =
        state.rollouts.values().filter(|r| r.arrival > rollout.arrival && r.spec.artifact.key.name == *name).collect();
    let taken = |gateway: &ControllerId| {
        let takes = |member: &Member| member.step != Step::Skipped(SkippedReason::NotSelected);
        rollout.replaced || newer.iter().any(|newer| newer.members.get(gateway).is_some_and(takes))
    };
    let has_it = |gateway: &ControllerId, member: &Member| {
        let runs = |gateway| state.settings.version_text(&state.gateways.get(gateway)?.attributes, name);
        rollout.frozen.is_some() && rollout.has_target(member, runs(gateway))
    };
    let mut skipped = Vec::new();
    let mut arrived = Vec::new();
    for (gateway, member) in &rollout.members {
        if !matches!(member.step, Step::Waiting(_) | Step::Offered) {
            continue;
        }
        match (taken(gateway) && !member.is_cancelling(), has_it(gateway, member)) {
            (_, true) if member.took_an_order() || member.reverting => arrived.push(gateway.clone()),
            (_, true) => skipped.push((gateway.clone(), SkippedReason::AlreadyInstalled)),
            (true, _) => skipped.push((gateway.clone(), SkippedReason::Superseded)),
            _ => {}
        }
    }
    for (gateway, reason) in skipped {
        draft.skip(id, &gateway, reason);
    }
    for gateway in arrived {
        draft.updated(id, &gateway, "the gateway reports the version");
    }
}

/// Takes back offers that were not fetched and may not stand any more.
fn withdraw(draft: &mut Draft, id: RolloutId) {
    let Some(rollout) = draft.state.rollouts.get(&id) else { return };
    let offered = rollout.members.iter().filter(|(_, member)| member.step == Step::Offered);
    let held: Vec<_> = offered
        .filter_map(|(gateway, member)| {
            let reason = brake::standing(draft.state, draft.now.site, (id, rollout), (gateway, member))
                .or_else(|| gate::shut(draft.state, rollout, gateway))?;
            Some((gateway.clone(), reason))
        })
        .collect();
    for (gateway, reason) in held {
        draft.withdraw(id, &gateway, reason);
    }
    // one at a time: each that goes back may be the other half that lets another stand
    while let Some((gateway, reason)) =
        draft.state.rollouts.get(&id).and_then(|rollout| spread::taken_back(draft.state, rollout))
    {
        draft.withdraw(id, &gateway, reason);
    }
}

/// Takes the link from a gateway that idles half-way while it is held, its rollout stands still or no window is open: it
/// waits in nobody's way, and keeps its order. Once nobody stops it any more its deadline runs again.
fn park(draft: &mut Draft, id: RolloutId) {
    let Some(rollout) = draft.state.rollouts.get(&id) else { return };
    let now = draft.now.site;
    let download = rollout.spec.deadlines.download;
    let (mut parked, mut released) = (Vec::new(), Vec::new());
    for (gateway, member) in &rollout.members {
        let hidden = member.open_action().is_some_and(|action| action.hidden);
        let stopped = || stopped(draft.state, rollout, gateway);
        match member.step {
            Step::Downloading if hide_at(draft.state, rollout, gateway, member).is_some_and(|at| at <= now) => {
                parked.extend(stopped().map(|reason| (gateway.clone(), reason)));
            }
            Step::Waiting(_) if hidden && stopped().is_none() => released.push(gateway.clone()),
            _ => {}
        }
    }
    for (gateway, reason) in parked {
        draft.park(id, &gateway, reason);
    }
    for gateway in released {
        draft.edit_action(id, &gateway, |action| {
            (action.hidden, action.deadline) = (false, Some(now.plus(download)));
        });
    }
}

/// On whose word a member stands still, or for which hour.
fn stopped(state: &State, rollout: &Rollout, id: &ControllerId) -> Option<WaitingReason> {
    let gateway = state.gateways.get(id)?;
    let is_reverting = rollout.members.get(id).is_some_and(|member| member.reverting);
    match () {
        () if brake::is_held(state, gateway) => Some(WaitingReason::Held),
        () if gateway.duplicate => Some(WaitingReason::DuplicateIdentity),
        () if is_reverting => rollback::halt(state, rollout).or_else(|| rollout.shut()),
        () if rollout.conflict => Some(WaitingReason::DigestConflict),
        () if brake::is_stopped(state, rollout) => Some(WaitingReason::Paused),
        () => rollout.shut(),
    }
}

/// When a downloading member's link is to be hidden, if it stands still on somebody's word.
fn hide_at(state: &State, rollout: &Rollout, id: &ControllerId, member: &Member) -> Option<SiteTime> {
    let gateway = state.gateways.get(id)?;
    let stands = stopped(state, rollout, id).is_some() && gateway.bodies == 0;
    stands.then(|| member.since.max(gateway.idle_since).plus(state.interval(gateway) * 2))
}

/// Offers whom no brake holds, in order, and tells the others why they wait.
fn offer(draft: &mut Draft, id: RolloutId) {
    let Some(rollout) = draft.state.rollouts.get(&id) else { return };
    // counted for the first who needs it: until then nothing that it counts changes
    let mut room = None;
    for gateway in &*rollout.queue.clone() {
        let state = &*draft.state;
        let Some(rollout) = state.rollouts.get(&id) else { return };
        let Some(member) = rollout.members.get(gateway) else { continue };
        let Step::Waiting(before) = member.step else { continue };
        let reason = brake::standing(state, draft.now.site, (id, rollout), (gateway, member)).or_else(|| {
            let room = room.get_or_insert_with(|| Room::of(state, id));
            let reason = room.brake(state, draft.now.site, rollout, gateway, false);
            if reason.is_none() {
                room.take(state, gateway);
            }
            reason
        });
        match reason {
            Some(reason) if reason == before => {}
            Some(reason) => draft.edit_member(id, gateway, |member| member.step = Step::Waiting(reason)),
            None => draft.offer(id, gateway),
        }
    }
}

/// Forgets a rollout that a newer revision replaced, that somebody deleted, or of which a newer rollout took all gateways and
/// that has not been listed for long, once no gateway has an order of it in hand. What is only missing for a while would else
/// come back as something new. A drop is not listed: long after the newer one is done nobody asks for it any more.
fn retire(draft: &mut Draft, id: RolloutId) {
    let Some(rollout) = draft.state.rollouts.get(&id) else { return };
    let is_idle = |m: &Member| m.step.is_terminal() && m.open_action().is_none() && !m.is_unsettled();
    let superseded = || {
        let gone = retires_at(draft.state, rollout).is_some_and(|at| at <= draft.now.site);
        gone && needs::is_taken_over(draft.state, rollout)
    };
    if (rollout.replaced || rollout.deleted || superseded()) && rollout.members.values().all(is_idle) {
        draft.remove_rollout(id);
    }
}

/// When a rollout that is no longer listed, or never was, may be forgotten, if it is not needed.
fn retires_at(state: &State, rollout: &Rollout) -> Option<SiteTime> {
    let since = if rollout.origin.is_standing() { rollout.unlisted_at } else { needs::outdone_at(state, rollout) };
    since.map(|at| at.plus(UNLISTED_FOR_LONG))
}

/// A volume that is not mounted, or a person who moves files, is done within a week.
const UNLISTED_FOR_LONG: Duration = Duration::from_secs(7 * 86_400);

/// When a rollout must be looked at again although nothing happens.
fn next_due(state: &State, rollout: &Rollout, now: SiteTime) -> Option<SiteTime> {
    let members = rollout.members.iter().flat_map(|(id, member)| {
        let idles = member.step == Step::Downloading;
        let judged = if member.may_fail_silent() {
            state.gateways.get(id).and_then(|gateway| silence::judged_from(state, gateway, member.deadline()))
        } else {
            watch::silent(state, rollout, id, member)
        };
        // while the site is silent no time is up
        let runs = state.site.silence.is_none();
        let hidden = if idles { hide_at(state, rollout, id, member) } else { None };
        // each for itself: what has passed must not hide what is still to come
        let [deadline, retry_at] = member.due().map(|at| at.filter(|_| runs));
        [deadline, retry_at, judged.filter(|_| runs), hidden]
    });
    let soak = match wave::current(state, rollout) {
        Some((_, Some(Proof::SoakUntil(until)))) if rollout.tripped.is_none() => Some(until),
        _ => None,
    };
    // what was due is done; what is left of it waits for something else than time
    members.chain([soak, retires_at(state, rollout)]).flatten().filter(|at| *at > now).min()
}
