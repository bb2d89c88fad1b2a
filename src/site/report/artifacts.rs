//! The artifacts that the site knows, what they are kept for, and how far those are that are not there yet.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::artifact::{Freed, Progress};
use crate::engine::{self, State};
use crate::model::Digest;

/// All artifacts that the site knows; what lies in the cache is another matter.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct KnownArtifacts {
    /// By digest.
    pub artifacts: BTreeMap<String, KnownArtifact>,
    /// Nothing may go: the site does not know yet all that is wanted of it.
    #[serde(default)]
    pub all_stay: bool,
}

/// One of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownArtifact {
    /// What rollouts call it: name and version.
    pub names: BTreeSet<String>,
    /// Its bytes, as a rollout says.
    pub size: Option<u64>,
    /// `Verified`, `Wanted`, `Fetching` or `Failed`; `Unwanted` if no rollout brings it any more.
    pub state: String,
    /// Why it could not be had.
    pub why: Option<String>,
    /// The rollouts in force that bring it.
    pub rollouts: BTreeSet<String>,
    /// So many gateways run it.
    #[serde(default)]
    pub run: u32,
    /// So many gateways ran it before what they run now.
    #[serde(default)]
    pub ran: u32,
    /// How far it is, while it is not there.
    #[serde(default)]
    pub progress: Option<ProgressLine>,
}

/// How far an artifact is on its way.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProgressLine {
    /// Bytes that are there, while it comes over the uplink.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// How fast they came in the last seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_second: Option<u64>,
    /// The source that is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What went wrong last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Seconds until it is tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_try_seconds: Option<u64>,
}

impl From<Progress> for ProgressLine {
    fn from(progress: Progress) -> Self {
        let Progress { bytes, bytes_per_second, source, error, next_try } = progress;
        Self { bytes, bytes_per_second, source, error, next_try_seconds: next_try.map(|wait| wait.as_secs()) }
    }
}

/// What was removed from the cache.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct FreedFiles {
    /// Each.
    pub freed: Vec<FreedFile>,
    /// Their bytes.
    pub bytes: u64,
}

/// One of them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FreedFile {
    /// Its name in the cache.
    pub file: String,
    /// Its bytes.
    pub bytes: u64,
}

/// What was removed from the cache.
pub fn freed(files: Vec<Freed>) -> FreedFiles {
    let bytes = files.iter().map(|file| file.bytes).sum();
    FreedFiles { freed: files.into_iter().map(|Freed { file, bytes }| FreedFile { file, bytes }).collect(), bytes }
}

/// All artifacts that the site knows. `progress`: how far one is that is on its way.
pub fn artifacts(state: &State, progress: impl Fn(&Digest) -> Option<Progress>) -> KnownArtifacts {
    let mut needs = engine::needs(state);
    let sizes: BTreeMap<_, _> =
        state.rollouts.values().flat_map(|r| r.spec.files().map(|file| (file.key.digest, file.size))).collect();
    let digests: BTreeSet<_> = state.artifacts.keys().chain(sizes.keys()).copied().collect();
    let known = |digest: Digest| {
        let need = needs.remove(&digest).unwrap_or_default();
        let (progress, names) = (progress(&digest), engine::names_of(state, &digest).into_iter());
        let found = state.artifacts.get(&digest);
        let known = KnownArtifact {
            names: names.map(|(name, version)| format!("{name} {version}")).collect(),
            size: sizes.get(&digest).copied(),
            state: match found {
                _ if progress.as_ref().is_some_and(|it| it.bytes.is_some()) => "Fetching",
                Some(artifact) if artifact.failed.is_some() => "Failed",
                Some(artifact) if artifact.sums.is_some() => "Verified",
                _ if need.rollouts.is_empty() => "Unwanted",
                _ => "Wanted",
            }
            .into(),
            why: found.and_then(|artifact| artifact.failed.clone()),
            rollouts: need.rollouts.iter().map(ToString::to_string).collect(),
            run: need.run,
            ran: need.ran,
            progress: progress.map(Into::into),
        };
        (digest.to_string(), known)
    };
    let all_stay = !state.listed || state.site.lost;
    KnownArtifacts { artifacts: digests.into_iter().map(known).collect(), all_stay }
}
