//! What the API server says. Absence is not deletion, and another cluster's word is none at all.

use std::collections::BTreeSet;

use super::draft::Draft;
use super::state::{Gateway, Rollout, State};
use super::{apply, cancel, declare, dispute, service, shown};
use crate::model::{
    ApiFact, ApiListing, ControllerId, DeclaredBy, Identity, Intent, ObjectName, Refusal, RolloutId, Uid, Verdict, What,
};

/// No rollout is frozen before an API server that never gave a list gave one: it may have most of the gateways. One that
/// gave a list once may be gone for weeks; what it said is in the store.
pub(super) fn awaited(draft: &mut Draft, cluster: Option<Uid>) {
    if let Some(cluster) = cluster.filter(|cluster| draft.state.site.cluster.is_some_and(|known| known != *cluster)) {
        draft.edit_site(|site| site.cluster = Some(cluster));
        draft.note(What::AnotherCluster, format!("the site belongs to {cluster} from now on, by the site file"));
    }
    draft.state.api.awaited = draft.state.site.cluster.is_none();
    draft.touch_all();
}

/// Takes a complete list. What it no longer shows stays as it is, but starts nothing new.
pub(super) fn listed(draft: &mut Draft, list: ApiListing) -> Verdict {
    if let Some(known) = another(draft, list.cluster) {
        return Verdict::AnotherCluster(known);
    }
    if draft.state.site.cluster.is_none() {
        if let Some(object) = &list.adopted {
            memory_is_gone(draft, object);
        }
        draft.edit_site(|site| site.cluster = Some(list.cluster));
    }
    if draft.state.api.awaited {
        draft.state.api.awaited = false;
        draft.touch_all();
    }
    draft.state.api.refused = list.refused.into_iter().collect();
    for (uid, name) in list.deleted {
        deleted(draft, uid, &name);
    }
    let listed: BTreeSet<Uid> = list.objects.iter().map(|(uid, _)| *uid).collect();
    dispute::api_lacks(draft, &listed);
    for (uid, intent) in list.objects {
        declared(draft, uid, intent);
    }
    unlist(draft, |origin| matches!(origin, DeclaredBy::Api(uid) if !listed.contains(&uid)));
    Verdict::Accepted
}

/// A store that never read a cluster has no memory of what this site adopted there: it is on another disk now, or the one of
/// before is gone, and holds and pauses with it. What gateways run is not known before they say it.
fn memory_is_gone(draft: &mut Draft, adopted: &ObjectName) {
    apply::store_lost(draft, format!("this site adopted {adopted} before, and its store knows nothing of that"));
    let silent = |(_, gateway): &(&ControllerId, &Gateway)| gateway.attributes.is_empty();
    for id in draft.state.gateways.iter().filter(silent).map(|(id, _)| id.clone()).collect::<Vec<_>>() {
        draft.edit_gateway(&id, |gateway| gateway.unknown_version = true);
    }
}

/// Takes what happened to one object.
pub(super) fn changed(draft: &mut Draft, cluster: Uid, fact: ApiFact) -> Verdict {
    if let Some(known) = another(draft, cluster) {
        return Verdict::AnotherCluster(known);
    }
    match fact {
        ApiFact::Declared(uid, intent) => declared(draft, uid, intent),
        ApiFact::Refused(name, refusal) => refused(draft, name, refusal),
        ApiFact::Deleted(uid, name) => deleted(draft, uid, &name),
        ApiFact::Gone(name) => gone(draft, &name),
    }
    Verdict::Accepted
}

/// The cluster that the site belongs to, if it is another one.
fn another(draft: &mut Draft, cluster: Uid) -> Option<Uid> {
    let known = draft.state.site.cluster.filter(|known| *known != cluster);
    let other = known.map(|_| cluster);
    if draft.state.api.other_cluster != other {
        draft.state.api.other_cluster = other;
        draft.note(
            What::AnotherCluster,
            match known {
                Some(known) => {
                    format!("{cluster} answers, and this site belongs to {known}: what it says does not count")
                }
                None => format!("{cluster} answers again, to which this site belongs"),
            },
        );
    }
    known
}

