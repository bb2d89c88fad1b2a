//! How fast bytes may come, and how slow they must not.

use std::cell::Cell;
use std::num::NonZeroU64;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// Unused allowance of so long is kept: small enough not to show on the link, large enough for a busy machine.
const CREDIT: Duration = Duration::from_millis(250);

/// Keeps all fetches together at `uplink.bytesPerSecond`, by reading slowly: the server's sends slow down with it.
#[derive(Debug)]
pub(super) struct Pace {
    rate: Cell<Option<NonZeroU64>>,
    /// When what was taken so far is paid for.
    paid: Cell<Instant>,
}

impl Pace {
    pub fn new(rate: Option<NonZeroU64>) -> Self {
        Self { rate: Cell::new(rate), paid: Cell::new(Instant::now()) }
    }

    /// Another limit is in force, also for the fetch that is under way.
    pub fn set_rate(&self, rate: Option<NonZeroU64>) {
        self.rate.set(rate);
    }

    /// Waits until bytes that came are paid for.
    pub async fn pay(&self, bytes: usize) {
        let Some(rate) = self.rate.get() else { return };
        let now = Instant::now();
        let from = now.checked_sub(CREDIT).map_or(now, |oldest| self.paid.get().max(oldest));
        let cost = (bytes as u64).saturating_mul(1_000_000) / rate;
        let paid = from + Duration::from_micros(cost);
        self.paid.set(paid);
        if paid > now {
            sleep_until(paid).await;
        }
    }
}

/// The minimum-speed rule: instead of a total time-out, which would cut a slow but steady fetch.
#[derive(Debug, Clone, Copy)]
pub struct LeastSpeed {
    /// Without a byte for so long, an answer is given up.
    pub silence: Duration,
    /// Over so much waiting for the network …
    pub window: Duration,
    /// … so many bytes have to come.
    pub bytes: u64,
}

impl Default for LeastSpeed {
    /// 1 kB/s over a minute: the thinnest link that ever brings an artifact.
    fn default() -> Self {
        Self { silence: Duration::from_secs(30), window: Duration::from_secs(60), bytes: 60_000 }
    }
}

/// How one answer does by the rule; only waiting for the network counts, not our own pacing and writing.
#[derive(Debug, Default)]
pub(super) struct Speed {
    waited: Duration,
    bytes: u64,
}

impl Speed {
    /// Counts; is it still fast enough?
    pub fn came(&mut self, least: &LeastSpeed, waited: Duration, bytes: usize) -> bool {
        self.waited += waited;
        self.bytes += bytes as u64;
        if self.waited < least.window {
            return true;
        }
        let enough = self.bytes >= least.bytes;
        *self = Self::default();
        enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_but_steady_is_fast_enough_and_a_trickle_is_not() {
        let least = LeastSpeed::default();
        let mut steady = Speed::default();
        assert!((0..1_000).all(|_| steady.came(&least, Duration::from_secs(1), 1_100)));
        let mut trickle = Speed::default();
        assert!(!(0..1_000).all(|_| trickle.came(&least, Duration::from_secs(20), 1)));
    }

    #[tokio::test]
    async fn bytes_are_paid_for_and_idle_time_is_no_allowance() {
        let pace = Pace::new(NonZeroU64::new(10_000));
        let start = Instant::now();
        for _ in 0..10 {
            pace.pay(500).await;
        }
        assert!(start.elapsed() >= Duration::from_millis(200), "{:?}", start.elapsed());
        tokio::time::sleep(Duration::from_millis(600)).await;
        let start = Instant::now();
        pace.pay(5_000).await;
        assert!(start.elapsed() >= Duration::from_millis(200), "{:?}", start.elapsed());
    }

    #[tokio::test]
    async fn another_limit_counts_from_the_next_bytes_on() {
        let pace = Pace::new(None);
        pace.pay(usize::MAX).await;
        pace.set_rate(NonZeroU64::new(10_000));
        let start = Instant::now();
        for _ in 0..10 {
            pace.pay(500).await;
        }
        assert!(start.elapsed() >= Duration::from_millis(200), "{:?}", start.elapsed());
        pace.set_rate(None);
        pace.pay(usize::MAX).await;
    }
}
