//! Bytes on their way to gateways.

use std::collections::BTreeMap;

use super::link::Ask;
use crate::device::ddi::Download;

/// A transfer under way.
#[derive(Debug)]
pub(super) struct Body {
    /// Whose, as an index of the world.
    pub device: usize,
    pub download: Download,
    /// The request for it.
    pub ask: Ask,
    /// Bytes per second.
    pub speed: u64,
    /// When it began, in milliseconds.
    pub began: u64,
    /// The connection breaks after this byte.
    pub cut: Option<u64>,
}

impl Body {
    pub fn size(&self) -> u64 {
        self.download.artifact.size
    }

    /// When its last byte is about to leave, or the connection breaks.
    pub fn ends(&self) -> u64 {
        let bytes = self.cut.unwrap_or(self.download.last + 1).saturating_sub(self.download.first);
        self.began + bytes * 1_000 / self.speed.max(1) + 1
    }

    /// Bytes that the gateway has at a time, never the last one.
    pub fn have(&self, now: u64) -> u64 {
        let sent = (now - self.began) * self.speed / 1_000;
        (self.download.first + sent).min(self.cut.unwrap_or(self.download.last))
    }
}

/// All transfers, by number.
#[derive(Debug, Default)]
pub(super) struct Bodies {
    pub under_way: BTreeMap<u64, Body>,
    next: u64,
}

impl Bodies {
    pub fn begin(&mut self, body: Body) -> u64 {
        self.next += 1;
        self.under_way.insert(self.next, body);
        self.next
    }
}
