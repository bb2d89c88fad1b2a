//! Why one gateway is where it is, and what would change that.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::gateways::reason;
use crate::device::Progress;
use crate::engine::{Member, Rollout, State, Step};
use crate::model::{ControllerId, JournalEntry, SiteTime, Texts, format_duration};

/// Why one gateway is where it is.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Why {
    /// What people call it.
    pub name: String,
    /// How it names itself.
    pub controller_id: String,
    /// `Never`, `Polling`, `Quiet` or `Offline`.
    pub presence: String,
    /// How long ago it polled, if it did since the start.
    pub polled: Option<String>,
    /// It takes no new order.
    pub hold: bool,
    /// The client that it runs, as far as its requests tell.
    pub client: String,
    /// What it reported.
    pub attributes: Texts,
    /// Its memberships, newest rollout first.
    pub rollouts: Vec<MemberWhy>,
    /// What happened to it lately, oldest first.
    pub journal: Vec<JournalLine>,
}

/// A membership, explained.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MemberWhy {
    /// In which rollout.
    pub rollout: String,
    /// To which version.
    pub version: String,
    /// How far it is.
    pub step: String,
    /// Since when, in words.
    pub since: String,
    /// Why it waits, failed or was skipped.
    pub reason: Option<String>,
    /// What that means.
    pub meaning: Option<String>,
    /// What a person can do.
    pub remedy: Option<String>,
    /// When something is due, in words.
    pub due: Option<String>,
    /// Its wave, from 1.
    pub wave: Option<u32>,
    /// Attempts used, and allowed.
    pub attempts: (u8, u8),
    /// The id of its order.
    pub action: Option<i32>,
    /// What it said last, or what went wrong last.
    pub message: Option<String>,
    /// What it says about its progress.
    pub progress: Option<String>,
}

/// A row of the journal.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct JournalLine {
    /// When, by the wall clock.
    pub time: Option<String>,
    /// What happened.
    pub what: String,
    /// The rest.
    pub detail: String,
}

/// Finds a gateway by its name or its controller id, and explains it.
pub fn why(
    state: &State,
    now: SiteTime,
    who: &str,
    polled: impl Fn(&ControllerId) -> Option<SiteTime>,
    progress: impl Fn(&ControllerId) -> Option<Progress>,
    journal: &[JournalEntry],
) -> Option<Why> {
    let named = || state.gateways.iter().find(|(_, gateway)| gateway.spec.name == who);
    let (id, gateway) = state.gateways.get_key_value(who).or_else(named)?;
    let mut rollouts: Vec<_> =
        state.rollouts.values().filter_map(|rollout| Some((rollout, rollout.members.get(id)?))).collect();
    rollouts.sort_by_key(|(rollout, _)| std::cmp::Reverse(rollout.arrival));
    let progress = progress(id);
    Some(Why {
        name: gateway.spec.name.clone(),
        controller_id: id.to_string(),
        presence: format!("{:?}", gateway.presence),
        polled: polled(id).map(|at| ago(now, at)),
        hold: gateway.spec.hold,
        client: format!("{:?}", gateway.client),
        attributes: gateway.attributes.clone(),
        rollouts: rollouts
            .into_iter()
            .map(|(rollout, member)| member_why(rollout, member, now, progress.as_ref()))
            .collect(),
        journal: journal.iter().filter(|row| row.gateway.as_deref() == Some(id.as_str())).map(journal_line).collect(),
    })
}

fn member_why(rollout: &Rollout, member: &Member, now: SiteTime, progress: Option<&Progress>) -> MemberWhy {
    let (meaning, remedy) = match member.step {
        Step::Waiting(reason) => (Some(reason.meaning()), Some(reason.remedy())),
        Step::Failed(reason) => (Some(reason.meaning()), Some(reason.remedy())),
        Step::Skipped(reason) => (Some(reason.meaning()), Some(reason.remedy())),
        _ => (None, None),
    };
    let current = progress.filter(|progress| member.open_action().is_some_and(|order| order.id == progress.action));
    MemberWhy {
        rollout: rollout.identity.to_string(),
        version: rollout.spec.artifact.key.to_string(),
        step: member.step.name().into(),
        since: ago(now, member.since),
        reason: reason(member.step),
        meaning: meaning.map(Into::into),
        remedy: remedy.map(Into::into),
        due: due(member, now),
        wave: member.wave.map(|at| u32::from(at) + 1),
        attempts: (member.attempts, rollout.spec.attempts),
        action: member.action.as_ref().map(|action| action.id.get()),
        message: member.message.clone(),
        progress: current.map(|progress| match &progress.message {
            Some(message) => format!("{}/{} {message}", progress.done, progress.of),
            None => format!("{}/{}", progress.done, progress.of),
        }),
    }
}

fn due(member: &Member, now: SiteTime) -> Option<String> {
    let next = match member.step {
        Step::Waiting(_) => member.retry_at,
        Step::Updated | Step::Failed(_) | Step::Skipped(_) => None,
        _ => member.action.as_ref()?.deadline,
    };
    next.map(|at| format!("in {}", words(at.since(now))))
}

fn ago(now: SiteTime, at: SiteTime) -> String {
    format!("{} ago", words(now.since(at)))
}

fn words(duration: Duration) -> String {
    format_duration(Duration::from_secs(duration.as_secs()))
}

/// A row of the journal, for people.
pub(crate) fn journal_line(row: &JournalEntry) -> JournalLine {
    JournalLine { time: wall(row), what: row.what.to_string(), detail: row.detail.clone() }
}

/// When a row was written by the wall clock, if there was one: whole seconds, UTC.
pub(super) fn wall(row: &JournalEntry) -> Option<String> {
    let wall = row.wall.and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    wall.map(|at| format!("{at:.0}"))
}
