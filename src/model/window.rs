//! Maintenance windows: when updates may start at a site, by the wall clock.

mod calendar;
mod clock_time;

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use calendar::{Look, Opening, WindowState};
pub use clock_time::ClockTime;

use super::Zone;

/// A day of the week.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the days of the week")]
pub enum Day {
    Mon,
    Tue,
    Wed,
    Thu,
    Fri,
    Sat,
    Sun,
}

impl Day {
    /// All of them.
    pub const ALL: [Self; 7] = [Self::Mon, Self::Tue, Self::Wed, Self::Thu, Self::Fri, Self::Sat, Self::Sun];
}

/// A time of some days in which updates may start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Window {
    /// The days on which it opens; never empty.
    days: BTreeSet<Day>,
    start: ClockTime,
    /// Not after `start`: on the next day.
    end: ClockTime,
    last_start: ClockTime,
    /// None: the site's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time_zone: Option<Zone>,
}

/// Why times make no window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoWindow {
    /// No day at all.
    NoDays,
    /// It starts at 24:00.
    StartAt24,
    /// It ends when it starts.
    Empty,
    /// Its last start is not in it.
    LastStartOutside,
}

impl Window {
    /// A window that opens at `start` on `days` and ends at the next `end`. Nothing starts from `last_start` on; none: it
    /// is the end.
    pub fn new(
        days: BTreeSet<Day>,
        (start, end): (ClockTime, ClockTime),
        last_start: Option<ClockTime>,
        time_zone: Option<Zone>,
    ) -> Result<Self, NoWindow> {
        let window = Self { days, start, end, last_start: last_start.unwrap_or(end), time_zone };
        let (starts, last, ends) = window.minutes();
        match () {
            () if window.days.is_empty() => Err(NoWindow::NoDays),
            () if starts == DAY => Err(NoWindow::StartAt24),
            // from 00:00 to 24:00 is a whole day, and said as clearly as that
            () if window.start == window.end => Err(NoWindow::Empty),
            () if last <= starts || last > ends => Err(NoWindow::LastStartOutside),
            () => Ok(window),
        }
    }

    /// Its days; start, end and last start; and whose clock counts, if it is not the site's.
    pub fn parts(&self) -> (&BTreeSet<Day>, [ClockTime; 3], Option<&Zone>) {
        (&self.days, [self.start, self.end, self.last_start], self.time_zone.as_ref())
    }

    /// For how long updates may start in it, when no clock is set in between.
    pub fn room(&self) -> Duration {
        let (start, last, _) = self.minutes();
        Duration::from_secs(60 * u64::from(last.saturating_sub(start)))
    }

    /// Start, last start and end, in minutes from the midnight before the start.
    fn minutes(&self) -> (u16, u16, u16) {
        let start = self.start.minutes();
        let after = |time: ClockTime| if time.minutes() > start { time.minutes() } else { time.minutes() + DAY };
        (start, after(self.last_start), after(self.end))
    }
}

/// Minutes of a day.
const DAY: u16 = 24 * 60;

/// What windows are worth while nobody knows what time it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum WhenClockUnknown {
    /// They are closed.
    #[default]
    Hold,
    /// They are open.
    Allow,
}

/// The windows of a rollout; without any it may start updates at all times.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Windows {
    /// Open when one of them is.
    pub list: Vec<Window>,
    /// What they are worth without a clock.
    #[serde(default)]
    pub when_clock_unknown: WhenClockUnknown,
}

impl Windows {
    /// Updates may start at all times.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

impl fmt::Display for NoWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoDays => "is empty, so the window never opens; name days from Mon to Sun, or leave it out for every day",
            Self::StartAt24 => "is the end of a day; write 00:00, and the next day in `days`",
            Self::Empty => {
                "is the start too: a window of no time, or of all; for a whole day write 00:00 to 24:00, for always leave \
                 `windows` out"
            }
            Self::LastStartOutside => "is not within the window, so that nothing could ever start; use a time between start and end",
        })
    }
}
