//! What the silence of an updated member means while its wave is being watched.

use super::attempt::Then;
use super::beside;
use super::draft::Draft;
use super::silence::judged_from;
use super::state::{Gateway, Member, Rollout, State, Step};
use crate::model::{ControllerId, FailedReason, Presence, RolloutId, SiteTime};

/// Members that fell silent after their update, and stayed so, have failed with it.
pub(super) fn run(draft: &mut Draft, id: RolloutId) {
    let Some(rollout) = draft.state.rollouts.get(&id) else { return };
    let (state, now) = (&*draft.state, draft.now.site);
    if state.site.silence.is_some() {
        return;
    }
    let members = beside::members(&state.gateways, rollout);
    let gone = members.filter(|(_, gateway, m)| silent(state, rollout, gateway, m).is_some_and(|from| from <= now));
    for gateway in gone.map(|(id, ..)| id.clone()).collect::<Vec<_>>() {
        let message = Some("it stopped polling".into());
        draft.fail_attempt(id, &gateway, FailedReason::Regressed, message, Then::Stop);
    }
}

/// From when on the silence of an updated member is held against it; `None` if it is there, or nobody's watch.
pub(super) fn silent(state: &State, rollout: &Rollout, gateway: &Gateway, member: &Member) -> Option<SiteTime> {
    if member.step != Step::Updated || !rollout.is_soaking(member) {
        return None;
    }
    let id = &gateway.spec.controller_id;
    let is_silent = !matches!(gateway.presence, Presence::Polling | Presence::Never);
    let ours = || !is_taken_further(state, rollout, id) && !failed_elsewhere(state, rollout, id, gateway);
    (is_silent && ours()).then(|| judged_from(state, gateway, None).unwrap_or_default())
}

/// An updated member that has not polled since the start: it counts as there, so that nothing is held against it, and that is
/// no proof of anything either.
pub(super) fn is_unheard(state: &State, rollout: &Rollout, gateway: &Gateway, member: &Member) -> bool {
    let watched = member.step == Step::Updated && rollout.is_soaking(member);
    watched && !gateway.heard && !is_taken_further(state, rollout, &gateway.spec.controller_id)
}

/// Another rollout has the gateway in hand, or took it on to a newer version: what it does now is that one's matter.
pub(super) fn is_taken_further(state: &State, rollout: &Rollout, id: &ControllerId) -> bool {
    let name = &rollout.spec.artifact.key.name;
    state.rollouts.values().any(|other| {
        let newer = other.arrival > rollout.arrival && other.spec.artifact.key.name == *name;
        let takes = |member: &Member| match member.step {
            Step::Downloading | Step::Installing | Step::Confirming => true,
            _ => newer && member.ever_fetched(),
        };
        other.arrival != rollout.arrival && other.members.get(id).is_some_and(takes)
    })
}

/// Another rollout's update failed by this very silence.
fn failed_elsewhere(state: &State, rollout: &Rollout, id: &ControllerId, gateway: &Gateway) -> bool {
    let since = gateway.silent_since.unwrap_or_default();
    let failed = |member: &Member| matches!(member.step, Step::Failed(_)) && member.since >= since;
    let others = state.rollouts.values().filter(|other| other.arrival != rollout.arrival);
    others.filter_map(|other| other.members.get(id)).any(failed)
}
