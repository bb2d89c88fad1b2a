//! Rollouts that came by a drop, and the objects by which the API shows them. Each is shown once: what is edited there is an
//! edit, what is deleted there is called off, and what somebody took away is not put there again.

use super::declare;
use super::draft::Draft;
use super::state::{Rollout, State};
use crate::model::{
    ArtifactSpec, DeclaredBy, Digest, Identity, Intent, ObjectName, Refusal, RolloutId, RolloutSpec, Source,
    is_object_of_drop, object_of_drop,
};

/// A drop declares a rollout. The API may show it already, of a store before this one.
pub(super) fn dropped(draft: &mut Draft, identity: Identity, spec: RolloutSpec, manifest: Option<&Digest>) {
    let object = manifest.map(|manifest| object_of_drop(&draft.state.settings.site, &identity, manifest));
    let current = |rollout: &&Rollout| !rollout.replaced;
    let shown = |rollout: &Rollout| rollout.origin.is_api() && Some(&rollout.identity) == object.as_ref();
    if draft.state.rollouts.values().filter(current).any(shown) {
        return;
    }
    declare::shown_rollout(draft, (identity, object), spec, DeclaredBy::Drop);
}

/// Something else declares a rollout from now on: what it was shown by before, if there is a cluster, shows nothing any more.
pub(super) fn replaced(draft: &mut Draft, identity: &Identity, object: Option<&Identity>) {
    if draft.state.site.cluster.is_none() {
        return;
    }
    let current = |rollout: &&Rollout| !rollout.replaced && rollout.identity == *identity;
    let before = draft.state.rollouts.values().find(current).and_then(|rollout| rollout.object.clone());
    if let Some(before) = before.filter(|before| Some(before) != object) {
        refuse(draft, ObjectName::Rollout(before));
    }
}

/// What an object of the API means here, and its name if the rollout has another one; none if it is left over.
pub(super) fn meant(draft: &mut Draft, intent: Intent) -> Option<(Intent, Option<Identity>)> {
    let Intent::Rollout(name, mut spec) = intent else { return Some((intent, None)) };
    if let Some(rollout) = find(draft.state, &name).and_then(|id| draft.state.rollouts.get(&id)) {
        keep_files(&rollout.spec, &mut spec);
        return Some((Intent::Rollout(rollout.identity.clone(), spec), Some(name)));
    }
    if is_left_over(draft.state, &name) {
        refuse(draft, ObjectName::Rollout(name));
        return None;
    }
    Some((Intent::Rollout(name, spec), None))
}

/// The rollout that an object of this name shows.
pub(super) fn find(state: &State, name: &Identity) -> Option<RolloutId> {
    let shown = |rollout: &Rollout| !rollout.replaced && rollout.object.as_ref() == Some(name);
    state.rollouts.iter().find(|(_, rollout)| shown(rollout)).map(|(id, _)| *id)
}

/// It showed a drop that this site took, and shows nothing any more.
fn is_left_over(state: &State, name: &Identity) -> bool {
    let current = |rollout: &Rollout| !rollout.replaced && rollout.identity == *name;
    let known = || state.drops.keys().any(|manifest| is_object_of_drop(name, &state.settings.site, manifest));
    !state.rollouts.values().any(current) && known()
}

fn refuse(draft: &mut Draft, name: ObjectName) {
    let what = name.to_string();
    let why = "it showed a rollout of a drop, and something newer declares that now; delete this object".into();
    draft.tell(name.clone());
    draft.state.api.refused.insert(name, Refusal { what, why });
}

/// Files that lay beside the drop are not looked for in the manifest directory: the object only cannot say where they lay.
fn keep_files(known: &RolloutSpec, spec: &mut RolloutSpec) {
    let lay: Vec<Source> = known.files().flat_map(|file| &file.sources).cloned().collect();
    let keep = |file: &mut ArtifactSpec| {
        for source in &mut file.sources {
            let same = |lay: &&Source| !lay.is_remote() && !source.is_remote() && lay.file_name() == source.file_name();
            if let Some(lay) = lay.iter().find(same) {
                *source = lay.clone();
            }
        }
    };
    keep(&mut spec.artifact);
    spec.variants.iter_mut().flat_map(|variants| &mut variants.others).for_each(|other| keep(&mut other.artifact));
}

/// Rollouts of drops that the API does not show yet.
pub fn unshown(state: &State) -> impl Iterator<Item = &Rollout> {
    let is_it = |rollout: &&Rollout| {
        rollout.origin == DeclaredBy::Drop
            && rollout.object.is_some()
            && rollout.listed
            && !rollout.replaced
            && !rollout.deleted
    };
    state.rollouts.values().filter(is_it)
}
