//! Signs of life: what a gateway's polls, its silence and its requests say.

use std::time::Duration;

use super::attempt::Then;
use super::draft::Draft;
use super::state::{Member, Rollout, Step};
use crate::model::{Client, ControllerId, FailedReason, Presence, RolloutId, What};

pub(super) fn seen(draft: &mut Draft, id: &ControllerId) {
    let Some(gateway) = draft.state.gateways.get(id) else { return };
    if gateway.presence == Presence::Never {
        draft.edit_gateway(id, |gateway| gateway.attributes_due = true);
        draft.note_gateway(What::FirstSeen, id, "");
    }
    if !gateway_is_heard(draft, id) {
        draft.edit_gateway_volatile(id, |gateway| gateway.heard = true);
    }
    draft.edit_gateway(id, |gateway| gateway.presence = Presence::Polling);
}

fn gateway_is_heard(draft: &Draft, id: &ControllerId) -> bool {
    draft.state.gateways.get(id).is_some_and(|gateway| gateway.heard)
}

/// A gateway fell silent. One whose update is being watched has failed with it.
pub(super) fn gone(draft: &mut Draft, id: &ControllerId, presence: Presence) {
    draft.edit_gateway(id, |gateway| gateway.presence = presence);
    for rollout in soaking(draft, id) {
        let message = Some("it stopped polling".into());
        draft.fail_attempt(rollout, id, FailedReason::Regressed, message, Then::Stop);
    }
}

/// The rollouts in which a gateway is updated and still being watched.
fn soaking(draft: &Draft, id: &ControllerId) -> Vec<RolloutId> {
    let watched = draft.state.rollouts.iter().filter(|(_, rollout)| {
        rollout.members.get(id).is_some_and(|member| member.step == Step::Updated && rollout.is_soaking(member))
    });
    watched.filter(|(_, rollout)| !is_taken_further(draft, rollout, id)).map(|(id, _)| *id).collect()
}

/// Another rollout has the gateway in hand, or took it on to a newer version: what it does now is that one's matter.
pub(super) fn is_taken_further(draft: &Draft, rollout: &Rollout, id: &ControllerId) -> bool {
    let name = &rollout.spec.artifact.key.name;
    draft.state.rollouts.values().any(|other| {
        let newer = other.arrival > rollout.arrival && other.spec.artifact.key.name == *name;
        let takes = |member: &Member| match member.step {
            Step::Downloading | Step::Installing | Step::Confirming => true,
            _ => newer && member.ever_fetched(),
        };
        other.arrival != rollout.arrival && other.members.get(id).is_some_and(takes)
    })
}

pub(super) fn pace(draft: &mut Draft, id: &ControllerId, interval: Duration) {
    let interval = (interval != draft.state.told(id)).then_some(interval);
    draft.edit_gateway(id, |gateway| gateway.interval = interval);
}

/// A gateway that reported success polled late enough to be believed.
pub(super) fn polled(draft: &mut Draft, id: &ControllerId) {
    let now = draft.now.site;
    let believed: Vec<_> = draft
        .state
        .rollouts
        .iter()
        .filter(|(_, rollout)| {
            let from = |m: &Member| m.action.as_ref().and_then(|action| action.confirm_from);
            rollout.members.get(id).is_some_and(|m| m.step == Step::Confirming && from(m).is_some_and(|at| at <= now))
        })
        .map(|(id, _)| *id)
        .collect();
    for rollout in believed {
        draft.updated(rollout, id, "the gateway reported it and is still there");
    }
}

pub(super) fn is_client(draft: &mut Draft, id: &ControllerId, client: Client) {
    draft.edit_gateway(id, |gateway| gateway.client = client);
}
