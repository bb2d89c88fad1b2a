//! The two clocks of a site.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Accumulated uptime of the site in milliseconds: it never jumps, and stands still while the site is off.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SiteTime(pub u64);

impl SiteTime {
    /// The most that a restart on the same boot may add, whatever the boot clock says.
    pub const LONGEST_GAP: Duration = Duration::from_secs(60);

    /// This time and a while.
    #[must_use]
    pub fn plus(self, while_: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(while_.as_millis()).unwrap_or(u64::MAX)))
    }

    /// How long ago `earlier` was; zero if it is still to come.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }

    /// Where site time goes on after a restart: on the same boot by what the boot clock says, at most a minute, so that
    /// neither a crash loop stops it nor a long stop fails anybody; on another boot where it was saved.
    #[must_use]
    pub fn resumed(self, same_boot: Option<Duration>) -> Self {
        self.plus(same_boot.unwrap_or_default().min(Self::LONGEST_GAP))
    }
}

/// The moment of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// What deadlines are measured by.
    pub site: SiteTime,
    /// The wall clock in Unix milliseconds, if it is trusted: windows are decided by it, and people read it in the journal.
    pub wall: Option<i64>,
}
