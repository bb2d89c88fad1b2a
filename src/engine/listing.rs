//! A complete list of what the manifests declare, held against what is known. Absence is not deletion.

use std::collections::BTreeSet;

use super::draft::Draft;
use super::state::{Gateway, Rollout};
use super::{declare, service};
use crate::model::{ControllerId, DeclaredBy, Intent, Listing, RolloutId};

/// Takes a complete list. What it no longer shows stays as it is, but starts nothing new.
pub(super) fn apply(draft: &mut Draft, list: Listing) {
    if !draft.state.listed {
        draft.state.listed = true;
        draft.touch_all();
    }
    draft.state.refused = list.refused;
    let (mut gateways, mut rollouts, mut services) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for intent in list.intents {
        match intent {
            Intent::Gateway(spec) => {
                gateways.insert(spec.controller_id.clone());
                declare::gateway(draft, spec, DeclaredBy::Manifest);
            }
            Intent::Rollout(identity, spec) => {
                rollouts.insert(declare::rollout(draft, identity, *spec, DeclaredBy::Manifest));
            }
            Intent::Service(name, spec) => {
                services.insert(name.clone());
                service::declare(draft, name, *spec, DeclaredBy::Manifest);
            }
        }
    }
    unlist(draft, &gateways, &rollouts);
    service::unlist(draft, |name| services.contains(name));
}

/// What came by a drop, or was let in on a person's word, was never in a list.
fn unlist(draft: &mut Draft, gateways: &BTreeSet<ControllerId>, rollouts: &BTreeSet<RolloutId>) {
    let gone = |(id, gateway): &(&ControllerId, &Gateway)| gateway.origin.is_manifest() && !gateways.contains(*id);
    for id in draft.state.gateways.iter().filter(gone).map(|(id, _)| id.clone()).collect::<Vec<_>>() {
        draft.edit_gateway(&id, |gateway| gateway.listed = false);
    }
    let gone = |(id, rollout): &(&RolloutId, &Rollout)| {
        rollout.listed && rollout.origin.is_manifest() && !rollouts.contains(id)
    };
    for id in draft.state.rollouts.iter().filter(gone).map(|(id, _)| *id).collect::<Vec<_>>() {
        let now = draft.now.site;
        draft.edit_rollout(id, |rollout| (rollout.listed, rollout.unlisted_at) = (false, Some(now)));
    }
}
