//! Why one rollout is where it is, and what would change that.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::journal::is_of;
use super::names;
use super::order::OrderLine;
use super::status::{RolloutLine, rollout_line};
use super::stops::stops;
use super::why::{ExpectedLine, JournalLine, journal_line};
use crate::engine::{self, Phase, Rollout, State, Step};
use crate::model::{JournalEntry, SiteTime};

/// Why one rollout is where it is.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RolloutWhy {
    /// A process runs; otherwise this is what its store says.
    #[serde(default = "super::yes")]
    pub running: bool,
    /// When the store was last written, RFC 3339; only of a site that does not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved_at: Option<String>,
    /// How it stands.
    pub rollout: RolloutLine,
    /// What that means.
    pub meaning: String,
    /// What a person can do; nothing, if that is so.
    pub remedy: Option<String>,
    /// Who paused it or called it off.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stops: Vec<OrderLine>,
    /// What has to happen before it goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<ExpectedLine>,
    /// How many of its members wait, by reason.
    pub waiting: BTreeMap<String, u32>,
    /// How many failed, by reason.
    pub failed: BTreeMap<String, u32>,
    /// What happened to it lately, oldest first; not what happened to single gateways.
    pub journal: Vec<JournalLine>,
}

/// Explains a rollout, by its name. Errors are lower-case fragments.
pub fn rollout_why(state: &State, now: SiteTime, who: &str, journal: &[JournalEntry]) -> Result<RolloutWhy, String> {
    let identity = names::rollout(state, who)?;
    let gone = || format!("{who} is gone; an order on the spot stands for it all the same, see `lamplighter status`");
    let rollout = engine::current(state, &identity).and_then(|id| state.rollouts.get(&id)).ok_or_else(gone)?;
    let (meaning, remedy) = match engine::phase(state, rollout, now) {
        Phase::Ready => ("all waves are proven", "nothing"),
        Phase::Reconciling(reason, _) => (reason.meaning(), reason.remedy()),
        Phase::Stalled(reason, _) => (reason.meaning(), reason.remedy()),
    };
    let lately = journal
        .iter()
        .filter(|row| row.gateway.is_none() && row.rollout.as_ref().is_some_and(|label| is_of(label, who)));
    Ok(RolloutWhy {
        running: true,
        saved_at: None,
        rollout: rollout_line(state, rollout, now, &|_| None),
        meaning: meaning.into(),
        remedy: (remedy != "nothing").then(|| remedy.into()),
        stops: stops(state, rollout, now),
        expected: engine::expected_of(state, rollout, now).map(|expected| ExpectedLine::of(expected, now)),
        waiting: count(rollout, |step| if let Step::Waiting(reason) = step { Some(reason.to_string()) } else { None }),
        failed: count(rollout, |step| if let Step::Failed(reason) = step { Some(reason.to_string()) } else { None }),
        journal: lately.map(journal_line).collect(),
    })
}

fn count(rollout: &Rollout, reason: impl Fn(Step) -> Option<String>) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    for reason in rollout.members.values().filter_map(|member| reason(member.step)) {
        *counts.entry(reason).or_default() += 1;
    }
    counts
}
