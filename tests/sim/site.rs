//! The process: the heart, the board, who is there, and one commit in flight.

use std::collections::VecDeque;

use lamplighter::device::ddi::Pending;
use lamplighter::device::{Attendance, Board, Pacing};

use lamplighter::model::{ActionId, Event, Now, SiteTime, Verdict};
use lamplighter::site::{Core, Outlook};
use lamplighter::store::{Batch, SavedTime, Snapshot};

use crate::fleet::{OFFLINE_AFTER, POLL, settings};
use crate::link::Ask;

/// At most so many events in a step, as in the real loop.
const MOST_EVENTS: usize = 64;

/// Who waits for a verdict.
#[derive(Debug)]
pub enum Waiter {
    Nobody,
    /// A gateway with an open request.
    Request(usize, Ask, Pending),
    /// A gateway that asked for bytes.
    FirstByte(u64),
    /// A transfer that holds back its last byte.
    LastByte(u64),
}

/// A step that is being committed.
#[derive(Debug)]
pub struct InFlight {
    pub batch: Batch,
    pub events: Vec<Event>,
    pub verdicts: Vec<Verdict>,
    waiters: Vec<Waiter>,
    outlook: Outlook,
}

#[derive(Debug)]
pub struct Site {
    pub core: Core,
    pub board: Board,
    pub presence: Attendance,
    pub in_flight: Option<InFlight>,
    inbox: VecDeque<(Event, Waiter)>,
    /// Site time is this at that virtual time.
    origin: (SiteTime, u64),
    next_due: Option<SiteTime>,
    /// What the board shows may not be what the store says.
    pub stale: bool,
}

/// What to tell whom after a commit.
pub struct Published {
    pub answers: Vec<(Waiter, Option<Verdict>)>,
    pub outlook: Outlook,
}

impl Site {
    /// A process that starts at a virtual time with what the store says.
    pub fn start(snapshot: Snapshot, at: u64, boot: &str, random: u32, slots: u32) -> Self {
        let saved = snapshot.time.clone();
        let gap = std::time::Duration::from_millis(at.saturating_sub(saved.boot_ms));
        let time = saved.site.resumed((saved.boot_id == boot).then_some(gap));
        let mut site = Self {
            core: Core::rebuild(snapshot, settings(slots), ActionId::base(random)),
            board: Board::default(),
            presence: Attendance::new(Pacing { told: POLL, offline_after: OFFLINE_AFTER }),
            in_flight: None,
            inbox: VecDeque::new(),
            origin: (time, at),
            next_due: None,
            stale: false,
        };
        site.meet_gateways(at);
        site
    }

    /// After a failed commit: the same process with what the store says now. Its time goes on.
    pub fn rebuild(&mut self, snapshot: Snapshot, at: u64, random: u32, slots: u32) -> Vec<Waiter> {
        self.core = Core::rebuild(snapshot, settings(slots), ActionId::base(random));
        // the board stays as it was until the next outlook: its links are hints
        (self.stale, self.next_due) = (true, None);
        self.meet_gateways(at);
        let flying = self.in_flight.take().into_iter().flat_map(|flying| flying.waiters);
        flying.chain(self.inbox.drain(..).map(|(_, waiter)| waiter)).collect()
    }

    fn meet_gateways(&mut self, at: u64) {
        let now = self.time(at);
        let state = self.core.state();
        let known = state.gateways.iter();
        let known = known.map(|(id, g)| (id.clone(), g.presence, state.comes_by(g), g.client)).collect::<Vec<_>>();
        self.presence.start(now, known);
    }

    /// Site time at a virtual time.
    pub fn time(&self, at: u64) -> SiteTime {
        let (time, origin) = self.origin;
        time.plus(std::time::Duration::from_millis(at - origin))
    }

    /// The virtual time of a site time.
    fn virtual_time(&self, time: SiteTime) -> u64 {
        let (origin, at) = self.origin;
        at + u64::try_from(time.since(origin).as_millis()).unwrap()
    }

    pub fn tell(&mut self, event: Event, waiter: Waiter) {
        self.inbox.push_back((event, waiter));
    }

    pub fn is_idle(&self) -> bool {
        self.in_flight.is_none() && self.inbox.is_empty()
    }

    /// When the loop wakes although nothing happens; while it commits it looks at no clock.
    pub fn wakes_at(&self) -> Option<u64> {
        if self.in_flight.is_some() {
            return None;
        }
        let due = [self.next_due, self.presence.next_due()].into_iter().flatten().min()?;
        Some(self.virtual_time(due))
    }

    /// Takes what waits and steps; true if a commit is in flight now.
    pub fn step(&mut self, at: u64, boot: &str) -> bool {
        let now = self.time(at);
        for event in self.presence.due(now) {
            self.tell(event, Waiter::Nobody);
        }
        let due = self.next_due.is_some_and(|due| due <= now);
        if self.in_flight.is_some() || (self.inbox.is_empty() && !due) {
            return false;
        }
        let taken = self.inbox.len().min(MOST_EVENTS);
        let (events, waiters): (Vec<_>, Vec<_>) = self.inbox.drain(..taken).unzip();
        let wall = Some(i64::try_from(at).unwrap());
        let mut stepped = self.core.step(Now { site: now, wall }, events.clone());
        assert_eq!(stepped.verdicts.len(), events.len());
        let next_due = stepped.outlook.next_due;
        assert!(next_due.is_none_or(|due| due > now), "at {now:?} something is due at {next_due:?}: a busy loop");
        stepped.batch.time = SavedTime { site: now, boot_id: boot.into(), boot_ms: at };
        let (batch, verdicts, outlook) = (stepped.batch, stepped.verdicts, stepped.outlook);
        self.in_flight = Some(InFlight { batch, events, verdicts, waiters, outlook });
        true
    }

    /// The commit is durable: only now does anyone outside see what was decided.
    pub fn publish(&mut self) -> Published {
        let InFlight { verdicts, waiters, outlook, .. } = self.in_flight.take().expect("a commit is in flight");
        for (id, entry) in &outlook.board {
            self.board.put(id.clone(), entry.clone());
        }
        self.board.complete();
        (self.stale, self.next_due) = (false, outlook.next_due);
        Published { answers: waiters.into_iter().zip(verdicts.into_iter().map(Some)).collect(), outlook }
    }
}
