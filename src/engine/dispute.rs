//! What a manifest and the API both declare. Nobody can say which one is meant, so neither counts until one of them is gone.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::draft::Draft;
use super::state::State;
use super::{declare, service};
use crate::model::{
    ControllerId, DeclaredBy, Dispute, Intent, ObjectName, RolloutId, RolloutSpec, ServiceName, ServiceSpec, Uid,
};

/// An object of the API comes: does it begin a dispute, or go on with one?
pub(super) fn begins_by_api(draft: &mut Draft, uid: Uid, intent: &Intent) -> bool {
    let mut manifests = take(draft, |dispute| dispute.api.1.object() == intent.object());
    manifests.extend(suspend(draft, intent, DeclaredBy::is_manifest));
    let mut begins = false;
    for dispute in manifests {
        if dispute.clashes(intent) {
            begins = true;
            draft.state.api.disputes.push(Dispute { manifest: dispute, api: (uid, intent.clone()) });
        } else {
            declare_manifest(draft, dispute);
        }
    }
    begins
}

/// A complete list of manifests comes: those that clash with an object of the API are taken out of it, and objects that
/// nothing clashes with any more are declared.
pub(super) fn among(draft: &mut Draft, manifests: Vec<Intent>) -> Vec<Intent> {
    // nearly always; else each manifest is held against all objects
    if draft.state.api.disputes.is_empty() && !has_objects(draft.state) {
        return manifests;
    }
    let mut objects: Vec<(Uid, Intent)> =
        std::mem::take(&mut draft.state.api.disputes).into_iter().map(|dispute| dispute.api).collect();
    let mut free = Vec::with_capacity(manifests.len());
    for manifest in manifests {
        objects.extend(suspend_objects(draft, &manifest));
        match objects.iter().find(|(_, object)| object.clashes(&manifest)) {
            Some(api) => draft.state.api.disputes.push(Dispute { manifest, api: api.clone() }),
            None => free.push(manifest),
        }
    }
    let disputed: BTreeSet<Uid> = draft.state.api.disputes.iter().map(|dispute| dispute.api.0).collect();
    for (uid, object) in objects.into_iter().filter(|(uid, _)| !disputed.contains(uid)) {
        declare_object(draft, uid, object);
    }
    free
}

/// A complete list of the API came; what it does not show disputes nothing any more.
pub(super) fn api_lacks(draft: &mut Draft, listed: &BTreeSet<Uid>) {
    for manifest in take(draft, |dispute| !listed.contains(&dispute.api.0)) {
        declare_manifest(draft, manifest);
    }
}

/// An object of the API goes.
pub(super) fn api_withdraws(draft: &mut Draft, name: &ObjectName) {
    for manifest in take(draft, |dispute| dispute.api.1.object() == *name) {
        declare_manifest(draft, manifest);
    }
}

/// Ends disputes; the manifests in them.
fn take(draft: &mut Draft, ends: impl Fn(&Dispute) -> bool) -> Vec<Intent> {
    let (ended, left) = std::mem::take(&mut draft.state.api.disputes).into_iter().partition(ends);
    draft.state.api.disputes = left;
    let ended: Vec<Dispute> = ended;
    ended.into_iter().map(|dispute| dispute.manifest).collect()
}

fn declare_manifest(draft: &mut Draft, intent: Intent) {
    match intent {
        Intent::Gateway(spec) => declare::gateway(draft, spec, DeclaredBy::Manifest),
        Intent::Rollout(identity, spec) => _ = declare::rollout(draft, identity, *spec, DeclaredBy::Manifest),
        Intent::Service(name, spec) => service::declare(draft, name, *spec, DeclaredBy::Manifest),
    }
}

fn declare_object(draft: &mut Draft, uid: Uid, intent: Intent) {
    match intent {
        Intent::Gateway(spec) => declare::gateway(draft, spec, DeclaredBy::Api(uid)),
        Intent::Rollout(identity, spec) => _ = declare::rollout(draft, identity, *spec, DeclaredBy::Api(uid)),
        Intent::Service(name, spec) => service::declare(draft, name, *spec, DeclaredBy::Api(uid)),
    }
}

/// Does the API declare anything?
fn has_objects(state: &State) -> bool {
    let gateways = state.gateways.values().map(|gateway| &gateway.origin);
    let rollouts = state.rollouts.values().map(|rollout| &rollout.origin);
    let mut origins = gateways.chain(rollouts).chain(state.services.values().map(|service| &service.origin));
    origins.any(DeclaredBy::is_api)
}

/// Unlists the objects of the API that an intent clashes with; what they say.
fn suspend_objects(draft: &mut Draft, intent: &Intent) -> Vec<(Uid, Intent)> {
    let mut found = Vec::new();
    for (origin, object) in suspended(draft, intent, DeclaredBy::is_api) {
        if let DeclaredBy::Api(uid) = origin {
            found.push((uid, object));
        }
    }
    found
}

/// Unlists what an intent clashes with and has such an origin; what it says.
fn suspend(draft: &mut Draft, intent: &Intent, of: impl Fn(&DeclaredBy) -> bool) -> Vec<Intent> {
    suspended(draft, intent, of).into_iter().map(|(_, intent)| intent).collect()
}

fn suspended(draft: &mut Draft, intent: &Intent, of: impl Fn(&DeclaredBy) -> bool) -> Vec<(DeclaredBy, Intent)> {
    match intent {
        Intent::Gateway(spec) => {
            let gateways = draft.state.gateways.iter().filter(|(id, gateway)| {
                let clashes = gateway.spec.name == spec.name || **id == spec.controller_id;
                gateway.listed && of(&gateway.origin) && clashes
            });
            let found: Vec<_> =
                gateways.map(|(id, gateway)| (id.clone(), gateway.origin, gateway.spec.clone())).collect();
            let unlist = |(id, origin, spec): (ControllerId, DeclaredBy, _)| {
                draft.edit_gateway(&id, |gateway| gateway.listed = false);
                (origin, Intent::Gateway(spec))
            };
            found.into_iter().map(unlist).collect()
        }
        Intent::Rollout(identity, _) => {
            let rollouts = draft.state.rollouts.iter().filter(|(_, rollout)| {
                rollout.listed && !rollout.replaced && of(&rollout.origin) && rollout.identity == *identity
            });
            let found: Vec<(RolloutId, DeclaredBy, RolloutSpec)> =
                rollouts.map(|(id, rollout)| (*id, rollout.origin, (*rollout.spec).clone())).collect();
            let unlist = |(id, origin, spec): (RolloutId, DeclaredBy, RolloutSpec)| {
                draft.unlist_rollout(id);
                (origin, Intent::Rollout(identity.clone(), spec.into()))
            };
            found.into_iter().map(unlist).collect()
        }
        Intent::Service(name, spec) => {
            let services = draft.state.services.iter().filter(|(other, service)| {
                let clashes = *other == name || service.spec.unit == spec.unit;
                service.listed && of(&service.origin) && clashes
            });
            let found: Vec<_> =
                services.map(|(name, service)| (name.clone(), service.origin, service.spec.clone())).collect();
            let unlist = |(name, origin, spec): (ServiceName, DeclaredBy, Rc<ServiceSpec>)| {
                draft.edit_service(&name, |service| service.listed = false);
                (origin, Intent::Service(name, Box::new((*spec).clone())))
            };
            found.into_iter().map(unlist).collect()
        }
    }
}
