//! A drop: all of it is accepted, or nothing.

use super::draft::Draft;
use super::state::{Gateway, Rollout, Service, State};
use super::{declare, service, shown};
use crate::model::{
    Against, ArtifactSpec, Contradiction, DeclaredBy, Digest, Dropped, GatewaySpec, Identity, Intent, RolloutSpec,
    ServiceName, ServiceSpec, Source, Verdict, What,
};

/// So many accepted drops are remembered, so that their files may stay where they are.
pub const MOST_DROPS: usize = 4_096;
/// So many of a drop's objects are named in the journal.
const MOST_NAMED: usize = 8;

/// Decides about a drop. What was accepted once changes nothing when it is seen again: its objects may have been edited
/// since, and an old stick must not take that back.
pub(super) fn apply(draft: &mut Draft, drop: Dropped) -> Verdict {
    if drop.digest.is_some_and(|digest| draft.state.drops.contains_key(&digest)) {
        return Verdict::Accepted;
    }
    let file = described(&drop.file, drop.digest.as_ref());
    let intents = match drop.content {
        Ok(intents) => intents,
        Err(why) => {
            draft.note(What::DropRejected, format!("{file}: {why}"));
            return Verdict::Accepted;
        }
    };
    if !draft.state.listed {
        return Verdict::NotYet;
    }
    if let Some((name, contradiction)) = contradiction(draft.state, &intents) {
        draft.note(What::DropRejected, format!("{file}: {name} {}", contradiction.why));
        return Verdict::Contradicts(contradiction);
    }
    if !intents.iter().all(|intent| is_here(draft.state, intent)) {
        return Verdict::NotYet;
    }
    draft.note(What::DropAccepted, format!("{file}: {}", names(&intents)));
    for intent in intents {
        match intent {
            Intent::Gateway(spec) => declare::gateway(draft, spec, DeclaredBy::Drop),
            Intent::Rollout(identity, spec) => shown::dropped(draft, identity, *spec, drop.digest.as_ref()),
            Intent::Service(name, spec) => service::declare(draft, name, *spec, DeclaredBy::Drop),
        }
    }
    if let Some(digest) = drop.digest {
        draft.remember_drop(digest, MOST_DROPS);
    }
    Verdict::Accepted
}

fn described(file: &str, digest: Option<&Digest>) -> String {
    match digest {
        Some(digest) => format!("{file} ({digest})"),
        None => file.to_owned(),
    }
}

/// A stick may be gone the next moment, so what it carries is in the cache first. What comes over the network is not.
fn is_here(state: &State, intent: &Intent) -> bool {
    match intent {
        Intent::Gateway(_) | Intent::Service(..) => true,
        Intent::Rollout(_, spec) => {
            let here = |file: &ArtifactSpec| state.is_verified(&file.key.digest);
            spec.files().all(|file| file.sources.iter().all(Source::is_remote) || here(file))
        }
    }
}

/// The first object that cannot stand beside what is declared already.
fn contradiction(state: &State, intents: &[Intent]) -> Option<(String, Contradiction)> {
    let mut objects = 0_u32..;
    intents.iter().find_map(|intent| {
        let object = objects.next()?;
        let why = match intent {
            Intent::Gateway(spec) => against_gateway(state, spec),
            Intent::Rollout(identity, spec) => against_rollout(state, identity, spec),
            Intent::Service(name, spec) => against_service(state, name, spec),
        }?;
        Some((intent.name(), Contradiction { object, why }))
    })
}

fn against_gateway(state: &State, spec: &GatewaySpec) -> Option<Against> {
    let declared = |gateway: &&Gateway| gateway.listed && gateway.origin.is_standing();
    if state.gateways.values().filter(declared).any(|gateway| gateway.spec.name == spec.name) {
        return Some(Against::Declared);
    }
    state.gateways.get(&spec.controller_id).filter(declared).map(|_| Against::ControllerId)
}

fn against_service(state: &State, name: &ServiceName, spec: &ServiceSpec) -> Option<Against> {
    let declared = |service: &Service| service.listed && service.origin.is_manifest();
    if state.services.get(name).is_some_and(declared) {
        return Some(Against::Declared);
    }
    let same_unit =
        |(other, service): (&ServiceName, &Service)| service.listed && other != name && service.spec.unit == spec.unit;
    state.services.iter().any(same_unit).then_some(Against::Unit)
}

fn against_rollout(state: &State, identity: &Identity, spec: &RolloutSpec) -> Option<Against> {
    let current = |rollout: &&Rollout| !rollout.replaced;
    let namesake = state.rollouts.values().filter(current).find(|rollout| rollout.identity == *identity);
    let standing = |rollout: &Rollout| rollout.listed && rollout.origin.is_standing() && rollout.object.is_none();
    if namesake.is_some_and(standing) {
        return Some(Against::Declared);
    }
    let other_size = |rollout: &Rollout| {
        let differs = |(ours, theirs): (&ArtifactSpec, &ArtifactSpec)| {
            ours.key.digest == theirs.key.digest && ours.size != theirs.size
        };
        let differs = |ours| rollout.spec.files().any(|theirs| differs((ours, theirs)));
        rollout.identity != *identity && spec.files().any(differs)
    };
    state.rollouts.values().filter(current).any(other_size).then_some(Against::Size)
}

fn names(intents: &[Intent]) -> String {
    let mut names: Vec<String> = intents.iter().take(MOST_NAMED).map(Intent::name).collect();
    if intents.len() > MOST_NAMED {
        names.push(format!("and {} more", intents.len() - MOST_NAMED));
    }
    names.join(", ")
}
