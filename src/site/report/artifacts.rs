//! The artifacts that the site knows, and who wants them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::engine::{self, State};

/// All artifacts that the site knows; what lies in the cache is another matter.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct KnownArtifacts {
    /// By digest.
    pub artifacts: BTreeMap<String, KnownArtifact>,
}

/// One of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownArtifact {
    /// What rollouts call it: name and version.
    pub names: BTreeSet<String>,
    /// Its bytes, as a rollout says.
    pub size: Option<u64>,
    /// `Verified`, `Wanted` or `Failed`; `Unwanted` if no rollout needs it any more.
    pub state: String,
    /// Why it could not be had.
    pub why: Option<String>,
    /// The rollouts that need it.
    pub rollouts: BTreeSet<String>,
}

/// All artifacts that the site knows.
pub fn artifacts(state: &State) -> KnownArtifacts {
    let mut artifacts: BTreeMap<String, KnownArtifact> = BTreeMap::new();
    let wanted = engine::wanted_artifacts(state);
    for (id, rollout) in &state.rollouts {
        let spec = &rollout.spec.artifact;
        let known = artifacts.entry(spec.key.digest.to_string()).or_default();
        known.names.insert(spec.key.to_string());
        known.size = Some(spec.size);
        if wanted.contains_key(id) {
            known.rollouts.insert(rollout.identity.to_string());
        }
    }
    for digest in state.artifacts.keys() {
        artifacts.entry(digest.to_string()).or_default();
    }
    let by_text: BTreeMap<_, _> = state.artifacts.iter().map(|(digest, it)| (digest.to_string(), it)).collect();
    for (digest, known) in &mut artifacts {
        let found = by_text.get(digest);
        known.why = found.and_then(|artifact| artifact.failed.clone());
        known.state = match found {
            Some(artifact) if artifact.failed.is_some() => "Failed",
            Some(artifact) if artifact.sums.is_some() => "Verified",
            _ if known.rollouts.is_empty() => "Unwanted",
            _ => "Wanted",
        }
        .into();
    }
    KnownArtifacts { artifacts }
}
