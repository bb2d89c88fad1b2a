//! What a gate said.

use crate::model::{GateAnswer, SiteTime};

/// What a gate said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateSaid {
    /// What it said.
    pub answer: GateAnswer,
    /// When it was asked.
    pub asked: SiteTime,
}
