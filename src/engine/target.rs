//! Which file a member is to get, and so which version it is to report: decided here and nowhere else.

use super::state::{Member, Rollout};
use crate::model::{ArtifactSpec, ControllerId, Version};

impl Rollout {
    /// The file that a member is to get.
    pub fn file_for(&self, _member: &Member) -> &ArtifactSpec {
        &self.spec.artifact
    }

    /// The same by the member's gateway; none if it is no member.
    pub(super) fn file_of(&self, gateway: &ControllerId) -> Option<&ArtifactSpec> {
        self.members.get(gateway).map(|member| self.file_for(member))
    }

    /// Has a member whose gateway reports this version arrived?
    pub(super) fn has_target(&self, member: &Member, version: Option<&Version>) -> bool {
        version == Some(&self.file_for(member).key.version)
    }
}
