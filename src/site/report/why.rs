//! Why one gateway is where it is, and what would change that.

use serde::{Deserialize, Serialize};

use super::OpensLine;
use super::gateways::reason;
use super::names;
use super::order::OrderLine;
use super::stops::{holds, stops};
use crate::device::Progress;
use crate::engine::{self, Expectation, Member, Rollout, State, Step};
use crate::model::{ControllerId, JournalEntry, SiteTime, SkippedReason, Texts, WaitingReason};

/// So many of the newest rows of the journal are looked through.
pub const ROWS_FOR_WHY: usize = 4_000;

/// Why one gateway is where it is.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Why {
    /// A process runs; otherwise this is what its store says.
    #[serde(default = "super::yes")]
    pub running: bool,
    /// When the store was last written, RFC 3339; only of a site that does not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved_at: Option<String>,
    /// What people call it.
    pub name: String,
    /// How it names itself.
    pub controller_id: String,
    /// `Never`, `Polling`, `Quiet` or `Offline`.
    pub presence: String,
    /// How long ago it polled, if it did since the start.
    pub polled_ago_seconds: Option<u64>,
    /// It takes no new order.
    pub hold: bool,
    /// On whose word.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holds: Vec<OrderLine>,
    /// The client that it runs, as far as its requests tell.
    pub client: String,
    /// What selectors look at.
    pub labels: Texts,
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
    /// Which of the rollout's variants it gets, from 1, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<u32>,
    /// How far it is.
    pub step: String,
    /// For how long by now.
    pub step_seconds: u64,
    /// Why it waits, failed or was skipped.
    pub reason: Option<String>,
    /// What step and reason mean.
    pub meaning: String,
    /// What it waits for just now: which cap, which line, which gate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// What a person can do; nothing, if that is so.
    pub remedy: Option<String>,
    /// What has to happen before it goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<ExpectedLine>,
    /// Who stopped the rollout.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stops: Vec<OrderLine>,
    /// Until the next try of one that waits, or until this step has taken too long.
    pub due_seconds: Option<u64>,
    /// When updates may start next, of one that waits for a window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opens: Option<OpensLine>,
    /// Its wave, from 1.
    pub wave: Option<u32>,
    /// What its wave is called, if not by its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wave_name: Option<String>,
    /// What was edited in the rollout and came too late to change anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change_ignored: Option<String>,
    /// Attempts used, and allowed.
    pub attempts: (u8, u8),
    /// What was sent to it, if that is more than one artifact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<String>,
    /// The id of its order.
    pub action: Option<i32>,
    /// What it said last, or what went wrong last.
    pub message: Option<String>,
    /// What it says about its progress.
    pub progress: Option<String>,
}

/// What has to happen before somebody goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExpectedLine {
    /// What.
    pub what: String,
    /// When it is due, from now on, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_seconds: Option<u64>,
}

impl ExpectedLine {
    pub(super) fn of(expected: Expectation, now: SiteTime) -> Self {
        let Expectation { what, at } = expected;
        Self { what: what.to_string(), in_seconds: at.map(|at| at.since(now).as_secs()) }
    }
}

/// A row of the journal.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct JournalLine {
    /// When, by the wall clock.
    pub time: Option<String>,
    /// What happened.
    pub what: String,
    /// In which rollout.
    pub rollout: Option<String>,
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
    let (id, gateway) = names::gateway(state, who)?;
    let mut rollouts: Vec<_> =
        state.rollouts.iter().filter_map(|(at, rollout)| Some(((*at, rollout), rollout.members.get(id)?))).collect();
    rollouts.sort_by_key(|((_, rollout), _)| std::cmp::Reverse(rollout.arrival));
    let progress = progress(id);
    Some(Why {
        running: true,
        saved_at: None,
        name: gateway.spec.name.clone(),
        controller_id: id.to_string(),
        presence: gateway.presence.to_string(),
        polled_ago_seconds: polled(id).map(|at| now.since(at).as_secs()),
        hold: engine::is_held(state, gateway),
        holds: holds(state, id, gateway, now),
        client: gateway.client.to_string(),
        labels: gateway.spec.labels.clone(),
        attributes: gateway.attributes.clone(),
        rollouts: rollouts
            .into_iter()
            .map(|((at, rollout), member)| MemberWhy {
                because: engine::because(state, now, at, id),
                ..member_why(state, rollout, member, now, progress.as_ref())
            })
            .collect(),
        journal: journal.iter().filter(|row| row.gateway.as_deref() == Some(id.as_str())).map(journal_line).collect(),
    })
}

