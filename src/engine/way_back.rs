//! Where each gateway would go back to, found out before a rollout begins that may be rolled back.

use std::collections::{BTreeMap, BTreeSet};

use super::state::{Gateway, Rollout, State};
use crate::model::{ArtifactKey, ArtifactSpec, ControllerId, FailureAction, Version};

/// So many versions are named for a person.
const MOST_NAMED: usize = 10;

/// The ways back of a rollout's members.
#[derive(Debug, Default)]
pub(super) struct WaysBack {
    /// Each file once.
    pub files: Vec<ArtifactSpec>,
    /// Which of them is whose; none for one that has the rollout's version already.
    pub of: BTreeMap<ControllerId, u8>,
}

/// What is lacking for a rollout to be rolled back.
#[derive(Debug, Default)]
pub(super) struct Lacking {
    versions: BTreeMap<Version, u32>,
    /// Gateways of which nobody knows what they run.
    silent: u32,
    /// There are more files than can be told apart.
    too_many: bool,
}

/// Finds everybody's way back, for a rollout that may be rolled back.
pub(super) fn find<'g>(
    state: &State,
    rollout: &Rollout,
    gateways: impl Iterator<Item = &'g ControllerId>,
) -> Result<WaysBack, Lacking> {
    if rollout.spec.strategy.failure_action != FailureAction::Rollback {
        return Ok(WaysBack::default());
    }
    let known = known(state, &rollout.spec.artifact.key.name);
    let (mut ways, mut lacking) = (WaysBack::default(), Lacking::default());
    for id in gateways {
        let Some(gateway) = state.gateways.get(id) else { continue };
        let runs = state.settings.version_of(gateway, &rollout.spec.artifact.key.name);
        if runs.as_ref() == Some(&rollout.spec.artifact.key.version) {
            continue;
        }
        let Some(file) = file(&known, gateway, runs.as_ref()) else {
            match runs {
                Some(version) => *lacking.versions.entry(version).or_default() += 1,
                None => lacking.silent += 1,
            }
            continue;
        };
        let at = ways.files.iter().position(|known| known.key == file.key).unwrap_or_else(|| {
            ways.files.push(file.clone());
            ways.files.len() - 1
        });
        match u8::try_from(at) {
            Ok(at) => _ = ways.of.insert(id.clone(), at),
            Err(_) => lacking.too_many = true,
        }
    }
    let complete = lacking.versions.is_empty() && lacking.silent == 0 && !lacking.too_many;
    if complete { Ok(ways) } else { Err(lacking) }
}

type Known = BTreeMap<Version, Vec<ArtifactSpec>>;

/// The files of an artifact that are in the cache, by version.
fn known(state: &State, name: &str) -> Known {
    let brought = state.rollouts.values().flat_map(|rollout| rollout.spec.files()).filter(|file| file.key.name == name);
    let gone = state.artifacts.iter().flat_map(|(digest, artifact)| {
        let names = artifact.names.iter().filter(|(of, _)| of == name);
        names.filter_map(|(name, version)| {
            let (size, sources) = artifact.kept.clone()?;
            let key = ArtifactKey { name: name.clone(), version: version.clone(), digest: *digest };
            Some(ArtifactSpec { key, size, sources })
        })
    });
    let mut known = Known::new();
    let mut seen = BTreeSet::new();
    for file in brought.cloned().chain(gone).filter(|file| state.is_verified(&file.key.digest)) {
        if seen.insert(file.key.clone()) {
            known.entry(file.key.version.clone()).or_default().push(file);
        }
    }
    known
}

/// The file of what a gateway runs: of several of one version the one that it was given, and of one that never says what it
/// runs what it was given last.
fn file<'k>(known: &'k Known, gateway: &Gateway, runs: Option<&Version>) -> Option<&'k ArtifactSpec> {
    let all: Vec<&ArtifactSpec> = match runs {
        Some(version) => known.get(version)?.iter().collect(),
        None => known.values().flatten().collect(),
    };
    if let ([one], Some(_)) = (all.as_slice(), runs) {
        return Some(one);
    }
    let mut given = gateway.served.iter().rev().filter(|served| served.fully);
    given.find_map(|served| all.iter().find(|file| file.key.digest == served.digest).copied())
}

impl Lacking {
    /// For a person.
    pub fn text(&self, name: &str) -> String {
        let mut parts: Vec<String> = self
            .versions
            .iter()
            .take(MOST_NAMED)
            .map(|(version, gateways)| {
                format!("the site has no file of {name} {version}, which {gateways} of its gateways run")
            })
            .collect();
        if self.versions.len() > MOST_NAMED {
            parts.push(format!("and {} versions more", self.versions.len() - MOST_NAMED));
        }
        if self.silent > 0 {
            parts.push(format!("of {} nobody knows what they run", self.silent));
        }
        if self.too_many {
            parts.push("its gateways run more different files than can be kept".into());
        }
        parts.join("; ")
    }
}
