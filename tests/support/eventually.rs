//! Waiting for what comes sooner or later.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// Waits until there is something, on a machine that may be slow; says what never came.
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(150);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "never: {what}");
        sleep(Duration::from_millis(50));
    }
}
