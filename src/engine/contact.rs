//! Signs of life: what a gateway's polls, its silence and its requests say.

use std::time::Duration;

use super::draft::Draft;
use super::state::{Member, Step};
use crate::model::{Client, ControllerId, Presence, What};

pub(super) fn seen(draft: &mut Draft, id: &ControllerId) {
    let Some(gateway) = draft.state.gateways.get(id) else { return };
    if gateway.presence == Presence::Never {
        draft.edit_gateway(id, |gateway| gateway.attributes_due = true);
        draft.note_gateway(What::FirstSeen, id, "");
    }
    if !gateway_is_heard(draft, id) {
        draft.edit_gateway_volatile(id, |gateway| gateway.heard = true);
    }
    draft.edit_gateway(id, |gateway| (gateway.presence, gateway.silent_since) = (Presence::Polling, None));
}

fn gateway_is_heard(draft: &Draft, id: &ControllerId) -> bool {
    draft.state.gateways.get(id).is_some_and(|gateway| gateway.heard)
}

/// A gateway fell silent, or has been for long. What that means for it shows later, when the others could be heard.
pub(super) fn gone(draft: &mut Draft, id: &ControllerId, presence: Presence) {
    let now = draft.now.site;
    let Some(gateway) = draft.state.gateways.get(id) else { return };
    draft.fell_silent |= gateway.presence == Presence::Polling;
    draft.edit_gateway(id, |gateway| {
        let since = (gateway.presence == Presence::Polling).then_some(now);
        (gateway.presence, gateway.silent_since) = (presence, gateway.silent_since.or(since));
    });
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
