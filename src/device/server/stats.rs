//! What the server counts, for status and metrics. Totals since the start but for `open`.

use std::cell::Cell;

/// The counts at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections open now.
    pub open: u64,
    /// Connections accepted.
    pub accepted: u64,
    /// Connections without a request that were closed to make room.
    pub evicted: u64,
    /// Connections that had to wait because their address had its share.
    pub held_back: u64,
    /// TLS handshakes that failed or took too long.
    pub handshakes_failed: u64,
    /// Requests answered or cut.
    pub requests: u64,
    /// Requests without a right token.
    pub unauthorized: u64,
    /// Requests under a controller id that nobody declared.
    pub unknown: u64,
    /// Requests told to try again.
    pub busy: u64,
    /// Artifact bytes handed to sockets.
    pub served_bytes: u64,
    /// Artifact bodies that ended early through a fault of ours.
    pub broken: u64,
}

/// The counters.
#[derive(Debug, Default)]
pub struct Stats(Cell<Counts>);

impl Stats {
    /// The counts now.
    pub fn now(&self) -> Counts {
        self.0.get()
    }

    pub(super) fn count(&self, change: impl FnOnce(&mut Counts)) {
        let mut counts = self.0.get();
        change(&mut counts);
        self.0.set(counts);
    }
}
