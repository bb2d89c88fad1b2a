//! Digest conflict: one name and version is one file for each hardware, once a gateway had a byte of it. What a gateway
//! reports would not say any more which file it runs.

use std::collections::BTreeSet;

use super::draft::Draft;
use super::state::{Rollout, State};
use crate::model::{Digest, RolloutId};

/// Finds out whether gateways had bytes of another file under a rollout's name and version. Of two that were both served,
/// which only an older release could do, the newer one is in conflict.
pub(super) fn look(draft: &mut Draft, id: RolloutId) {
    let Some(rollout) = draft.state.rollouts.get(&id) else { return };
    let others = others(draft.state, rollout);
    let conflict = !others.is_empty() && {
        let served: BTreeSet<_> = draft
            .state
            .gateways
            .values()
            .flat_map(|gateway| gateway.served.iter().map(|served| served.digest))
            .collect();
        let own_served = rollout.spec.files().any(|file| served.contains(&file.key.digest));
        others.iter().any(|(digest, earlier)| served.contains(digest) && (*earlier || !own_served))
    };
    if let Some(rollout) = draft.state.rollouts.get_mut(&id).filter(|rollout| rollout.conflict != conflict) {
        rollout.conflict = conflict;
        draft.see_members(id);
    }
}

/// Other files of the same name and version, and whether they came before the rollout's.
fn others(state: &State, rollout: &Rollout) -> Vec<(Digest, bool)> {
    let key = &rollout.spec.artifact.key;
    let is_own = |digest: &Digest| rollout.spec.files().any(|file| file.key.digest == *digest);
    let namesakes = state.rollouts.values().filter(|other| {
        let theirs = &other.spec.artifact.key;
        other.arrival != rollout.arrival && theirs.version == key.version && theirs.name == key.name
    });
    let mut found = Vec::new();
    for other in namesakes {
        let files = other.spec.files().map(|file| file.key.digest).filter(|digest| !is_own(digest));
        found.extend(files.map(|digest| (digest, other.arrival < rollout.arrival)));
    }
    // of rollouts that are gone
    let is_named = |names: &[(String, crate::model::Version)]| {
        names.iter().any(|(name, version)| *version == key.version && *name == key.name)
    };
    let gone = state.artifacts.iter().filter(|(digest, artifact)| is_named(&artifact.names) && !is_own(digest));
    found.extend(gone.map(|(digest, _)| (*digest, true)));
    found
}

/// The first byte of a file leaves for a gateway: from now on it is what its name and version mean.
pub(super) fn first_byte(draft: &mut Draft, digest: &Digest) {
    let brings = |rollout: &&Rollout| rollout.spec.files().any(|file| file.key.digest == *digest);
    let keys: Vec<_> =
        draft.state.rollouts.values().filter(brings).map(|rollout| rollout.spec.artifact.key.clone()).collect();
    let concerned = draft.state.rollouts.iter().filter(|(_, rollout)| {
        let theirs = &rollout.spec.artifact.key;
        keys.iter().any(|key| theirs.version == key.version && theirs.name == key.name)
    });
    for id in concerned.map(|(id, _)| *id).collect::<Vec<_>>() {
        draft.touch(id);
    }
}
