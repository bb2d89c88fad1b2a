//! Site time from the kernel's boot clock, and back again after a restart or a standstill; beside it the wall clock, if it is
//! trusted.

use std::cell::Cell;
use std::fs;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use tracing::{info, warn};

use super::report::ClockLine;
use super::wall_clock::{Trust, WallClock, wall_text};
use crate::model::{Now, Presence, SiteTime};
use crate::store::SavedTime;

/// The site's clock.
#[derive(Debug)]
pub struct Clock {
    boot_id: String,
    /// Site time when this process started, and the boot clock then.
    start: (SiteTime, Duration),
    /// Not looked at for longer than this, the process stood still: it was stopped, or the machine slept.
    longest: Cell<Duration>,
    /// What the boot clock said last.
    seen: Cell<Duration>,
    /// How much of the boot clock's time did not count.
    skipped: Cell<Duration>,
    stood_still: Cell<Option<Duration>>,
    wall: WallClock,
    /// Whether the wall clock was trusted when it was looked at last.
    trusted: Cell<Option<bool>>,
}

impl Clock {
    /// Goes on where the store says that site time was. `told` is the interval at which gateways poll.
    pub fn resumed(saved: &SavedTime, told: Duration) -> Self {
        Self::beside(WallClock::new(saved.trusted), saved, told)
    }

    /// The same with a wall clock of the caller's.
    fn beside(wall: WallClock, saved: &SavedTime, told: Duration) -> Self {
        // without a boot id every start counts as another boot, which only makes deadlines later
        let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned();
        let boot = boot_clock();
        let same_boot = !boot_id.is_empty() && boot_id == saved.boot_id;
        let gap = same_boot.then(|| boot.saturating_sub(Duration::from_millis(saved.boot_ms)));
        Self {
            boot_id,
            start: (saved.site.resumed(gap), boot),
            longest: Cell::new(longest(told)),
            seen: Cell::new(boot),
            skipped: Cell::default(),
            stood_still: Cell::default(),
            wall,
            trusted: Cell::default(),
        }
    }

    /// This moment.
    pub fn now(&self) -> Now {
        let (wall, trust) = self.wall.look();
        if self.trusted.replace(Some(trust.is_given())) != Some(trust.is_given()) {
            if trust.is_given() {
                info!(trust = trust.words(wall), "the wall clock is trusted");
            } else {
                warn!(why = trust.words(wall), "the wall clock is not trusted: windows follow whenClockUnknown");
            }
        }
        Now { site: self.site_now(), wall: trust.is_given().then_some(wall) }
    }

    /// This moment's site time, without asking the kernel about the wall clock: for what happens often.
    pub fn site_now(&self) -> SiteTime {
        self.site(boot_clock())
    }

    /// The wall clock, for people.
    pub fn line(&self) -> ClockLine {
        let (wall, trust) = self.wall.look();
        ClockLine {
            time: wall_text(wall),
            trusted: trust.is_given(),
            synchronised: trust == Trust::Synchronised,
            why: trust.words(wall),
        }
    }

    /// While we stood still nobody could poll or report, so of a standstill only half an interval counts: that fails no
    /// deadline, all of which are several intervals long.
    fn site(&self, boot: Duration) -> SiteTime {
        let gap = boot.saturating_sub(self.seen.replace(boot));
        let beyond = gap.saturating_sub(self.longest.get());
        if !beyond.is_zero() {
            self.skipped.set(self.skipped.get() + beyond);
            self.stood_still.set(Some(self.stood_still.get().unwrap_or_default() + gap));
        }
        let (site, start) = self.start;
        site.plus(boot.saturating_sub(start).saturating_sub(self.skipped.get()))
    }

    /// How long the process stood still since this was asked last, if it did.
    pub fn stood_still(&self) -> Option<Duration> {
        self.stood_still.take()
    }

    /// Gateways are told another interval from now on.
    pub fn set_told(&self, told: Duration) {
        self.longest.set(longest(told));
    }

    /// Somebody must look at the clocks this often: for a standstill to be told from a quiet site, and for a wall clock that
    /// is set, or trusted from now on, to be noticed while nothing else happens.
    pub fn heartbeat(&self) -> Duration {
        (self.longest.get() / 2).min(LONGEST_HEARTBEAT)
    }