/// An object whose manifest says something too counts for nobody, until one of the two is gone.
fn declared(draft: &mut Draft, uid: Uid, intent: Intent) {
    let name = intent.object();
    draft.state.api.refused.remove(&name);
    let Some((intent, object)) = shown::meant(draft, intent) else { return };
    if dispute::begins_by_api(draft, uid, &intent) {
        return;
    }
    match intent {
        Intent::Gateway(spec) => {
            if let Some(other) = holder(draft, &spec.controller_id, &spec.name) {
                let what = name.to_string();
                let why = format!("the controller id {} is used by EdgeGateway/{other} already", spec.controller_id);
                return refused(draft, name, Refusal { what, why });
            }
            leave_former_id(draft, &spec.name, &spec.controller_id);
            declare::gateway(draft, spec, DeclaredBy::Api(uid));
        }
        Intent::Rollout(identity, spec) => {
            declare::shown_rollout(draft, (identity, object), *spec, DeclaredBy::Api(uid));
        }
        Intent::Service(service, spec) => {
            if let Some(other) = service::restarter(draft.state, &spec.unit, &service) {
                let what = name.to_string();
                let why = format!("the unit {} is restarted by EdgeService/{other} already", spec.unit);
                return refused(draft, name, Refusal { what, why });
            }
            service::declare(draft, service, *spec, DeclaredBy::Api(uid));
        }
    }
}

/// Another object of the API that has a controller id already.
fn holder(draft: &Draft, id: &ControllerId, name: &str) -> Option<String> {
    let known = draft.state.gateways.get(id)?;
    let holds = known.listed && known.origin.is_api() && known.spec.name != name;
    holds.then(|| known.spec.name.clone())
}

/// The same object with another controller id is another machine in the place of the one that it named before.
fn leave_former_id(draft: &mut Draft, name: &str, id: &ControllerId) {
    draft.unlist_gateways(|other, gateway| gateway.origin.is_api() && gateway.spec.name == name && other != id);
}

/// It stays as it was, but nothing new starts for it.
fn refused(draft: &mut Draft, name: ObjectName, refusal: Refusal) {
    gone(draft, &name);
    draft.state.api.refused.insert(name, refusal);
}

fn gone(draft: &mut Draft, name: &ObjectName) {
    draft.state.api.refused.remove(name);
    match name {
        ObjectName::Rollout(object) => {
            let id = current(draft.state, object);
            let identity = id.and_then(|id| draft.state.rollouts.get(&id)).map_or(object, |rollout| &rollout.identity);
            dispute::api_withdraws(draft, &ObjectName::Rollout(identity.clone()));
            // a drop is no list: only a deletion, or an object that was there, takes it back
            if let Some(id) = id.filter(|id| draft.state.rollouts.get(id).is_some_and(|known| known.origin.is_api())) {
                draft.unlist_rollout(id);
            }
        }
        ObjectName::Gateway(gateway) => {
            dispute::api_withdraws(draft, name);
            draft.unlist_gateways(|_, known| known.origin.is_api() && known.spec.name == *gateway);
        }
        ObjectName::Service(service) => {
            dispute::api_withdraws(draft, name);
            service::unlist(draft, |other, origin| origin.is_api() && other == service);
        }
    }
}

/// A deletion withdraws: what is only offered goes back, what has not got the whole artifact is told to drop it. Whoever
/// installs finishes. One dead gateway keeps nobody: the rollout is forgotten when it can be, and its object is free at once.
fn deleted(draft: &mut Draft, uid: Uid, name: &ObjectName) {
    let rollout = match name {
        ObjectName::Rollout(object) => current(draft.state, object),
        ObjectName::Gateway(_) | ObjectName::Service(_) => None,
    };
    gone(draft, name);
    let Some(id) = rollout else { return };
    let known = draft.state.rollouts.get(&id).filter(|rollout| !rollout.deleted);
    let Some(identity) = known.map(|rollout| rollout.identity.clone()) else { return };
    draft.edit_rollout(id, |rollout| rollout.deleted = true);
    cancel::call_off(draft, &identity, What::RolloutDeleted, &format!("in the API, {uid}"));
}

/// The rollout that an object of the API declared last, or is to show.
fn current(state: &State, object: &Identity) -> Option<RolloutId> {
    let is_it = |rollout: &Rollout| {
        !rollout.replaced && rollout.object.is_none() && rollout.identity == *object && rollout.origin.is_api()
    };
    let by_its_name = || state.rollouts.iter().find(|(_, rollout)| is_it(rollout)).map(|(id, _)| *id);
    shown::find(state, object).or_else(by_its_name)
}

fn unlist(draft: &mut Draft, is_gone: impl Fn(DeclaredBy) -> bool) {
    draft.unlist_gateways(|_, gateway| is_gone(gateway.origin));
    service::unlist(draft, |_, origin| is_gone(*origin));
    let gone = |(_, rollout): &(&RolloutId, &Rollout)| rollout.listed && is_gone(rollout.origin);
    for id in draft.state.rollouts.iter().filter(gone).map(|(id, _)| *id).collect::<Vec<_>>() {
        draft.unlist_rollout(id);
    }
}
