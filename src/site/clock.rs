//! Site time from the kernel's boot clock, and back again after a restart.

use std::fs;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::model::{Now, SiteTime};
use crate::store::SavedTime;

/// The site's clock.
#[derive(Debug)]
pub struct Clock {
    boot_id: String,
    /// Site time when this process started, and the boot clock then.
    start: (SiteTime, Duration),
}

impl Clock {
    /// Goes on where the store says that site time was.
    pub fn resumed(saved: &SavedTime) -> Self {
        // without a boot id every start counts as another boot, which only makes deadlines later
        let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned();
        let boot = boot_clock();
        let same_boot = !boot_id.is_empty() && boot_id == saved.boot_id;
        let gap = same_boot.then(|| boot.saturating_sub(Duration::from_millis(saved.boot_ms)));
        Self { boot_id, start: (saved.site.resumed(gap), boot) }
    }

    /// This moment.
    pub fn now(&self) -> Now {
        let (site, boot) = self.start;
        let wall = jiff::Timestamp::now().as_millisecond();
        Now { site: site.plus(boot_clock().saturating_sub(boot)), wall: Some(wall) }
    }

    /// This moment as it goes to disk.
    pub fn saved(&self, site: SiteTime) -> SavedTime {
        let boot_ms = u64::try_from(boot_clock().as_millis()).unwrap_or(u64::MAX);
        SavedTime { site, boot_id: self.boot_id.clone(), boot_ms }
    }
}

/// It counts while the machine sleeps, and no person can set it.
fn boot_clock() -> Duration {
    let now = clock_gettime(ClockId::Boottime);
    let (seconds, nanos) = (u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0));
    Duration::new(seconds, nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn site_time_goes_on_after_a_restart_and_never_jumps() {
        let first = Clock::resumed(&SavedTime::default());
        let saved = first.saved(SiteTime(5_000));
        let same_boot = Clock::resumed(&saved).now().site;
        assert!(same_boot >= SiteTime(5_000) && same_boot < SiteTime(65_000));

        let other_boot = SavedTime { boot_id: "another".into(), boot_ms: 0, ..saved.clone() };
        assert!(Clock::resumed(&other_boot).now().site.since(SiteTime(5_000)) < Duration::from_secs(10));

        let long_ago = SavedTime { boot_ms: 0, ..saved };
        let resumed = Clock::resumed(&long_ago).start.0;
        assert!(resumed <= SiteTime(65_000), "a gap counts for a minute at most");
    }
}
