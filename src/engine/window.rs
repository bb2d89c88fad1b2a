//! Whether a rollout's windows let updates start now. Nothing else decides this.
//!
//! Windows are in wall time and everything else here is in site time. So what they say is kept with the span of wall time
//! for which they say it: as long as the clock stays in there nothing is computed, and a clock that is set to somewhere else
//! makes them speak anew at once. When that span ends is turned into site time at each step, by the difference of the two
//! clocks then.

use std::time::Duration;

use super::draft::Draft;
use super::state::{Member, Rollout, State, Step};
use crate::model::{Now, Opening, SiteTime, WaitingReason, WhenClockUnknown, WindowState, Zone};

/// What a rollout's windows say. Derived; not on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowsSaid {
    /// What they say; none while nobody knows what time it is.
    pub says: Option<WindowState>,
    /// When updates may start next.
    pub opens: Option<Opening>,
    /// For which wall time they say it, in Unix milliseconds.
    span: (i64, i64),
    /// The last step's clocks: site time, and the wall clock if it was trusted.
    clocks: (SiteTime, Option<i64>),
    /// Somebody waits for the next change.
    awaited: bool,
}

/// Looks at the windows of every rollout; those that say something else than before are touched.
pub(super) fn look(draft: &mut Draft) {
    let now = draft.now;
    let mut changed = Vec::new();
    let state = &mut *draft.state;
    for (id, rollout) in &mut state.rollouts {
        if rollout.spec.windows.is_empty() {
            rollout.windows_said = None;
        } else if rollout.look(now, &state.settings.time_zone) {
            changed.push(*id);
        }
    }
    for id in changed {
        draft.touch(id);
    }
}

/// When windows say something else for which somebody waits, if no clock is set until then.
pub fn next_change(state: &State) -> Option<SiteTime> {
    state.rollouts.values().filter_map(|rollout| rollout.windows_said.as_ref()?.changes()).min()
}

impl WindowsSaid {
    /// When, in site time, they say something else, as far as that matters to anybody.
    fn changes(&self) -> Option<SiteTime> {
        let (site, wall) = self.clocks;
        let wait = self.span.1.saturating_sub(wall?);
        let wait = Duration::from_millis(u64::try_from(wait).unwrap_or(0));
        self.awaited.then(|| site.plus(wait))
    }

    /// How long until updates may start.
    pub fn opens_in(&self, now: SiteTime) -> Option<Duration> {
        let (site, wall) = self.clocks;
        let wait = self.opens.as_ref()?.at.saturating_sub(wall?);
        Some(Duration::from_millis(u64::try_from(wait).unwrap_or(0)).saturating_sub(now.since(site)))
    }
}

impl Rollout {
    /// Looks at its windows; true if they say something else than before.
    fn look(&mut self, now: Now, site: &Zone) -> bool {
        let before = self.windows_said.take();
        let awaited = before.as_ref().is_some_and(|said| said.awaited);
        let still = |said: &WindowsSaid| now.wall.is_some_and(|wall| (said.span.0..said.span.1).contains(&wall));
        let clocks = (now.site, now.wall);
        let (said, changed) = match (before, now.wall) {
            (Some(said), Some(_)) if still(&said) => (WindowsSaid { clocks, ..said }, false),
            (before, Some(wall)) => {
                let look = self.spec.windows.at(wall, site);
                let says = Some(look.state);
                let changed = before.is_none_or(|before| before.says != says);
                (WindowsSaid { says, opens: look.opens, span: (wall, look.until), clocks, awaited }, changed)
            }
            (before, None) => {
                let changed = before.is_none_or(|before| before.says.is_some());
                (WindowsSaid { says: None, opens: None, span: (0, 0), clocks, awaited }, changed)
            }
        };
        self.windows_said = Some(said);
        changed
    }

    /// Somebody may be offered the update, or have the offer taken back, or be hidden, when windows say something else.
    pub(super) fn await_windows(&mut self) {
        let waits = |member: &Member| matches!(member.step, Step::Waiting(_) | Step::Offered | Step::Downloading);
        if let Some(said) = &mut self.windows_said {
            said.awaited = !self.replaced && self.members.values().any(waits);
        }
    }

    /// Why no update may start.
    pub(super) fn outside(&self, member: &Member) -> Option<WaitingReason> {
        // one that has its order half-way has started long ago
        let started = || member.open_action().is_some_and(|action| action.ever_fetched);
        match self.says()? {
            WindowState::Closing if started() => None,
            _ => self.why_closed(),
        }
    }

    /// Why one that idles half-way waits.
    pub(super) fn shut(&self) -> Option<WaitingReason> {
        self.says().filter(|says| *says == WindowState::Closed).and_then(|_| self.why_closed())
    }

    /// What keeps updates from starting, if it is a window or the lack of a clock.
    pub fn why_closed(&self) -> Option<WaitingReason> {
        let knows_time = self.windows_said.as_ref().is_none_or(|said| said.says.is_some());
        let reason = if knows_time { WaitingReason::OutsideWindow } else { WaitingReason::WaitingForClock };
        self.says().filter(|says| *says != WindowState::Open).map(|_| reason)
    }

    /// What its windows come to; none without any.
    fn says(&self) -> Option<WindowState> {
        let windows = &self.spec.windows;
        let unknown = match windows.when_clock_unknown {
            WhenClockUnknown::Hold => WindowState::Closed,
            WhenClockUnknown::Allow => WindowState::Open,
        };
        // closed until they were looked at
        let says = self.windows_said.as_ref().map_or(WindowState::Closed, |said| said.says.unwrap_or(unknown));
        (!windows.is_empty()).then_some(says)
    }
}
