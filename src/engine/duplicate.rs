//! One id, two machines: an order for one would be taken by whichever comes first.

use std::net::IpAddr;

use super::draft::Draft;
use super::state::{Gateway, State};
use crate::model::{ControllerId, Texts, What};

/// Of so many reports the two outer ones are from one address.
const REPORTS: usize = 3;

/// Two addresses poll under an id in turns, or no longer. By itself that is no harm: a gateway may have two ways out.
pub(super) fn shared(draft: &mut Draft, id: &ControllerId, shared: bool) {
    draft.edit_gateway_volatile(id, |gateway| {
        gateway.shared = shared;
        gateway.sightings.clear();
    });
    if !shared {
        set(draft, id, false, "only one address is left");
    }
}

/// A report came from an address while two of them poll: machines that differ keep reporting what each of them runs.
pub(super) fn sighted(draft: &mut Draft, id: &ControllerId, from: IpAddr, attributes: &Texts) {
    let state = &*draft.state;
    let Some(gateway) = state.gateways.get(id).filter(|gateway| gateway.shared) else { return };
    let versions = versions(state, attributes);
    let mut sightings = gateway.sightings.clone();
    sightings.push((from, versions));
    if sightings.len() > REPORTS {
        sightings.remove(0);
    }
    let verdict = judge(&sightings);
    draft.edit_gateway_volatile(id, |gateway: &mut Gateway| gateway.sightings = sightings);
    match verdict {
        Some((true, detail)) => set(draft, id, true, &detail),
        Some((false, detail)) => set(draft, id, false, &detail),
        None => {}
    }
}

/// There and back again with other versions: two machines. The same versions from both: one, or two that are alike.
fn judge(sightings: &[(IpAddr, Texts)]) -> Option<(bool, String)> {
    let [(first, before), (second, between), (third, after)] = sightings else { return None };
    if first != third || first == second || before != after {
        return None;
    }
    let list = |texts: &Texts| texts.iter().map(|(key, text)| format!("{key} {text}")).collect::<Vec<_>>().join(", ");
    if before == between {
        return Some((false, format!("{first} and {second} report the same")));
    }
    Some((true, format!("{first} reports {}, {second} reports {}", list(after), list(between))))
}

/// The versions among attributes, of every artifact that matters here.
fn versions(state: &State, attributes: &Texts) -> Texts {
    let names: Vec<_> = state.rollouts.values().map(|rollout| rollout.spec.artifact.key.name.as_str()).collect();
    let keys = names.into_iter().flat_map(|name| state.settings.keys_of(name));
    keys.filter_map(|key| Some((key.to_owned(), attributes.get(key)?.to_owned()))).collect()
}

fn set(draft: &mut Draft, id: &ControllerId, duplicate: bool, detail: &str) {
    if draft.state.gateways.get(id).is_none_or(|gateway| gateway.duplicate == duplicate) {
        return;
    }
    draft.edit_gateway(id, |gateway| gateway.duplicate = duplicate);
    let over = if duplicate { "" } else { "over: " };
    draft.note_gateway(What::DuplicateIdentity, id, format!("{over}{detail}"));
}
