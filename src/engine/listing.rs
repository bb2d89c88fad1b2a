//! A complete list of what the manifests declare, held against what is known. Absence is not deletion.

use std::collections::BTreeSet;

use super::draft::Draft;
use super::state::Rollout;
use super::{declare, dispute, service};
use crate::model::{ControllerId, DeclaredBy, Intent, Listing, RolloutId};

/// Takes a complete list. What it no longer shows stays as it is, but starts nothing new.
pub(super) fn apply(draft: &mut Draft, list: Listing) {
    if !draft.state.listed {
        draft.state.listed = true;
        draft.touch_all();
    }
    draft.state.refused = list.refused;
    let intents = dispute::among(draft, list.intents);
    let named = intents.iter().filter_map(|intent| match intent {
        Intent::Gateway(spec) => Some((spec.name.as_str(), &spec.controller_id)),
        Intent::Rollout(..) | Intent::Service(..) => None,
    });
    declare::replace_dropped_namesakes(draft, &named.collect(), DeclaredBy::Manifest);
    let (mut gateways, mut rollouts, mut services) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for intent in intents {
        match intent {
            Intent::Gateway(spec) => {
                gateways.insert(spec.controller_id.clone());
                declare::known_by_id(draft, spec, DeclaredBy::Manifest);
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
    service::unlist(draft, |name, origin| origin.is_manifest() && !services.contains(name));
}

/// What came by a drop, or was let in on a person's word, was never in a list.
fn unlist(draft: &mut Draft, gateways: &BTreeSet<ControllerId>, rollouts: &BTreeSet<RolloutId>) {
    draft.unlist_gateways(|id, gateway| gateway.origin.is_manifest() && !gateways.contains(id));
    let gone = |(id, rollout): &(&RolloutId, &Rollout)| {
        rollout.listed && rollout.origin.is_manifest() && !rollouts.contains(id)
    };
    for id in draft.state.rollouts.iter().filter(gone).map(|(id, _)| *id).collect::<Vec<_>>() {
        draft.unlist_rollout(id);
    }
}
