//! A member of a rollout, and how far it is.

use super::Action;
use crate::model::{FailedReason, SiteTime, SkippedReason, Version, WaitingReason};

/// A member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The index of its wave; none before the freeze and for joiners.
    pub wave: Option<u16>,
    /// It matched after the freeze.
    pub joiner: bool,
    /// Which of the rollout's files it gets; chosen when it is frozen or joins, and never again.
    pub variant: u8,
    /// Which of the rollout's ways back it takes if that is rolled back.
    pub back: Option<u8>,
    /// It is on its way back, or was: everything below is about that.
    pub reverting: bool,
    /// Its place in the order; derived.
    pub key: u64,
    /// How far it is.
    pub step: Step,
    /// Since when.
    pub since: SiteTime,
    /// Attempts used.
    pub attempts: u8,
    /// Attempts that failed through our fault, and used none.
    pub excuses: u8,
    /// Offers that it let lie.
    pub not_fetched: u8,
    /// Not before this time.
    pub retry_at: Option<SiteTime>,
    /// Its order, open or closed.
    pub action: Option<Action>,
    /// Bytes of the artifact that were sent to it. On disk only now and then.
    pub spent: u64,
    /// What it said last, or what went wrong last.
    pub message: Option<String>,
    /// The other version that it reported since it took the order.
    pub reported: Option<Version>,
}

/// How far a member is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Not offered. The reason is derived and not on disk.
    Waiting(WaitingReason),
    /// The link is shown.
    Offered,
    /// The order was fetched.
    Downloading,
    /// The artifact was fully served.
    Installing,
    /// The gateway reported success, or should have; the proof is awaited.
    Confirming,
    /// Done.
    Updated,
    /// Back on what it ran before.
    RolledBack,
    /// Ended without success.
    Failed(FailedReason),
    /// Needs nothing from this rollout.
    Skipped(SkippedReason),
}

impl Step {
    /// Nothing that a gateway says on its order moves it any more.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Updated | Self::RolledBack | Self::Failed(_) | Self::Skipped(_))
    }

    /// Between offer and end: counts for `maxInFlight`.
    pub fn is_in_flight(self) -> bool {
        matches!(self, Self::Offered | Self::Downloading | Self::Installing | Self::Confirming)
    }

    /// Its name, as in status and docs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Waiting(_) => "Waiting",
            Self::Offered => "Offered",
            Self::Downloading => "Downloading",
            Self::Installing => "Installing",
            Self::Confirming => "Confirming",
            Self::Updated => "Updated",
            Self::RolledBack => "RolledBack",
            Self::Failed(_) => "Failed",
            Self::Skipped(_) => "Skipped",
        }
    }
}

impl Member {
    /// A member that just matched.
    pub fn new(key: u64, joiner: bool, now: SiteTime) -> Self {
        Self {
            wave: None,
            joiner,
            variant: 0,
            back: None,
            reverting: false,
            key,
            step: Step::Waiting(WaitingReason::Unlisted),
            since: now,
            attempts: 0,
            excuses: 0,
            not_fetched: 0,
            retry_at: None,
            action: None,
            spent: 0,
            message: None,
            reported: None,
        }
    }

    /// Its place in the order in which a rollout's members are offered; of two at one place the lesser id goes first.
    pub fn place(&self) -> (bool, Option<u16>, u64) {
        (self.joiner, self.wave, self.key)
    }

    /// The name of its step, as in status and docs.
    pub fn step_name(&self) -> &'static str {
        if self.reverting && !self.step.is_terminal() { "RollingBack" } else { self.step.name() }
    }

    /// Its order, while the gateway may still have it.
    pub fn open_action(&self) -> Option<&Action> {
        self.action.as_ref().filter(|action| action.open)
    }

    /// What was sent to it, in artifacts of this size: `3.2 x the artifact`.
    pub fn sent(&self, size: u64) -> String {
        let tenths = self.spent.saturating_mul(10) / size.max(1);
        format!("{}.{} x the artifact", tenths / 10, tenths % 10)
    }

    /// The gateway was told to drop its order, and has not answered.
    pub fn is_cancelling(&self) -> bool {
        self.open_action().is_some_and(|action| action.cancelling)
    }

    /// It had bytes of its cancelled order, and it is not known yet whether it dropped them.
    pub fn is_unsettled(&self) -> bool {
        let closed = self.action.as_ref().filter(|action| !action.open && action.deadline.is_some());
        self.step == Step::Skipped(SkippedReason::Cancelled) && closed.is_some()
    }

    /// The gateway took the order at some time: offline is no excuse any more.
    pub fn ever_fetched(&self) -> bool {
        self.action.as_ref().is_some_and(|action| action.ever_fetched)
    }

    /// The gateway took an order of this rollout, if only in a run before this one.
    pub fn took_an_order(&self) -> bool {
        self.action.as_ref().is_some_and(|action| action.ever_fetched || !action.aliases.is_empty())
    }

    /// The gateway has the order in hand now.
    pub fn fetched(&self) -> bool {
        self.open_action().is_some_and(|action| action.fetched)
    }
}
