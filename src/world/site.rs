//! The process: the heart, the board, who is there, and one commit in flight.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use super::link::Ask;
use crate::device::ddi::{self, Pending};
use crate::device::{Attendance, Board, Pacing};
use crate::engine::Settings;
use crate::model::{ActionId, Event, GateKey, Now, SiteTime, Verdict};
use crate::site::{Core, Outlook};
use crate::store::{Batch, SavedTime, Snapshot};

/// At most so many events in a step, as in the real loop.
const MOST_EVENTS: usize = 64;

/// The real loop looks at its clocks so often.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Who waits for a verdict.
#[derive(Debug)]
pub(super) enum Waiter {
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
pub(super) struct InFlight {
    pub batch: Batch,
    pub events: Vec<Event>,
    pub verdicts: Vec<Verdict>,
    /// What the step took for the wall clock.
    pub wall: Option<i64>,
    waiters: Vec<Waiter>,
    outlook: Outlook,
}

/// What a process begins with.
pub(super) struct Start {
    pub snapshot: Snapshot,
    /// The virtual time.
    pub at: u64,
    pub boot: String,
    pub random: u32,
    pub settings: Settings,
}

/// A process of the site.
#[derive(Debug)]
pub struct Site {
    /// The heart.
    pub core: Core,
    pub(super) board: Board,
    pub(super) presence: Attendance,
    pub(super) device: ddi::Settings,
    pub(super) in_flight: Option<InFlight>,
    /// What gates should be asked.
    pub(super) gates: BTreeSet<GateKey>,
    /// They are being asked.
    pub(super) asks: bool,
    inbox: VecDeque<(Event, Waiter)>,
    boot: String,
    /// Site time is this at that virtual time.
    origin: (SiteTime, u64),
    next_due: Option<SiteTime>,
    /// The loop looks at its clocks then, as one of them was set.
    looks_at: Option<SiteTime>,
    /// What the board shows may not be what the store says.
    pub(super) stale: bool,
}

/// What to tell whom after a commit.
pub(super) struct Published {
    pub answers: Vec<(Waiter, Option<Verdict>)>,
    /// Some artifact is wanted, and that is news.
    pub wants: bool,
}

impl Site {
    /// A process that starts at a virtual time with what the store says.
    pub(super) fn start(start: Start, device: ddi::Settings) -> Self {
        let Start { snapshot, at, boot, random, settings } = start;
        let saved = &snapshot.time;
        let gap = Duration::from_millis(at.saturating_sub(saved.boot_ms));
        let time = saved.site.resumed((saved.boot_id == boot).then_some(gap));
        let pacing = Pacing { told: device.poll_interval, offline_after: settings.offline_after };
        let mut site = Self {
            core: Core::rebuild(snapshot, settings, ActionId::base(random)),
            board: Board::default(),
            presence: Attendance::new(pacing),
            device,
            in_flight: None,
            gates: BTreeSet::new(),
            asks: false,
            inbox: VecDeque::new(),
            boot,
            origin: (time, at),
            next_due: None,
            looks_at: None,
            stale: false,
        };
        site.meet_gateways(at);
        site
    }

    /// After a failed commit: the same process with what the store says now. Its time goes on.
    pub(super) fn rebuild(&mut self, start: Start) -> Vec<Waiter> {
        self.core = Core::rebuild(start.snapshot, start.settings, ActionId::base(start.random));
        // the board stays as it was until the next outlook: its links are hints
        (self.stale, self.next_due) = (true, None);
        self.meet_gateways(start.at);
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
        time.plus(Duration::from_millis(at.saturating_sub(origin)))
    }

    /// The virtual time of a site time.
    fn virtual_time(&self, time: SiteTime) -> u64 {
        let (origin, at) = self.origin;
        at.saturating_add(u64::try_from(time.since(origin).as_millis()).unwrap_or(u64::MAX))
    }

    /// The wall clock was set: the loop notices at its next heartbeat.
    pub(super) fn clock_was_set(&mut self, at: u64) {
        self.looks_at = Some(self.time(at).plus(HEARTBEAT));
    }

    pub(super) fn tell(&mut self, event: Event, waiter: Waiter) {
        self.inbox.push_back((event, waiter));
    }

    pub(super) fn is_idle(&self) -> bool {
        self.in_flight.is_none() && self.inbox.is_empty()
    }

    /// When the loop wakes although nothing happens; while it commits it looks at no clock.
    pub(super) fn wakes_at(&self) -> Option<u64> {
        if self.in_flight.is_some() {
            return None;
        }
        let due = [self.next_due, self.looks_at, self.presence.next_due()].into_iter().flatten().min()?;
        Some(self.virtual_time(due))
    }

    /// Takes what waits and steps; true if a commit is in flight now.
    pub(super) fn step(&mut self, at: u64, wall: Option<i64>) -> bool {
        let now = self.time(at);
        for event in self.presence.due(now) {
            self.tell(event, Waiter::Nobody);
        }
        let due = [self.next_due, self.looks_at].into_iter().flatten().any(|due| due <= now);
        if self.in_flight.is_some() || (self.inbox.is_empty() && !due) {
            return false;
        }
        self.looks_at = None;
        let taken = self.inbox.len().min(MOST_EVENTS);
        let (events, waiters): (Vec<_>, Vec<_>) = self.inbox.drain(..taken).unzip();
        let mut stepped = self.core.step(Now { site: now, wall }, events.clone());
        stepped.batch.time = SavedTime { site: now, boot_id: self.boot.clone(), boot_ms: at, trusted: None };
        let (batch, verdicts, outlook) = (stepped.batch, stepped.verdicts, stepped.outlook);
        self.in_flight = Some(InFlight { batch, events, verdicts, wall, waiters, outlook });
        true
    }

    /// What the step in flight left due although its time has come.
    pub(super) fn overdue(&self, at: u64) -> Option<SiteTime> {
        self.in_flight.as_ref()?.outlook.wakes_at().filter(|due| *due <= self.time(at))
    }

    /// The commit is durable: only now does anyone outside see what was decided.
    pub(super) fn publish(&mut self) -> Option<Published> {
        let InFlight { verdicts, waiters, outlook, .. } = self.in_flight.take()?;
        let wakes_at = outlook.wakes_at();
        for (id, entry) in outlook.board {
            self.board.put(id, entry);
        }
        self.board.complete();
        (self.stale, self.next_due) = (false, wakes_at);
        if let Some(gates) = outlook.gates {
            self.gates = gates;
        }
        let wants = outlook.wanted.is_some_and(|wanted| !wanted.is_empty());
        Some(Published { answers: waiters.into_iter().zip(verdicts.into_iter().map(Some)).collect(), wants })
    }
}
