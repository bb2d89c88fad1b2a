//! Which artifacts the site may still need: decided here and nowhere else.

use std::collections::{BTreeMap, BTreeSet};

use super::state::{Gateway, Member, Rollout, State, Step};
use super::target::files_in_use;
use crate::model::{ArtifactSpec, ControllerId, Digest, Identity, SiteTime, SkippedReason, Version};

/// What an artifact is kept for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// The rollouts in force that bring it.
    pub rollouts: BTreeSet<Identity>,
    /// So many gateways run it: what those come back to whose next update is rolled back.
    pub run: u32,
    /// So many gateways ran it before what they run now.
    pub ran: u32,
}

/// The files that some rollout may still bring to a gateway, each as often as a rollout brings it.
pub fn wanted_artifacts(state: &State) -> Vec<ArtifactSpec> {
    let in_force = state.rollouts.values().filter(|rollout| is_in_force(state, rollout));
    // what it would go back to is looked at too, as long as it may have to
    let may_go_back = |rollout: &&Rollout| rollout.ready_at.is_none() && !rollout.replaced;
    let backs = state.rollouts.values().filter(may_go_back).flat_map(|rollout| &rollout.backs);
    in_force.flat_map(|rollout| files_in_use(state, rollout)).chain(backs).cloned().collect()
}

/// The artifacts that a rollout in force brings, and those to which a rollback would lead.
pub fn needs(state: &State) -> BTreeMap<Digest, Needs> {
    let mut needs: BTreeMap<Digest, Needs> = BTreeMap::new();
    for rollout in state.rollouts.values().filter(|rollout| is_in_force(state, rollout)) {
        // also of hardware that the site does not have yet: what came on a stick does not come again
        for file in rollout.spec.files().chain(&rollout.backs) {
            needs.entry(file.key.digest).or_default().rollouts.insert(rollout.identity.clone());
        }
    }
    let named = Named::of(state);
    for gateway in state.gateways.values() {
        for (name, files) in &named.0 {
            let (now, before) = installed(state, gateway, name, files);
            for digest in now {
                needs.entry(digest).or_default().run += 1;
            }
            for digest in before {
                needs.entry(digest).or_default().ran += 1;
            }
        }
    }
    needs
}

/// May a cached file go? Not while the site does not know all that is wanted of it.
pub fn may_go(state: &State, digest: &Digest) -> bool {
    state.listed && !state.site.lost && !needs(state).contains_key(digest)
}

/// What an artifact is called: by the rollouts that are there, and by those that were.
pub fn names_of(state: &State, digest: &Digest) -> BTreeSet<(String, Version)> {
    let keys = state.rollouts.values().flat_map(|rollout| rollout.spec.files().map(|file| &file.key));
    let now = keys.filter(|key| key.digest == *digest).map(|key| (key.name.clone(), key.version.clone()));
    let before = state.artifacts.get(digest).into_iter().flat_map(|artifact| artifact.names.iter().cloned());
    now.chain(before).collect()
}

/// Every artifact name that the site knows.
pub(super) fn all_names(state: &State) -> BTreeSet<&str> {
    Named::of(state).0.into_keys().collect()
}

/// A gateway may still be given its artifact. What is only missing in the manifests may come back.
fn is_in_force(state: &State, rollout: &Rollout) -> bool {
    let in_hand = || rollout.members.values().any(|member| member.open_action().is_some());
    !(rollout.replaced || rollout.cancelled || is_taken_over(state, rollout)) || in_hand()
}

/// A newer rollout of the same artifact took this gateway.
pub(super) fn is_taken_over_by_newer(state: &State, rollout: &Rollout, id: &ControllerId) -> bool {
    let name = &rollout.spec.artifact.key.name;
    let newer = |other: &&Rollout| other.arrival > rollout.arrival && other.spec.artifact.key.name == *name;
    let takes = |member: &Member| member.step != Step::Skipped(SkippedReason::NotSelected);
    state.rollouts.values().filter(newer).any(|newer| newer.members.get(id).is_some_and(takes))
}

/// Newer rollouts of the same artifact took all its gateways.
pub(super) fn is_taken_over(state: &State, rollout: &Rollout) -> bool {
    let name = &rollout.spec.artifact.key.name;
    let newer = |other: &&Rollout| other.arrival > rollout.arrival && other.spec.artifact.key.name == *name;
    let newer: Vec<_> = state.rollouts.values().filter(newer).collect();
    let takes = |member: &Member| member.step != Step::Skipped(SkippedReason::NotSelected);
    !newer.is_empty()
        && !rollout.members.is_empty()
        && rollout.members.keys().all(|id| newer.iter().any(|newer| newer.members.get(id).is_some_and(takes)))
}

/// When a newer rollout of the same artifact was done.
pub(super) fn outdone_at(state: &State, rollout: &Rollout) -> Option<SiteTime> {
    let name = &rollout.spec.artifact.key.name;
    let newer = |other: &&Rollout| other.arrival > rollout.arrival && other.spec.artifact.key.name == *name;
    state.rollouts.values().filter(newer).filter_map(|newer| newer.ready_at).max()
}

/// What a gateway runs of an artifact, and what it ran before; several if a version was given to several files.
fn installed(
    state: &State,
    gateway: &Gateway,
    name: &str,
    files: &[(&Version, Digest)],
) -> (BTreeSet<Digest>, BTreeSet<Digest>) {
    let version = |version: &Version| -> BTreeSet<Digest> {
        files.iter().filter(|(of, _)| *of == version).map(|(_, digest)| *digest).collect()
    };
    if let Some(now) = state.settings.version_of(gateway, name) {
        return (version(&now), gateway.previous.get(name).map(version).unwrap_or_default());
    }
    // it never said: what it was given last is what it has
    let given = |digest: &Digest| files.iter().any(|(_, file)| file == digest);
    let mut given = gateway.served.iter().rev().filter(|served| served.fully && given(&served.digest));
    let mut next = || given.next().map(|served| served.digest).into_iter().collect();
    (next(), next())
}

/// All files that have a name.
struct Named<'s>(BTreeMap<&'s str, Vec<(&'s Version, Digest)>>);

impl<'s> Named<'s> {
    fn of(state: &'s State) -> Self {
        let keys = state.rollouts.values().flat_map(|rollout| rollout.spec.files().map(|file| &file.key));
        let now = keys.map(|key| (key.name.as_str(), &key.version, key.digest));
        let before = state.artifacts.iter().flat_map(|(digest, artifact)| {
            artifact.names.iter().map(|(name, version)| (name.as_str(), version, *digest))
        });
        let mut named: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (name, version, digest) in now.chain(before) {
            named.entry(name).or_default().push((version, digest));
        }
        Self(named)
    }
}