fn member_why(
    state: &State,
    rollout: &Rollout,
    member: &Member,
    now: SiteTime,
    progress: Option<&Progress>,
) -> MemberWhy {
    let (meaning, remedy) = words(member.step);
    let size = rollout.file_for(member).size;
    let current = progress.filter(|progress| member.open_action().is_some_and(|order| order.id == progress.action));
    MemberWhy {
        rollout: rollout.identity.to_string(),
        version: rollout.file_for(member).key.to_string(),
        variant: variant(rollout, member),
        step: member.step_name().into(),
        step_seconds: now.since(member.since).as_secs(),
        reason: reason(member),
        meaning: if member.reverting {
            format!("it goes back to what it ran before: {meaning}")
        } else {
            meaning.into()
        },
        because: None,
        remedy: (remedy != NOTHING).then(|| remedy.into()),
        expected: engine::expected(state, rollout, member, now).map(|expected| ExpectedLine::of(expected, now)),
        stops: if member.step == Step::Waiting(WaitingReason::Paused) {
            stops(state, rollout, now)
        } else {
            Vec::new()
        },
        due_seconds: due(member, now),
        opens: (member.step == Step::Waiting(WaitingReason::OutsideWindow))
            .then(|| OpensLine::of(rollout, now))
            .flatten(),
        wave: member.wave.map(|at| u32::from(at) + 1),
        wave_name: wave_name(rollout, member),
        change_ignored: engine::ignored(rollout),
        attempts: (member.attempts, rollout.spec.attempts),
        sent: (member.spent > size).then(|| member.sent(size)),
        action: member.action.as_ref().map(|action| action.id.get()),
        message: member.message.clone(),
        progress: current.map(|progress| match &progress.message {
            Some(message) => format!("{}/{} {message}", progress.done, progress.of),
            None => format!("{}/{}", progress.done, progress.of),
        }),
    }
}

fn wave_name(rollout: &Rollout, member: &Member) -> Option<String> {
    let at = member.wave?;
    let wave = rollout.frozen.as_ref()?.waves.get(usize::from(at))?;
    (wave.name != (at + 1).to_string()).then(|| wave.name.clone())
}

fn variant(rollout: &Rollout, member: &Member) -> Option<u32> {
    let chosen = rollout.spec.variants.is_some()
        && rollout.frozen.is_some()
        && member.step != Step::Skipped(SkippedReason::NoVariant);
    chosen.then(|| u32::from(member.variant) + 1)
}

/// What reasons say where a person need not do anything.
const NOTHING: &str = "nothing";

/// What a step means, and what a person can do.
fn words(step: Step) -> (&'static str, &'static str) {
    match step {
        Step::Waiting(reason) => (reason.meaning(), reason.remedy()),
        Step::Failed(reason) => (reason.meaning(), reason.remedy()),
        Step::Skipped(reason) => (reason.meaning(), reason.remedy()),
        Step::Offered => ("the order is there for the gateway to fetch when it polls", NOTHING),
        Step::Downloading => ("the gateway fetched the order and has not downloaded the whole artifact yet", NOTHING),
        Step::Installing => ("the gateway has the whole artifact and has not said yet how it went", NOTHING),
        Step::Confirming => ("the gateway says that it is done; the proof of it is awaited", NOTHING),
        Step::Updated => ("the gateway is on the rollout's version", NOTHING),
        Step::RolledBack => ("the gateway is there", NOTHING),
    }
}

/// Seconds until something is due.
fn due(member: &Member, now: SiteTime) -> Option<u64> {
    let next = match member.step {
        Step::Waiting(WaitingReason::Cancelling) => member.open_action()?.deadline,
        Step::Waiting(_) => member.retry_at,
        Step::Updated | Step::RolledBack | Step::Failed(_) | Step::Skipped(_) => None,
        _ => member.action.as_ref()?.deadline,
    };
    next.map(|at| at.since(now).as_secs())
}

/// A row of the journal, for people.
pub(crate) fn journal_line(row: &JournalEntry) -> JournalLine {
    JournalLine {
        time: wall(row),
        what: row.what.to_string(),
        rollout: row.rollout.clone(),
        detail: row.detail.clone(),
    }
}

/// When a row was written by the wall clock, if there was one: whole seconds, UTC.
pub(super) fn wall(row: &JournalEntry) -> Option<String> {
    row.wall.and_then(wall_time)
}

/// Unix milliseconds as whole seconds, UTC.
pub(super) fn wall_time(ms: i64) -> Option<String> {
    jiff::Timestamp::from_millisecond(ms).ok().map(|at| format!("{at:.0}"))
}
