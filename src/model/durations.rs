//! How many of something took how long, without keeping each.

use std::time::Duration;

/// How many of something took how long.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Durations {
    counts: [u64; Self::BOUNDS.len() + 1],
    sum: Duration,
}

impl Durations {
    /// The upper bounds of what is told apart, in seconds; beyond the last one more follows.
    pub const BOUNDS: [f64; 8] = [0.0001, 0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0];

    /// One more took so long.
    pub fn add(&mut self, took: Duration) {
        let seconds = took.as_secs_f64();
        let place = Self::BOUNDS.iter().position(|bound| seconds <= *bound).unwrap_or(Self::BOUNDS.len());
        if let Some(count) = self.counts.get_mut(place) {
            *count += 1;
        }
        self.sum = self.sum.saturating_add(took);
    }

    /// All of them together, in seconds.
    pub fn sum(&self) -> f64 {
        self.sum.as_secs_f64()
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Upper bounds in seconds, the last of them infinite, with how many took at most that and more than the one before.
    pub fn buckets(&self) -> impl Iterator<Item = (f64, u64)> {
        Self::BOUNDS.into_iter().chain([f64::INFINITY]).zip(self.counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_counted_once_where_it_belongs() {
        let mut durations = Durations::default();
        for millis in [0, 1, 2, 11_000] {
            durations.add(Duration::from_millis(millis));
        }
        assert_eq!((durations.count(), durations.sum()), (4, 11.003));
        let filled: Vec<_> = durations.buckets().filter(|(_, count)| *count > 0).collect();
        assert_eq!(filled, [(0.0001, 1), (0.001, 1), (0.005, 1), (f64::INFINITY, 1)]);
    }
}
