//! A store that fails: what is wrong, and when it is tried again.

use std::error::Error;
use std::time::Duration;

use tokio::time::Instant;

/// How long a store that fails is left alone after the second failure in a row; it doubles up to the longest.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// A store that fails.
#[derive(Debug)]
pub(super) struct Trouble {
    /// What is wrong, for a person.
    pub why: String,
    /// It is not what was wrong the time before.
    pub is_news: bool,
    again: Instant,
    wait: Duration,
}

impl Trouble {
    /// After a failure; `before` is the trouble that did not end with the last try.
    pub fn after(before: Option<Self>, error: &dyn Error) -> Self {
        // our own words around a cause say what we do about it, which a person can do nothing about
        let why = error.source().map_or_else(|| error.to_string(), ToString::to_string);
        let now = Instant::now();
        match before {
            None => Self { why, is_news: true, again: now, wait: FIRST_WAIT },
            Some(before) => {
                let (is_news, wait) = (before.why != why, before.wait.saturating_mul(2).min(LONGEST_WAIT));
                Self { why, is_news, again: now + before.wait, wait }
            }
        }
    }

    /// When to try again.
    pub fn again(&self) -> Instant {
        self.again
    }

    /// Is it time to try again?
    pub fn is_due(&self) -> bool {
        Instant::now() >= self.again
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn the_first_try_is_at_once_and_the_wait_doubles_to_its_longest() {
        let (full, gone) = (io::Error::other("no space"), io::Error::other("no disk"));
        let mut trouble = Trouble::after(None, &full);
        assert!(trouble.is_due() && trouble.is_news);
        let mut waits = Vec::new();
        for _ in 0..8 {
            waits.push(u64::try_from(trouble.wait.as_millis()).unwrap());
            trouble = Trouble::after(Some(trouble), &full);
            assert!(!trouble.is_news);
        }
        assert_eq!(waits, [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
        assert!(!trouble.is_due());
        assert!(Trouble::after(Some(trouble), &gone).is_news);
    }
}
