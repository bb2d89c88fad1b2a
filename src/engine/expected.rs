//! What has to happen before a member or a rollout goes on, and when that is expected. It explains; it decides nothing.

use std::fmt;

use super::phase::{Phase, phase};
use super::silence::LONGEST;
use super::state::{Member, Rollout, State, Step};
use super::wave::{self, Proof};
use crate::model::{ReconcilingReason, SiteTime, StalledReason, WaitingReason};

/// What is awaited, and until when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expectation {
    /// What has to happen.
    pub what: Awaited,
    /// When it is due, if that is known: it happens then, or that time brings the next decision.
    pub at: Option<SiteTime>,
}

/// What has to happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Awaited {
    /// The gateway's next word, or its deadline.
    Gateway,
    /// The next attempt.
    Retry,
    /// The end of another order of the gateway, or of some members under way.
    Room,
    /// Enough of the others to be healthy.
    Others,
    /// A gate to open.
    Gate,
    /// The artifact in the cache.
    Artifact,
    /// A window opens.
    Window,
    /// The wall clock is trusted.
    Clock,
    /// The members of this wave, from 1, come to an end.
    Wave(usize),
    /// This wave, from 1, stays healthy for its soak.
    Soak(usize),
    /// The waves before, for those that came late.
    Waves,
    /// The gateways come back that fell silent together.
    Site,
    /// A person does something.
    Person,
}

/// Completes "expects …".
impl fmt::Display for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gateway => f.write_str("the gateway to be heard of"),
            Self::Retry => f.write_str("its next attempt"),
            Self::Room => f.write_str("an order that is under way to end"),
            Self::Others => f.write_str("enough of the others to be healthy"),
            Self::Gate => f.write_str("its gates to be open"),
            Self::Artifact => f.write_str("the artifact in the cache"),
            Self::Window => f.write_str("a window to open"),
            Self::Clock => f.write_str("the site to know what time it is"),
            Self::Wave(number) => write!(f, "the members of wave {number} to end"),
            Self::Soak(number) => write!(f, "wave {number} to stay healthy"),
            Self::Waves => f.write_str("all waves to be proven"),
            Self::Site => f.write_str("the site's gateways to come back"),
            Self::Person => f.write_str("a person"),
        }
    }
}

const fn awaited(what: Awaited) -> Expectation {
    Expectation { what, at: None }
}

/// What a member waits for, or its gateway is given time for; nothing once it has come to its end.
pub fn expected(state: &State, rollout: &Rollout, member: &Member, now: SiteTime) -> Option<Expectation> {
    let deadline = member.action.as_ref().and_then(|action| action.deadline);
    Some(match member.step {
        Step::Waiting(reason) => waiting(state, rollout, member, (reason, now)),
        Step::Offered | Step::Downloading | Step::Installing | Step::Confirming => {
            Expectation { what: Awaited::Gateway, at: deadline }
        }
        Step::Updated | Step::RolledBack | Step::Failed(_) | Step::Skipped(_) => return None,
    })
}

fn waiting(state: &State, rollout: &Rollout, member: &Member, (reason, now): (WaitingReason, SiteTime)) -> Expectation {
    match reason {
        WaitingReason::StoreLost
        | WaitingReason::Unlisted
        | WaitingReason::Held
        | WaitingReason::DuplicateIdentity
        | WaitingReason::NotComparable
        | WaitingReason::DigestConflict
        | WaitingReason::NotApproved
        | WaitingReason::Paused => awaited(Awaited::Person),
        WaitingReason::ArtifactNotVerified => awaited(Awaited::Artifact),
        WaitingReason::SiteSilent => silence(state),
        WaitingReason::WaveNotOpen => wave(state, rollout),
        WaitingReason::Cancelling => {
            Expectation { what: Awaited::Gateway, at: member.open_action().and_then(|action| action.deadline) }
        }
        WaitingReason::UnknownVersion | WaitingReason::Offline => awaited(Awaited::Gateway),
        WaitingReason::OutsideWindow => window(rollout, now),
        WaitingReason::WaitingForClock => awaited(Awaited::Clock),
        WaitingReason::Backoff | WaitingReason::NotFetched => Expectation { what: Awaited::Retry, at: member.retry_at },
        WaitingReason::MinHealthy => awaited(Awaited::Others),
        WaitingReason::Gate => awaited(Awaited::Gate),
        WaitingReason::ActionOpen
        | WaitingReason::MaxInFlight
        | WaitingReason::Spread
        | WaitingReason::DownloadSlot => awaited(Awaited::Room),
    }
}

/// The next window.
fn window(rollout: &Rollout, now: SiteTime) -> Expectation {
    let wait = rollout.windows_said.as_ref().and_then(|said| said.opens_in(now));
    Expectation { what: Awaited::Window, at: wait.map(|wait| now.plus(wait)) }
}

/// When it is over at the latest.
fn silence(state: &State) -> Expectation {
    Expectation { what: Awaited::Site, at: state.site.silence.map(|since| since.plus(LONGEST)) }
}

/// What the next wave waits for.
fn wave(state: &State, rollout: &Rollout) -> Expectation {
    match wave::current(state, rollout) {
        Some((at, Some(Proof::SoakUntil(until)))) => Expectation { what: Awaited::Soak(at + 1), at: Some(until) },
        Some((_, Some(Proof::Unproven))) => awaited(Awaited::Person),
        Some((_, Some(Proof::Unheard))) => awaited(Awaited::Gateway),
        Some((at, Some(Proof::Open) | None)) => awaited(Awaited::Wave(at + 1)),
        None => awaited(Awaited::Waves),
    }
}

/// What a rollout waits for; nothing once it is done.
pub fn expected_of(state: &State, rollout: &Rollout, now: SiteTime) -> Option<Expectation> {
    Some(match phase(state, rollout, now) {
        Phase::Ready | Phase::Stalled(StalledReason::Superseded, _) => return None,
        Phase::Reconciling(ReconcilingReason::ArtifactNotVerified, _) => awaited(Awaited::Artifact),
        Phase::Reconciling(ReconcilingReason::WaveOpen | ReconcilingReason::Soaking, _) => wave(state, rollout),
        Phase::Reconciling(ReconcilingReason::OutsideWindow, _) => window(rollout, now),
        Phase::Reconciling(ReconcilingReason::WaitingForClock, _) => awaited(Awaited::Clock),
        Phase::Reconciling(ReconcilingReason::SiteSilent, _) => silence(state),
        Phase::Reconciling(ReconcilingReason::Cancelling | ReconcilingReason::RollingBack, _) => {
            awaited(Awaited::Gateway)
        }
        Phase::Reconciling(
            ReconcilingReason::Paused
            | ReconcilingReason::Unlisted
            | ReconcilingReason::AwaitingApi
            | ReconcilingReason::WaitingForApproval,
            _,
        )
        | Phase::Stalled(..) => awaited(Awaited::Person),
    })
}
