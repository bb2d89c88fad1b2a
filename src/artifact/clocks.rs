//! Whether somebody set the wall clock.

use std::time::{Duration, SystemTime};

use tokio::time::Instant;

/// A clock that is only kept right moves less.
const JUMP: Duration = Duration::from_secs(60);

/// The wall clock beside the one that never jumps, at one moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clocks {
    wall: SystemTime,
    steady: Instant,
}

impl Clocks {
    pub fn now() -> Self {
        Self { wall: SystemTime::now(), steady: Instant::now() }
    }

    /// Was the wall clock set since?
    pub fn were_set(self) -> bool {
        Self::now().differ_from(self)
    }

    fn differ_from(self, before: Self) -> bool {
        let expected = before.wall + self.steady.duration_since(before.steady);
        let ahead = self.wall.duration_since(expected);
        ahead.unwrap_or_else(|behind| behind.duration()) > JUMP
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_that_passes_is_no_jump_and_a_clock_that_is_set_is_one() {
        let before = Clocks::now();
        let hour = Duration::from_secs(3_600);
        let after = |wall| Clocks { wall: before.wall + wall, steady: before.steady + hour };
        assert!(!after(hour).differ_from(before));
        assert!(!after(hour + JUMP / 2).differ_from(before));
        assert!(after(hour * 24 * 365 * 56).differ_from(before));
        assert!(after(Duration::ZERO).differ_from(before), "back");
    }
}
