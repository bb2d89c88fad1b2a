//! The site's rate for artifact bytes: what all bodies together may hand on, shared by turns.

use std::cell::Cell;
use std::num::NonZeroU64;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// Unused allowance of so long is kept: a timer that wakes late must not make the rate a lower one.
const CREDIT: Duration = Duration::from_millis(100);
/// No body is slower than this through us (b.0.7), in bytes a second; its chunks are no larger either, then.
const SLOWEST: usize = 1024;

/// Whose turn it is. A body that asks for its next chunk queues behind those that asked before, so that all that could
/// take more get the same; what a slow device leaves goes to the others.
#[derive(Debug)]
pub(super) struct Pace {
    rate: Option<NonZeroU64>,
    /// When what was given out so far is paid for.
    paid: Cell<Instant>,
}

impl Pace {
    /// `rate` in bytes a second; none: no limit.
    pub(super) fn new(rate: Option<NonZeroU64>) -> Self {
        Self { rate, paid: Cell::new(Instant::now()) }
    }

    /// How many bytes a turn has: small ones where they are rare, so that nobody waits long for the next.
    pub(super) fn turn_of(&self, most: usize, bodies: usize) -> usize {
        let Some(rate) = self.rate else { return most };
        let share = usize::try_from(rate.get()).unwrap_or(usize::MAX) / bodies.max(1);
        share.clamp(SLOWEST.min(most), most)
    }

    /// Waits for the turn of so many bytes, and says how long.
    pub(super) async fn wait(&self, bytes: usize) -> Duration {
        let Some(rate) = self.rate else { return Duration::ZERO };
        let now = Instant::now();
        let turn = now.checked_sub(CREDIT).map_or(now, |oldest| self.paid.get().max(oldest));
        let cost = (bytes as u64).saturating_mul(1_000_000_000) / rate;
        self.paid.set(turn + Duration::from_nanos(cost));
        if turn <= now {
            return Duration::ZERO;
        }
        sleep_until(turn).await;
        turn - now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(rate: u64) -> Pace {
        Pace::new(NonZeroU64::new(rate))
    }

    #[tokio::test(start_paused = true)]
    async fn two_that_always_want_more_get_the_same_and_together_the_rate() {
        let (pace, begin) = (pace(100_000), Instant::now());
        let take = async || {
            let mut taken = 0;
            while begin.elapsed() < Duration::from_secs(60) {
                pace.wait(1_000).await;
                taken += 1_000;
            }
            taken
        };
        let (one, other) = tokio::join!(take(), take());
        assert!((one - other as i64).abs() <= 2_000, "{one} and {other}");
        assert!((5_990_000..=6_020_000).contains(&(one + other)), "{}", one + other);
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_took_is_no_allowance() {
        let pace = pace(10_000);
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        let mut waited = Duration::ZERO;
        for _ in 0..10 {
            waited += pace.wait(1_000).await;
        }
        assert!((800..=900).contains(&waited.as_millis()), "{waited:?}");
    }

    #[test]
    fn turns_are_small_where_they_are_rare_and_never_under_a_kibibyte() {
        for (rate, turn) in [(32 << 10, 1024), (320 << 10, 10_240), (50 << 20, 16_384)] {
            assert_eq!(pace(rate).turn_of(16_384, 32), turn);
        }
        assert_eq!(Pace::new(None).turn_of(16_384, 32), 16_384);
    }
}
