//! Which file a member is to get, and so which version it is to report: decided here and nowhere else.

use super::state::{Member, Rollout, State, Step};
use crate::model::{ArtifactSpec, ControllerId, SkippedReason};

/// The number of the variant that a gateway gets of a rollout, were it to join it now.
pub(super) fn choose(state: &State, rollout: &Rollout, gateway: &ControllerId) -> Option<u8> {
    let gateway = state.gateways.get(gateway)?;
    rollout.spec.choose(&gateway.spec, &gateway.attributes)
}

/// The files that a rollout brings to gateways of this site: one for a hardware that the site does not have is not fetched.
pub fn files_in_use<'r>(state: &State, rollout: &'r Rollout) -> impl Iterator<Item = &'r ArtifactSpec> + use<'r> {
    let mut used = u8::from(rollout.spec.variants.is_none());
    if used == 0 {
        for (id, member) in &rollout.members {
            let variant = match (&rollout.frozen, member.step) {
                (None, _) => choose(state, rollout, id),
                (Some(_), Step::Skipped(SkippedReason::NoVariant)) => None,
                (Some(_), _) => Some(member.variant),
            };
            used |= variant.map_or(0, |at| 1_u8.checked_shl(at.into()).unwrap_or(0));
        }
    }
    rollout.spec.files().enumerate().filter(move |(at, _)| used >> at & 1 == 1).map(|(_, file)| file)
}

impl State {
    /// Are all files of a rollout in the cache that gateways of this site need?
    pub(super) fn has_files(&self, rollout: &Rollout) -> bool {
        files_in_use(self, rollout).all(|file| self.is_verified(&file.key.digest))
    }
}

impl Rollout {
    /// The file that a member is to get: the one for its hardware, or the one to which it goes back.
    pub fn file_for(&self, member: &Member) -> &ArtifactSpec {
        let back = member.back.filter(|_| member.reverting);
        back.and_then(|at| self.backs.get(usize::from(at))).unwrap_or_else(|| self.spec.file(member.variant))
    }

    /// The same by the member's gateway; none if it is no member.
    pub(super) fn file_of(&self, gateway: &ControllerId) -> Option<&ArtifactSpec> {
        self.members.get(gateway).map(|member| self.file_for(member))
    }

    /// Has a member whose gateway reports this version arrived?
    pub(super) fn has_target(&self, member: &Member, version: Option<&str>) -> bool {
        version == Some(self.file_for(member).key.version.as_str())
    }
}
