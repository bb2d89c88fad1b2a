//! What came of a scenario.

use serde::Serialize;

use crate::engine::Steps;

/// What came of a scenario.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Played {
    /// Which.
    pub scenario: String,
    /// What it takes to do the same again.
    pub seed: u64,
    /// How many gateways there were.
    pub gateways: usize,
    /// How much time passed in it.
    pub virtual_seconds: u64,
    /// How many steps the heart took.
    pub steps: u64,
    /// How many of them were committed.
    pub commits: u64,
    /// How many polls were answered.
    pub polls: u64,
    /// What happened.
    pub timeline: Vec<Moment>,
    /// How the rollouts ended.
    pub rollouts: Vec<RolloutEnd>,
    /// What was expected.
    pub expectations: Vec<Found>,
    /// What must never happen, and did.
    pub wrong: Vec<String>,
}

impl Played {
    /// All is as it should be.
    pub fn holds(&self) -> bool {
        self.wrong.is_empty() && self.expectations.iter().all(|found| found.holds)
    }
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Moment {
    /// So many seconds after the beginning.
    pub seconds: u64,
    /// The day and the time of the world, as `day 2 13:05:09`.
    pub time: String,
    /// What.
    pub text: String,
}

/// How a rollout ended.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RolloutEnd {
    /// Its name.
    pub name: String,
    /// Its artifact's version.
    pub version: String,
    /// `Ready`, `Reconciling` or `Stalled`.
    pub phase: String,
    /// Why.
    pub reason: String,
    /// How many members are at which step.
    pub steps: Steps,
}

/// Something that was expected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Found {
    /// What, and when if not at the end.
    pub what: String,
    /// Is it so?
    pub holds: bool,
    /// What is so instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
}
