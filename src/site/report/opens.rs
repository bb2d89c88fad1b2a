//! When a rollout's windows open next.

use serde::{Deserialize, Serialize};

use crate::engine::Rollout;
use crate::model::SiteTime;

/// When updates may start next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpensLine {
    /// RFC 3339, with the offset of the window's zone.
    pub at: String,
    /// As people in the window's zone say it.
    pub local: String,
    /// And how long that is from now.
    pub in_seconds: u64,
}

impl OpensLine {
    /// Of one whose windows are not open and open again.
    pub fn of(rollout: &Rollout, now: SiteTime) -> Option<Self> {
        let said = rollout.windows_said.as_ref()?;
        let opening = said.opens.as_ref()?;
        let in_seconds = said.opens_in(now)?.as_secs();
        Some(Self { at: opening.rfc3339()?, local: opening.to_string(), in_seconds })
    }
}