    /// This moment as it goes to disk.
    pub fn saved(&self, site: SiteTime) -> SavedTime {
        let boot_ms = u64::try_from(boot_clock().as_millis()).unwrap_or(u64::MAX);
        SavedTime { site, boot_id: self.boot_id.clone(), boot_ms, trusted: self.wall.mark() }
    }
}

/// A clock that is set counts after this at the latest.
const LONGEST_HEARTBEAT: Duration = Duration::from_secs(30);

/// Without a look for longer than half an interval the process stood still.
fn longest(told: Duration) -> Duration {
    told.max(Presence::SHORTEST_INTERVAL) / 2
}

/// It counts while the machine sleeps, and no person can set it.
fn boot_clock() -> Duration {
    let now = clock_gettime(ClockId::Boottime);
    let (seconds, nanos) = (u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0));
    Duration::new(seconds, nanos)
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::site::wall_clock::Reading;

    fn clock(saved: &SavedTime) -> Clock {
        Clock::resumed(saved, Duration::from_secs(60))
    }

    #[test]
    fn a_standstill_counts_for_half_an_interval_and_is_told_once() {
        let clock = clock(&SavedTime::default());
        let (site, start) = clock.start;
        let at = |seconds| clock.site(start + Duration::from_secs(seconds)).since(site).as_secs();
        assert_eq!((at(15), at(30), at(60)), (15, 30, 60), "a quiet site");
        assert_eq!(clock.stood_still(), None);

        assert_eq!(at(660), 90);
        assert_eq!((at(661), at(690)), (91, 120), "and goes on from there");
        assert_eq!(clock.stood_still(), Some(Duration::from_secs(600)));
        assert_eq!(clock.stood_still(), None);
    }

    #[test]
    fn a_clock_that_says_1970_is_no_wall_clock_until_it_is_set() {
        let said = Rc::new(Cell::new(Reading { wall: 12_000, synchronised: false }));
        let told = said.clone();
        let saved = SavedTime::default();
        let clock =
            Clock::beside(WallClock::reading(saved.trusted, move || told.get()), &saved, Duration::from_secs(60));
        let before = clock.now();
        assert_eq!(before.wall, None);
        assert!(clock.line().why.contains("1970-01-01T00:00:12Z"), "{}", clock.line().why);
        assert_eq!(clock.saved(before.site).trusted, None);

        let summer = 1_814_400_000_000;
        said.set(Reading { wall: summer, synchronised: true });
        let after = clock.now();
        assert_eq!(after.wall, Some(summer));
        assert!(after.site.since(before.site) < Duration::from_secs(10), "56 years are nothing to site time");
        assert_eq!(clock.saved(after.site).trusted, Some(summer));
        assert!(clock.heartbeat() <= Duration::from_secs(15), "by then at the latest it is noticed");
    }

    #[test]
    fn a_clock_that_is_set_is_noticed_within_half_a_minute_however_seldom_gateways_poll() {
        let clock = Clock::resumed(&SavedTime::default(), Duration::from_secs(86_000));
        assert_eq!(clock.heartbeat(), Duration::from_secs(30));
    }

    #[test]
    fn time_is_not_lost_between_looks() {
        let clock = clock(&SavedTime::default());
        let (site, start) = clock.start;
        let micros = (1..=20_000).map(|at| clock.site(start + Duration::from_micros(100 * at)));
        assert_eq!(micros.last(), Some(site.plus(Duration::from_secs(2))));
    }

    #[test]
    fn site_time_goes_on_after_a_restart_and_never_jumps() {
        let first = clock(&SavedTime::default());
        let saved = first.saved(SiteTime(5_000));
        let same_boot = clock(&saved).now().site;
        assert!(same_boot >= SiteTime(5_000) && same_boot < SiteTime(65_000));

        let other_boot = SavedTime { boot_id: "another".into(), boot_ms: 0, ..saved.clone() };
        assert!(clock(&other_boot).now().site.since(SiteTime(5_000)) < Duration::from_secs(10));

        let long_ago = SavedTime { boot_ms: 0, ..saved };
        let resumed = clock(&long_ago).start.0;
        assert!(resumed <= SiteTime(65_000), "a gap counts for a minute at most");
    }
}
