//! Where requests under one id come from: one machine, or two that take turns.

use std::net::IpAddr;
use std::time::Duration;

use crate::model::SiteTime;

/// The last two addresses.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    current: Option<Address>,
    other: Option<Address>,
    /// Two poll in turns, since or at least since then.
    shared: Option<SiteTime>,
}

#[derive(Debug, Clone, Copy)]
struct Address {
    from: IpAddr,
    polled: Option<SiteTime>,
    /// It sent its attributes: each of two machines is asked for its own.
    sent: Option<SiteTime>,
}

impl Addresses {
    /// A request came from here; says whether they are shared if that is news. `interval` is how often the gateway polls.
    pub(super) fn asks(&mut self, from: IpAddr, polls: bool, now: SiteTime, interval: Duration) -> Option<bool> {
        if self.current.is_none_or(|address| address.from != from) {
            let known = self.other.filter(|address| address.from == from);
            self.other = self.current.replace(known.unwrap_or(Address { from, polled: None, sent: None }));
        }
        let before = self.current.and_then(|address| address.polled).filter(|_| polls);
        if let Some(current) = self.current.as_mut().filter(|_| polls) {
            current.polled = Some(now);
        }
        let elsewhere = self.other.and_then(|address| address.polled);
        match self.shared {
            // there and back again, as no machine does that moved or was renumbered
            None if before
                .zip(elsewhere)
                .is_some_and(|(before, other)| other > before && now.since(before) <= interval.saturating_mul(4)) =>
            {
                self.shared = Some(now);
                Some(true)
            }
            Some(since) if polls && now.since(elsewhere.map_or(since, |at| at.max(since))) >= interval * 2 => {
                self.shared = None;
                Some(false)
            }
            _ => None,
        }
    }

    /// Two took turns before this process started.
    pub(super) fn were_shared(&mut self, now: SiteTime) {
        self.shared = Some(now);
    }

    /// Attributes came from where the last request came from.
    pub(super) fn attributes_sent(&mut self, now: SiteTime) {
        let here = || Address { from: IpAddr::from([0, 0, 0, 0]), polled: None, sent: None };
        self.current.get_or_insert_with(here).sent = Some(now);
    }

    /// When attributes came from where the last request came from.
    pub(super) fn sent_attributes_at(&self) -> Option<SiteTime> {
        self.current.and_then(|address| address.sent)
    }
}
