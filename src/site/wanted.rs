//! Which artifacts should be in the cache, whoever wants them.

use std::collections::BTreeMap;

use tokio::sync::watch;

use crate::model::{ArtifactSpec, Digest};

/// One entry per digest, however many want it, with the sources of them all.
pub(super) fn united(specs: impl IntoIterator<Item = ArtifactSpec>) -> Vec<ArtifactSpec> {
    let mut by_digest: BTreeMap<Digest, ArtifactSpec> = BTreeMap::new();
    for spec in specs {
        match by_digest.get_mut(&spec.key.digest) {
            None => _ = by_digest.insert(spec.key.digest, spec),
            Some(known) => {
                let more = spec.sources.into_iter().filter(|source| !known.sources.contains(source));
                let more: Vec<_> = more.collect();
                known.sources.extend(more);
            }
        }
    }
    by_digest.into_values().collect()
}

/// Passes on what rollouts and drops want together, until nobody says any more what rollouts want.
pub(super) async fn unite(
    mut rollouts: watch::Receiver<Vec<ArtifactSpec>>,
    mut drops: watch::Receiver<Vec<ArtifactSpec>>,
    all: watch::Sender<Vec<ArtifactSpec>>,
) {
    loop {
        let specs =
            rollouts.borrow_and_update().iter().chain(drops.borrow_and_update().iter()).cloned().collect::<Vec<_>>();
        let wanted = united(specs);
        all.send_if_modified(|before| {
            let changed = *before != wanted;
            *before = wanted;
            changed
        });
        tokio::select! {
            changed = rollouts.changed() => if changed.is_err() { return },
            Ok(()) = drops.changed() => {}
        }
    }
}
