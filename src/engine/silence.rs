//! The site fell silent: a dead switch must not fail three hundred gateways, and must not hide a real brick afterwards.
//!
//! Whoever is silent after it took an order may be broken by it. Whether it is, the others tell: the *control group* are the
//! gateways that nobody acts on. If many of them fall silent at the same time, the fault is not the order's, and nothing is
//! held against anybody until they are back. So that they can testify at all, a gateway's silence is held against it only
//! once they would have fallen silent too.

use std::time::Duration;

use super::draft::Draft;
use super::state::{Gateway, Member, Rollout, State, Step};
use crate::model::{ControllerId, Presence, RolloutId, SiteTime, SkippedReason, What, format_duration};

/// Over so many of a hundred of the control group must fall silent.
const BEGINS: usize = 30;
/// It is over when no more than so many are left: half, so that one gateway more or less does not begin it again.
const ENDS: usize = 15;
/// Fewer are no sign of anything.
const LEAST: usize = 3;
/// A gateway is in the control group if it took no order for so long.
const UNTOUCHED: Duration = Duration::from_secs(24 * 3_600);
/// Deadlines stand still no longer.
pub(super) const LONGEST: Duration = Duration::from_secs(24 * 3_600);

/// Begins or ends a silence of the site.
pub(super) fn run(draft: &mut Draft) {
    let fell = std::mem::take(&mut draft.fell_silent);
    match draft.state.site.silence {
        None if fell => begin(draft),
        None => {}
        Some(since) => end(draft, since),
    }
}

fn begin(draft: &mut Draft) {
    let (state, now) = (&*draft.state, draft.now.site);
    let just = |gateway: &Gateway| gateway.silent_since.is_some_and(|at| now.since(at) <= state.patience(gateway));
    // cheap, and nearly always the end of it
    if state.gateways.values().filter(|gateway| just(gateway)).count() < LEAST {
        return;
    }
    let (there, silent) = count(state, now, just);
    if silent < LEAST || silent * 100 <= (there + silent) * BEGINS {
        return;
    }
    draft.edit_site(|site| site.silence = Some(now));
    let detail = format!("{silent} of {} gateways that nobody was updating fell silent at once", there + silent);
    draft.note(What::SiteSilent, detail);
    draft.touch_all();
}

fn end(draft: &mut Draft, since: SiteTime) {
    let (state, now) = (&*draft.state, draft.now.site);
    let with_it = |gateway: &Gateway| gateway.silent_since.is_some_and(|at| at.plus(state.patience(gateway)) >= since);
    let (there, silent) = count(state, now, with_it);
    let back = silent < LEAST || silent * 100 <= (there + silent) * ENDS;
    if !back && now < since.plus(LONGEST) {
        return;
    }
    go_on(draft, since);
    draft.edit_site(|site| (site.silence, site.silence_over) = (None, now));
    let lasted = format_duration(Duration::from_secs(now.since(since).as_secs()));
    let how = if back { "they are back" } else { "they are not back, and nobody waits longer" };
    draft.note(What::SiteSilent, format!("over after {lasted}: {how}"));
    draft.touch_all();
}

/// How many of the control group are there, and how many are silent in this way.
fn count(state: &State, now: SiteTime, silent: impl Fn(&Gateway) -> bool) -> (usize, usize) {
    let mut counts = (0, 0);
    for (id, gateway) in &state.gateways {
        let polls = gateway.presence == Presence::Polling;
        if (polls || silent(gateway)) && is_control(state, now, id, gateway) {
            *(if polls { &mut counts.0 } else { &mut counts.1 }) += 1;
        }
    }
    counts
}

/// Whatever it does is no work of ours: it took no order for a day, has none under way, and does not run what a rollout
/// in force brings.
fn is_control(state: &State, now: SiteTime, id: &ControllerId, gateway: &Gateway) -> bool {
    let untouched = gateway.acted_at.is_none_or(|at| now.since(at) >= UNTOUCHED);
    untouched
        && state.rollouts.values().filter(|rollout| is_in_force(state, rollout, id)).all(|rollout| {
            let Some(member) = rollout.members.get(id) else { return true };
            let under_way = member.ever_fetched() && !member.step.is_terminal();
            let has_it = matches!(member.step, Step::Updated | Step::Skipped(SkippedReason::AlreadyInstalled));
            let runs = state.settings.version_text(&gateway.attributes, &rollout.spec.artifact.key.name);
            !under_way && !has_it && !rollout.has_target(member, runs)
        })
}

/// No newer rollout of the artifact has the gateway, and nobody called it off.
fn is_in_force(state: &State, rollout: &Rollout, id: &ControllerId) -> bool {
    let name = &rollout.spec.artifact.key.name;
    let newer = |other: &Rollout| {
        other.arrival > rollout.arrival && other.spec.artifact.key.name == *name && other.members.contains_key(id)
    };
    !rollout.replaced && !rollout.cancelled && !state.rollouts.values().any(newer)
}

/// Whatever was to happen by a time has so much longer as the silence took of it.
fn go_on(draft: &mut Draft, since: SiteTime) {
    let now = draft.now.site;
    let has_deadline = |member: &Member| member.action.as_ref().is_some_and(|order| order.deadline.is_some());
    let mut waiting: Vec<(RolloutId, ControllerId, SiteTime)> = Vec::new();
    for (id, rollout) in &draft.state.rollouts {
        let members = rollout.members.iter().filter(|(_, member)| has_deadline(member));
        waiting.extend(members.map(|(gateway, member)| (*id, gateway.clone(), member.since)));
    }
    for (id, gateway, step_since) in waiting {
        let stood = now.since(since.max(step_since));
        draft.edit_action(id, &gateway, |order| order.deadline = order.deadline.map(|at| at.plus(stood)));
    }
}

/// From when on a gateway's silence is held against it: once the others would have fallen silent too, and after a silence
/// of the site, or a start, once it had the time to come back.
pub(super) fn judged_from(state: &State, gateway: &Gateway, deadline: Option<SiteTime>) -> Option<SiteTime> {
    let since = gateway.silent_since.filter(|_| gateway.presence != Presence::Polling);
    let over = state.site.silence_over;
    // that one may stay away long after a poll that failed is known where its silence is told; it is not waited for twice
    let by = |since: SiteTime| {
        if since > over { since.plus(state.interval(gateway) * 2) } else { over.plus(state.patience(gateway)) }
    };
    // starts again and again must not put it off for ever
    let latest = since.or(deadline)?.plus(state.settings.offline_after);
    since.map(by).max(back_by(state, gateway).map(|at| at.min(latest)))
}

/// A plant that is switched off takes its gateways with it: who was not offline before has time to boot as well.
fn back_by(state: &State, gateway: &Gateway) -> Option<SiteTime> {
    let may_boot = !gateway.heard && gateway.presence != Presence::Offline;
    may_boot.then(|| state.awake_since.plus(state.settings.offline_after))
}

/// Its silence tells nothing yet.
pub(super) fn is_excused(state: &State, gateway: &Gateway, deadline: Option<SiteTime>, now: SiteTime) -> bool {
    state.site.silence.is_some() || judged_from(state, gateway, deadline).is_some_and(|at| now < at)
}
