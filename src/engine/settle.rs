//! Decisions, to a fixpoint, for the rollouts that were touched or are due.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use super::draft::Draft;
use super::offer::Choice;
use super::state::{Member, Rollout, State, Step};
use super::survey::Survey;
use super::wave::{self, Proof};
use super::{
    cancel, conflict, deadline, failure_limit, guard, half_way, members, needs, rollback, service, silence, takeover,
    watch, window,
};
use crate::model::{RolloutId, SiteTime};

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
    // whom nothing was changed by, and nothing since: looking again would find the same
    let mut settled = BTreeMap::new();
    for _ in 0..MOST_ROUNDS {
        // newer intents first: they win where two want one gateway
        let mut touched: Vec<_> = draft.take_touched().into_iter().collect();
        if touched.is_empty() && draft.take_stirred() {
            touched = concerned_by_others(draft.state);
            touched.retain(|id| settled.get(id) != Some(&draft.edits));
        }
        touched.sort_by_key(|id| Reverse(draft.state.rollouts.get(id).map(|rollout| rollout.arrival)));
        if touched.is_empty() {
            return;
        }
        for id in touched {
            let before = draft.edits;
            settle_rollout(draft, id);
            if draft.edits == before {
                settled.insert(id, before);
            }
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
    let Some(survey) = Survey::of(draft, id) else { return };
    if survey.stirs {
        members::sync(draft, id);
        deadline::run(draft, id);
        watch::run(draft, id);
        takeover::run(draft, id);
        guard::run(draft, id);
    }
    cancel::run(draft, id);
    wave::freeze(draft, id);
    if survey.failed || survey.is_stale(draft) {
        failure_limit::trip(draft, id);
    }
    rollback::run(draft, id);
    wave::advance(draft, id);
    let Some(survey) = withdraw(draft, id, survey) else { return };
    half_way::park(draft, id, &survey.half_way);
    let Some(survey) = survey.again(draft, id) else { return };
    offer(draft, id, &survey.choice);
    retire(draft, id);
    let Some(rollout) = draft.state.rollouts.get(&id) else { return };
    let next_due = next_due(draft.state, rollout, survey.due, draft.now.site);
    if let Some(rollout) = draft.state.rollouts.get_mut(&id) {
        rollout.next_due = next_due;
        rollout.await_windows();
    }
}

/// Takes back offers that were not fetched and may not stand any more.
fn withdraw(draft: &mut Draft, id: RolloutId, mut survey: Survey) -> Option<Survey> {
    loop {
        survey = survey.again(draft, id)?;
        if survey.held.is_empty() && survey.taken_back.is_none() {
            return Some(survey);
        }
        let one = survey.taken_back.take().filter(|_| survey.held.is_empty());
        for (gateway, reason) in survey.held.drain(..).chain(one) {
            draft.withdraw(id, &gateway, reason);
        }
    }
}

/// Offers whom no brake holds, in order, and tells the others why they wait.
fn offer(draft: &mut Draft, id: RolloutId, choice: &Choice) {
    for (gateway, reason) in &choice.reasons {
        draft.edit_member(id, gateway, |member| member.step = Step::Waiting(*reason));
    }
    for gateway in &choice.offers {
        draft.offer(id, gateway);
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

/// When a rollout must be looked at again although nothing happens; `members`: the same of its members.
fn next_due(state: &State, rollout: &Rollout, members: Option<SiteTime>, now: SiteTime) -> Option<SiteTime> {
    let soak = match wave::current(state, rollout) {
        Some((_, Some(Proof::SoakUntil(until)))) if rollout.tripped.is_none() => Some(until),
        _ => None,
    };
    // what was due is done; what is left of it waits for something else than time
    let own = [soak, retires_at(state, rollout)].into_iter().flatten().filter(|at| *at > now);
    own.chain(members).min()
}
