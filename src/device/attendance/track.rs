//! One gateway's signs of life.

use std::time::Duration;

use crate::model::{Client, Presence as State, SiteTime};

use super::addresses::Addresses;
use super::{Pacing, Progress};

/// A gateway that alternates between clients (two machines with one id) may cause a commit once in this time.
const CLIENT_CHANGE: Duration = Duration::from_hours(1);

/// One gateway's signs of life.
#[derive(Debug)]
pub(super) struct Track {
    state: State,
    /// The last sign of life, or the start of the site.
    heard: SiteTime,
    polled: Option<SiteTime>,
    /// That it polled since the site started, or stood still, was told.
    pub(super) told: bool,
    /// The last four gaps between polls, the newest last.
    gaps: [Duration; 4],
    pace: Duration,
    client: Client,
    client_since: Option<SiteTime>,
    /// We may have failed its last poll.
    failed: bool,
    /// The `tell_poll_from` that was told.
    told_for: Option<SiteTime>,
    /// Its entry in the set of deadlines.
    pub(super) listed: Option<SiteTime>,
    /// Where it asks from.
    pub(super) addresses: Addresses,
    pub(super) progress: Option<Progress>,
    pub(super) excused: bool,
}

impl Track {
    /// A gateway that never polled.
    pub(super) fn new(pacing: Pacing) -> Self {
        Self::restored(SiteTime::default(), State::Never, None, Client::Generic, pacing)
    }

    pub(super) fn restored(
        now: SiteTime,
        state: State,
        pace: Option<Duration>,
        client: Client,
        pacing: Pacing,
    ) -> Self {
        let pace = pace.unwrap_or(pacing.told);
        // As if it had polled at its pace: four polls at another one change it.
        let gaps = [Duration::ZERO, Duration::ZERO, Duration::ZERO, pace];
        Self {
            state,
            heard: now,
            polled: None,
            told: false,
            gaps,
            pace,
            client,
            client_since: None,
            // whoever polled while the site was down found nobody
            failed: true,
            told_for: None,
            listed: None,
            addresses: Addresses::default(),
            progress: None,
            excused: false,
        }
    }

    pub(super) fn state(&self) -> State {
        self.state
    }

    pub(super) fn pace(&self) -> Duration {
        self.pace
    }

    pub(super) fn last_poll(&self) -> Option<SiteTime> {
        self.polled
    }

    /// A sign of life; true if it had not been there before.
    pub(super) fn heard(&mut self, now: SiteTime) -> bool {
        self.heard = now;
        let returned = self.state != State::Polling;
        self.state = State::Polling;
        returned
    }

    /// It may have polled while nobody could hear it.
    pub(super) fn excuse_silence(&mut self, now: SiteTime) {
        (self.heard, self.told) = (now, false);
    }

    /// A poll; true if its pace changed by it.
    pub(super) fn polled(&mut self, now: SiteTime, pacing: Pacing) -> bool {
        if let Some(last) = self.polled {
            let gap = now.since(last);
            // Longer than that it was away: an absence is no rhythm, and would hide the next one.
            if gap <= pacing.offline_after && !self.stays_away() {
                let [_, b, c, d] = self.gaps;
                self.gaps = [b, c, d, gap];
            }
        }
        self.polled = Some(now);
        self.failed = false;
        let pace = bucket(pacing.told, self.gaps.into_iter().max().unwrap_or_default());
        std::mem::replace(&mut self.pace, pace) != pace
    }

    /// Is this the first poll from the time on that the board asked to be told about?
    pub(super) fn tells(&mut self, now: SiteTime, from: Option<SiteTime>) -> bool {
        let first = from.is_some_and(|from| now >= from) && self.told_for != from;
        if first {
            self.told_for = from;
        }
        first
    }

    /// True if that is news.
    pub(super) fn runs(&mut self, client: Client, now: SiteTime) -> bool {
        let settled = self.client_since.is_none_or(|since| now.since(since) >= CLIENT_CHANGE);
        let news = client != self.client && settled;
        if news {
            self.client = client;
            self.client_since = Some(now);
        }
        news
    }

    /// Asked once per interval: three quarters of it, because polls are never exactly an interval apart.
    pub(super) fn may_be_asked(&self, now: SiteTime, pacing: Pacing) -> bool {
        self.addresses.sent_attributes_at().is_none_or(|sent| now.since(sent) >= pacing.told.mul_f32(0.75))
    }

    /// We could not give it what it asked for.
    pub(super) fn excuse(&mut self) {
        (self.excused, self.failed) = (true, true);
    }

    fn stays_away(&self) -> bool {
        self.failed && self.client == Client::Rauc
    }

    /// When its silence means something more than now.
    pub(super) fn deadline(&self, pacing: Pacing) -> Option<SiteTime> {
        let offline = self.heard.plus(pacing.offline_after);
        let pace = if self.stays_away() { self.pace.max(State::RHU_RETRY) } else { self.pace };
        let quiet = pace.max(State::SHORTEST_INTERVAL).saturating_mul(2);
        match self.state {
            State::Never | State::Offline => None,
            State::Polling => Some(offline.min(self.heard.plus(quiet))),
            State::Quiet => Some(offline),
        }
    }

    /// What it has become by now, if that is another state.
    pub(super) fn falls_silent(&mut self, now: SiteTime, pacing: Pacing) -> Option<State> {
        if self.deadline(pacing).is_none_or(|deadline| now < deadline) {
            return None;
        }
        let offline = now >= self.heard.plus(pacing.offline_after);
        self.state = if offline { State::Offline } else { State::Quiet };
        Some(self.state)
    }
}

/// The interval that covers a gap: what was told, doubled until it does; half as much again still counts as on time.
/// In such steps, so that a steady rhythm with some jitter is one interval and no news.
fn bucket(told: Duration, gap: Duration) -> Duration {
    let mut pace = told;
    while gap > pace.saturating_add(pace / 2) {
        pace = pace.saturating_mul(2);
    }
    pace
}
