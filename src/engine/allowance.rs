//! How much one gateway may write: each row and each change is a write to the site's disk, and rows push older ones out.

use std::time::Duration;

use crate::model::SiteTime;

/// So much in a while, then nothing until the next one begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Allowance {
    since: Option<SiteTime>,
    spent: u8,
}

/// Rows about words that change nothing: a person who looks for them sees what is going on from as many.
pub(super) const LATE_WORDS: (u8, Duration) = (16, Duration::from_secs(3_600));
/// Changes of attributes: a version changes once in weeks, and an update's progress is no attribute.
pub(super) const ATTRIBUTE_CHANGES: (u8, Duration) = (12, Duration::from_secs(60));

impl Allowance {
    /// Takes one, if there is one left.
    pub(super) fn take(&mut self, (most, each): (u8, Duration), now: SiteTime) -> bool {
        if self.since.is_none_or(|since| now.since(since) >= each) {
            *self = Self { since: Some(now), spent: 0 };
        }
        let left = self.spent < most;
        self.spent += u8::from(left);
        left
    }
}
