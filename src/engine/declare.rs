//! One declared object, new or edited, whether a manifest, a drop or the API says it.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::draft::Draft;
use super::state::{Gateway, Rollout};
use super::{cancel, deal, members, retry, shown};
use crate::model::{ControllerId, DeclaredBy, GatewaySpec, Identity, Newcomer, RolloutId, RolloutSpec, Verdict, What};

/// A site that accepts whoever comes must not fill its disk with them.
const MOST_ACCEPTED: usize = 1_024;

/// A gateway is who it is by its controller id, and called by its name: the same name with another id is another machine
/// in its place.
pub(super) fn gateway(draft: &mut Draft, spec: GatewaySpec, origin: DeclaredBy) {
    replace_dropped_namesakes(draft, &[(spec.name.as_str(), &spec.controller_id)].into(), origin);
    known_by_id(draft, spec, origin);
}

/// The same, once [`replace_dropped_namesakes`] was called for it.
pub(super) fn known_by_id(draft: &mut Draft, spec: GatewaySpec, origin: DeclaredBy) {
    let id = spec.controller_id.clone();
    let Some(known) = draft.state.gateways.get(&id) else {
        // after a loss nobody can tell what a gateway runs until it says so
        let unknown_version = draft.state.site.lost;
        return draft.add_gateway(Gateway::new(spec, origin, unknown_version));
    };
    if is_taken_over(known.origin, known.listed, origin) {
        draft.note_gateway(What::TakenOver, &id, &spec.name);
    }
    draft.touch_gateway(&id);
    draft.edit_gateway(&id, |gateway| {
        (gateway.spec, gateway.origin, gateway.listed) = (spec, origin, true);
    });
}

/// Accepts a gateway that nobody declared. One that is there already is left as it is.
pub(super) fn newcomer(draft: &mut Draft, newcomer: Newcomer, by: Option<String>) -> Verdict {
    let Newcomer { controller_id: id, token, labels, from } = newcomer;
    if draft.state.gateways.contains_key(&id) {
        return Verdict::AlreadyClosed;
    }
    let accepted = |gateway: &&Gateway| gateway.origin == DeclaredBy::Accepted;
    if draft.state.gateways.values().filter(accepted).count() >= MOST_ACCEPTED {
        return Verdict::OverQuota;
    }
    let spec = GatewaySpec { name: id.to_string(), controller_id: id.clone(), labels, token, hold: false };
    let unknown_version = draft.state.site.lost;
    draft.add_gateway(Gateway::new(spec, DeclaredBy::Accepted, unknown_version));
    let by = by.unwrap_or_else(|| "the site file".into());
    let with = if token.is_some() { "the token it showed first" } else { "the site's own token" };
    draft.note_gateway(What::Ordered, &id, format!("accept, by {by}, with {with}, from {from}"));
    Verdict::Accepted
}

/// What is no longer in a manifest or in the API is unlisted by itself; drops have nothing that would say so. Takes all names
/// at once: a walk over all gateways for each would take a minute for fifty thousand.
pub(super) fn replace_dropped_namesakes(draft: &mut Draft, named: &BTreeMap<&str, &ControllerId>, origin: DeclaredBy) {
    let replaced = |(id, gateway): (&ControllerId, &Gateway)| {
        let dropped = gateway.listed && gateway.origin == DeclaredBy::Drop;
        let (name, newer) =
            named.get_key_value(gateway.spec.name.as_str()).filter(|(_, newer)| dropped && **newer != id)?;
        Some((id.clone(), format!("{name} is {newer} now")))
    };
    for (id, detail) in draft.state.gateways.iter().filter_map(replaced).collect::<Vec<_>>() {
        draft.edit_gateway(&id, |gateway| gateway.listed = false);
        if origin.is_standing() {
            draft.note_gateway(What::TakenOver, &id, detail);
        }
    }
}

fn is_taken_over(before: DeclaredBy, listed: bool, now: DeclaredBy) -> bool {
    listed && !before.is_standing() && now.is_standing()
}

/// A rollout as it is declared now. One that the API shows by an object of another name goes on to be shown by that.
pub(super) fn rollout(draft: &mut Draft, identity: Identity, spec: RolloutSpec, origin: DeclaredBy) -> RolloutId {
    let same = |known: &&Rollout| !known.replaced && known.identity == identity && known.origin == origin;
    let shown = draft.state.rollouts.values().find(same).filter(|_| origin.is_api());
    let object = shown.and_then(|known| known.object.clone());
    shown_rollout(draft, (identity, object), spec, origin)
}

/// The same, with what its object in the API is called, if that is another name than its own.
pub(super) fn shown_rollout(
    draft: &mut Draft,
    (identity, object): (Identity, Option<Identity>),
    spec: RolloutSpec,
    origin: DeclaredBy,
) -> RolloutId {
    shown::replaced(draft, &identity, object.as_ref());
    let cancelled = spec.cancelled.then(|| identity.clone());
    let id = revision(draft, identity, spec, (origin, object));
    if let Some(identity) = cancelled {
        cancel::call_off(draft, &identity, What::RolloutCancelled, "by its spec");
    }
    id
}

/// An edit of the artifact is a new rollout under the same identity; everything else changes the one that is there.
fn revision(
    draft: &mut Draft,
    identity: Identity,
    spec: RolloutSpec,
    (origin, object): (DeclaredBy, Option<Identity>),
) -> RolloutId {
    let current = draft.state.rollouts.iter().find(|(_, rollout)| !rollout.replaced && rollout.identity == identity);
    if let Some((id, deleted)) = current.map(|(id, rollout)| (*id, rollout.deleted))
        && deleted
    {
        // what is declared again after its deletion is another intent, whatever it says
        draft.edit_rollout(id, |rollout| rollout.replaced = true);
    } else if let Some((id, current)) = current {
        let id = *id;
        let same_artifact = current.spec.is_same_artifact(&spec);
        let (waves, selector) =
            (current.spec.strategy.waves != spec.strategy.waves, current.spec.selector != spec.selector);
        let declared = (current.origin, &current.object) == (origin, &object);
        let changed = *current.spec != spec || !current.listed || !declared;
        if object.is_none() && is_taken_over(current.origin, current.listed, origin) {
            draft.note_rollout(What::TakenOver, id, "");
        }
        if same_artifact {
            if changed {
                draft.edit_rollout(id, |rollout| {
                    (rollout.spec, rollout.origin, rollout.listed) = (Rc::new(spec), origin, true);
                    rollout.object = object;
                    // its windows may be others
                    rollout.windows_said = None;
                    rollout.unlisted_at = None;
                });
                retry::by_token(draft, id);
                if waves {
                    deal::edited(draft, id);
                }
                if selector {
                    members::edited(draft, id);
                }
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
        retried: spec.retry_token.clone(),
        spec: Rc::new(spec),
        origin,
        object,
        listed: true,
        unlisted_at: None,
        replaced: false,
        frozen: None,
        tripped: None,
        cancelled: false,
        deleted: false,
        approved: Default::default(),
        began: None,
        ready_at: None,
        ended: None,
        backs: Vec::new(),
        rolled_back_at: None,
        rollback_stalled: false,
        conflict: false,
        members: Default::default(),
        next_due: None,
        windows_said: None,
    };
    draft.add_rollout(id, rollout);
    draft.note_rollout(What::RolloutAccepted, id, "");
    id
}
