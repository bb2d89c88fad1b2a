//! A complete list of what is declared, held against what is known. Absence is not deletion.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::draft::Draft;
use super::state::{Gateway, Rollout};
use crate::model::{
    ControllerId, GatewaySpec, Identity, Intent, Listing, Newcomer, RolloutId, RolloutSpec, Verdict, What,
};

/// A site that accepts whoever comes must not fill its disk with them.
const MOST_REGISTERED: usize = 1_024;

/// Takes a complete list. What it no longer shows stays as it is, but starts nothing new.
pub(super) fn apply(draft: &mut Draft, list: Listing) {
    if !draft.state.listed {
        draft.state.listed = true;
        draft.touch_all();
    }
    draft.state.refused = list.refused;
    let (mut gateways, mut rollouts) = (BTreeSet::new(), BTreeSet::new());
    for intent in list.intents {
        match intent {
            Intent::Gateway(spec) => {
                gateways.insert(spec.controller_id.clone());
                gateway(draft, spec);
            }
            Intent::Rollout(identity, spec) => {
                rollouts.insert(rollout(draft, identity, *spec));
            }
        }
    }
    unlist(draft, &gateways, &rollouts);
}

fn gateway(draft: &mut Draft, spec: GatewaySpec) {
    let id = spec.controller_id.clone();
    if !draft.state.gateways.contains_key(&id) {
        // after a loss nobody can tell what a gateway runs until it says so
        let unknown_version = draft.state.site.lost;
        return draft.add_gateway(Gateway::new(spec, unknown_version));
    }
    draft.touch_gateway(&id);
    draft.edit_gateway(&id, |gateway| {
        gateway.spec = spec;
        gateway.listed = true;
        gateway.registered = false;
    });
}

/// Accepts a gateway that nobody declared. One that is there already is left as it is.
pub(super) fn register(draft: &mut Draft, newcomer: Newcomer, by: Option<String>) -> Verdict {
    let Newcomer { controller_id: id, token, labels, from } = newcomer;
    if draft.state.gateways.contains_key(&id) {
        return Verdict::AlreadyClosed;
    }
    if draft.state.gateways.values().filter(|gateway| gateway.registered).count() >= MOST_REGISTERED {
        return Verdict::OverQuota;
    }
    let spec = GatewaySpec { name: id.to_string(), controller_id: id.clone(), labels, token: Some(token), hold: false };
    let unknown_version = draft.state.site.lost;
    draft.add_gateway(Gateway { registered: true, ..Gateway::new(spec, unknown_version) });
    let by = by.unwrap_or_else(|| "the site file".into());
    draft.note_gateway(What::Ordered, &id, format!("accept, by {by}, with the token it showed first, from {from}"));
    Verdict::Accepted
}

/// An edit of the artifact is a new rollout under the same identity; everything else changes the one that is there.
fn rollout(draft: &mut Draft, identity: Identity, spec: RolloutSpec) -> RolloutId {
    let current = draft.state.rollouts.iter().find(|(_, rollout)| !rollout.replaced && rollout.identity == identity);
    if let Some((id, current)) = current {
        let id = *id;
        if current.spec.artifact.key == spec.artifact.key {
            if *current.spec != spec || !current.listed {
                draft.edit_rollout(id, |rollout| {
                    rollout.spec = Rc::new(spec);
                    rollout.listed = true;
                });
            }
            return id;
        }
        draft.edit_rollout(id, |rollout| rollout.replaced = true);
        draft.note_rollout(What::RolloutSuperseded, id, format!("its artifact is now {}", spec.artifact.key));
    }
    let id = draft.state.site.rollout_next;
    let arrival = draft.state.site.arrivals + 1;
    draft.edit_site(|site| {
        site.rollout_next = RolloutId(id.0 + 1);
        site.arrivals = arrival;
    });
    let rollout = Rollout {
        identity,
        arrival,
        spec: Rc::new(spec),
        listed: true,
        replaced: false,
        frozen: None,
        tripped: None,
        ready_at: None,
        members: Default::default(),
        queue: Vec::new(),
        next_due: None,
    };
    draft.add_rollout(id, rollout);
    draft.note_rollout(What::RolloutAccepted, id, "");
    id
}

fn unlist(draft: &mut Draft, gateways: &BTreeSet<ControllerId>, rollouts: &BTreeSet<RolloutId>) {
    let gone = |(id, gateway): &(&ControllerId, &Gateway)| !gateway.registered && !gateways.contains(*id);
    for id in draft.state.gateways.iter().filter(gone).map(|(id, _)| id.clone()).collect::<Vec<_>>() {
        draft.edit_gateway(&id, |gateway| gateway.listed = false);
    }
    let gone = |(id, rollout): &(&RolloutId, &Rollout)| rollout.listed && !rollouts.contains(id);
    for id in draft.state.rollouts.iter().filter(gone).map(|(id, _)| *id).collect::<Vec<_>>() {
        draft.edit_rollout(id, |rollout| rollout.listed = false);
    }
}
