//! Windows on the calendar: what they say at a moment, and when they say something else.
//!
//! A window opens when its zone's clocks first show its start or later, and ends when they show less than its end for the
//! last time. So, where clocks are put forward, a start in the hour that does not exist opens at that hour's end, and a
//! window that lies in it whole does not exist that day; where they are put back, a window goes on from the first time that
//! its start is shown to the last time before its end.

use std::fmt;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Weekday};
use jiff::tz::{AmbiguousOffset, TimeZone};

use super::{Day, Window, Windows};
use crate::model::Zone;

/// What windows say at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowState {
    /// Updates may start.
    Open,
    /// The last start has passed: what started may go on.
    Closing,
    /// Nothing may start, and what idles half-way waits.
    Closed,
}

/// What windows say at a moment, and what comes then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// What they say.
    pub state: WindowState,
    /// They say it until then, Unix milliseconds; later than the moment itself. They may go on to say the same.
    pub until: i64,
    /// When updates may start next; none while they may, or if that is not in sight.
    pub opens: Option<Opening>,
}

/// When a window opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    /// In Unix milliseconds.
    pub at: i64,
    /// In whose zone people read it.
    pub zone: Zone,
}

/// Windows open at least once a week; with a day that does not exist, within two.
const DAYS_AHEAD: i32 = 15;
/// One that opened before may be open still: it may have begun yesterday, by a clock that was put back since.
const DAYS_BACK: i32 = 2;

/// One day of a window.
struct Stretch<'w> {
    open: i64,
    last: i64,
    end: i64,
    zone: &'w Zone,
}

impl Windows {
    /// What they say at a moment in Unix milliseconds. Windows that name no zone are in `site`.
    pub fn at(&self, wall: i64, site: &Zone) -> Look {
        let mut stretches: Vec<_> = self.list.iter().flat_map(|window| window.stretches(wall, site)).collect();
        stretches.sort_by_key(|stretch| stretch.open);
        let starts = covered(wall, stretches.iter().map(|stretch| (stretch.open, stretch.last)));
        let runs = covered(wall, stretches.iter().map(|stretch| (stretch.open, stretch.end)));
        let mut later = stretches.iter().filter(|stretch| stretch.open > wall && stretch.end > stretch.open);
        let runs_next = later.clone().next().map_or_else(|| wall.saturating_add(A_DAY), |stretch| stretch.open);
        // where clocks are put forward a window may be there, and its last start gone
        let next = later.find(|stretch| stretch.last > stretch.open);
        let opens = next.map(|stretch| Opening { at: stretch.open, zone: stretch.zone.clone() });
        match (starts, runs) {
            (Some(until), _) => Look { state: WindowState::Open, until, opens: None },
            (None, Some(end)) => Look { state: WindowState::Closing, until: end.min(runs_next), opens },
            (None, None) => Look { state: WindowState::Closed, until: runs_next, opens },
        }
    }
}

const A_DAY: i64 = 86_400_000;

/// Until when a moment is covered by stretches without a gap; they are in the order of their beginnings.
fn covered(moment: i64, stretches: impl Iterator<Item = (i64, i64)>) -> Option<i64> {
    let mut until = None;
    for (from, to) in stretches {
        // up to the moment itself, or to where the ones before it reach
        if from <= until.unwrap_or(moment) && to > moment {
            until = until.max(Some(to));
        }
    }
    until
}

impl Window {
    /// Its days around a moment.
    fn stretches<'w>(&'w self, wall: i64, site: &'w Zone) -> impl Iterator<Item = Stretch<'w>> {
        let zone = self.time_zone.as_ref().unwrap_or(site);
        let today = || Some((zone.rules()?, zone.rules()?.to_datetime(Timestamp::from_millisecond(wall).ok()?).date()));
        let days = today().into_iter().flat_map(|(rules, today)| {
            (-DAYS_BACK..=DAYS_AHEAD).filter_map(move |ahead| {
                Some((rules, today.checked_add(jiff::Span::new().try_days(ahead).ok()?).ok()?))
            })
        });
        days.filter_map(move |(rules, day)| self.stretch(rules, zone, day))
    }

    fn stretch<'w>(&self, rules: &TimeZone, zone: &'w Zone, day: Date) -> Option<Stretch<'w>> {
        if !self.days.contains(&weekday(day)) {
            return None;
        }
        let (start, last, end) = self.minutes();
        let at = |minutes: u16| day.at(0, 0, 0, 0).checked_add(jiff::Span::new().try_minutes(minutes).ok()?).ok();
        let open = first_shown(rules, at(start)?)?;
        Some(Stretch { open, last: last_shown(rules, at(last)?)?, end: last_shown(rules, at(end)?)?, zone })
    }
}

/// When a zone's clocks first show a time or a later one.
fn first_shown(rules: &TimeZone, time: DateTime) -> Option<i64> {
    let instant = match rules.to_ambiguous_timestamp(time).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(time).ok()?,
        AmbiguousOffset::Fold { before, .. } => before.to_timestamp(time).ok()?,
        // they go from before it to after it at once
        AmbiguousOffset::Gap { after, .. } => change_after(rules, after.to_timestamp(time).ok()?)?,
    };
    Some(instant.as_millisecond())
}

/// When a zone's clocks have shown less than a time for the last time.
fn last_shown(rules: &TimeZone, time: DateTime) -> Option<i64> {
    let AmbiguousOffset::Fold { before, after } = rules.to_ambiguous_timestamp(time).offset() else {
        return first_shown(rules, time);
    };
    let (first, second) = (before.to_timestamp(time).ok()?, after.to_timestamp(time).ok()?);
    // the time to which they are put back: nothing before it is shown again
    let instant = if change_after(rules, first) == Some(second) { first } else { second };
    Some(instant.as_millisecond())
}

/// When a zone's clocks are put forward or back next.
fn change_after(rules: &TimeZone, moment: Timestamp) -> Option<Timestamp> {
    rules.following(moment).next().map(|change| change.timestamp())
}

fn weekday(day: Date) -> Day {
    match day.weekday() {
        Weekday::Monday => Day::Mon,
        Weekday::Tuesday => Day::Tue,
        Weekday::Wednesday => Day::Wed,
        Weekday::Thursday => Day::Thu,
        Weekday::Friday => Day::Fri,
        Weekday::Saturday => Day::Sat,
        Weekday::Sunday => Day::Sun,
    }
}

impl Opening {
    /// With date and offset: RFC 3339.
    pub fn rfc3339(&self) -> Option<String> {
        let at = Timestamp::from_millisecond(self.at).ok()?;
        Some(at.display_with_offset(self.zone.rules()?.to_offset(at)).to_string())
    }
}

impl fmt::Display for Opening {
    /// As people in its zone say it: `Sat 5 Dec 22:00 Europe/Berlin`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let local = Timestamp::from_millisecond(self.at).ok().zip(self.zone.rules());
        match local {
            Some((at, rules)) => write!(f, "{} {}", rules.to_datetime(at).strftime("%a %-d %b %H:%M"), self.zone),
            None => write!(f, "at a time unknown in {}", self.zone),
        }
    }
}

#[cfg(test)]
mod tests;
