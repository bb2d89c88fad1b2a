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
    rate: Cell<Option<NonZeroU64>>,
    /// When what was given out so far is paid for.
    paid: Cell<Instant>,
}

impl Pace {
    /// `rate` in bytes a second; none: no limit.
    pub(super) fn new(rate: Option<NonZeroU64>) -> Self {
        Self { rate: Cell::new(rate), paid: Cell::new(Instant::now()) }
    }

    /// Another rate from the next turn on. What was given out at the old one is forgotten: nobody waits for it.
    pub(super) fn set(&self, rate: Option<NonZeroU64>) {
        if self.rate.replace(rate) != rate {
            self.paid.set(Instant::now());
        }
    }

    /// How many bytes a turn has: small ones where they are rare, so that nobody waits long for the next.
    pub(super) fn turn_of(&self, most: usize, bodies: usize) -> usize {
        let Some(rate) = self.rate.get() else { return most };
        let share = usize::try_from(rate.get()).unwrap_or(usize::MAX) / bodies.max(1);
        share.clamp(SLOWEST.min(most), most)
    }

    /// Waits for the turn of so many bytes, and says how long.
    pub(super) async fn wait(&self, bytes: usize) -> Duration {
        let now = Instant::now();
        let turn = self.turn(now, bytes);
        if turn > now {
            sleep_until(turn).await;
        }
        turn.saturating_duration_since(now)
    }

    /// When it is the turn of so many bytes that are asked for now.
    fn turn(&self, now: Instant, bytes: usize) -> Instant {
        let Some(rate) = self.rate.get() else { return now };
        let turn = now.checked_sub(CREDIT).map_or(now, |oldest| self.paid.get().max(oldest));
        let cost = (bytes as u64).saturating_mul(1_000_000_000) / rate;
        self.paid.set(turn + Duration::from_nanos(cost));
        turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(rate: u64) -> Pace {
        Pace::new(NonZeroU64::new(rate))
    }

    #[test]
    fn those_that_always_want_more_get_the_same_and_together_the_rate() {
        let (pace, begin) = (pace(100_000), Instant::now());
        let (mut taken, mut next) = ([0_u32; 3], [begin; 3]);
        // whoever's turn comes first takes it and asks again, the timer being late by a millisecond now and then
        while let Some(who) =
            (0..3).min_by_key(|who| next[*who]).filter(|who| next[*who] < begin + Duration::from_mins(1))
        {
            taken[who] += 1_000;
            let late = Duration::from_micros(u64::from(taken[who] % 7_000) / 7);
            next[who] = pace.turn(next[who] + late, 1_000).max(next[who] + late);
        }
        let total: u32 = taken.iter().sum();
        assert!(taken.iter().all(|one| one.abs_diff(total / 3) <= 3_000), "{taken:?}");
        assert!((5_950_000..=6_050_000).contains(&total), "{total} bytes in a minute");
    }

    #[test]
    fn what_nobody_took_is_no_allowance() {
        let pace = pace(10_000);
        let later = Instant::now() + Duration::from_hours(1);
        let turns: Vec<_> = (0..10).map(|_| pace.turn(later, 1_000)).collect();
        assert_eq!(
            turns.last().unwrap().duration_since(later),
            Duration::from_millis(800),
            "a tenth of a second is kept"
        );
    }

    #[test]
    fn another_rate_counts_from_the_next_turn_on() {
        let (pace, now) = (pace(1_000), Instant::now());
        // an hour's worth was given out
        pace.turn(now, 3_600_000);
        pace.set(NonZeroU64::new(1_000_000));
        let first = pace.turn(Instant::now(), 1_000_000);
        assert!(first <= Instant::now(), "nobody waits for what was given out at the old rate");
        assert_eq!(pace.turn(first, 1) - first, Duration::from_secs(1));
        pace.set(None);
        assert_eq!(pace.turn(first, 1 << 40), first);
    }

    #[test]
    fn turns_are_small_where_they_are_rare_and_never_under_a_kibibyte() {
        for (rate, turn) in [(32 << 10, 1024), (320 << 10, 10_240), (50 << 20, 16_384)] {
            assert_eq!(pace(rate).turn_of(16_384, 32), turn);
        }
        assert_eq!(Pace::new(None).turn_of(16_384, 32), 16_384);
    }
}
