//! Which connections are open, and which of them has no request in flight.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, timeout_at};

use super::tls::Shown;

/// An answer is handed to the socket a moment before its connection counts as idle.
const FLUSHED: Duration = Duration::from_millis(200);

/// All open connections.
#[derive(Debug, Default)]
pub(super) struct Slots {
    open: RefCell<BTreeMap<u64, Open>>,
    next: Cell<u64>,
    changed: Notify,
}

#[derive(Debug)]
struct Open {
    task: Option<AbortHandle>,
    address: IpAddr,
    /// The certificates that its device showed.
    shown: Option<Shown>,
    /// It is one of its address's share; the others wait, unread, until one of them ends.
    admitted: bool,
    /// Without a request since; `None` while there is one.
    idle: Option<Instant>,
}

impl Open {
    /// When it may be closed for another: at once if it is none of its address's share.
    fn closable(&self, grace: Duration) -> Option<Instant> {
        self.idle.map(|since| if self.admitted { since + grace } else { since })
    }
}

/// One open connection, as long as it lives.
#[derive(Debug)]
pub(super) struct Slot {
    id: u64,
    slots: Rc<Slots>,
    requests: Cell<u64>,
}

/// A request in flight, until the last byte of its answer is handed on.
#[derive(Debug)]
pub(super) struct Busy(Rc<Slot>);

impl Slots {
    /// A place for a new connection, which has no request yet; its turn comes at once if its address has fewer than `most`.
    pub(super) fn take(self: &Rc<Self>, address: IpAddr, most: usize) -> Rc<Slot> {
        let id = self.next.get();
        self.next.set(id + 1);
        let admitted = self.admitted(address) < most;
        let open = Open { task: None, address, shown: None, admitted, idle: Some(Instant::now()) };
        self.open.borrow_mut().insert(id, open);
        Rc::new(Slot { id, slots: Rc::clone(self), requests: Cell::new(0) })
    }

    pub(super) fn count(&self) -> usize {
        self.open.borrow().len()
    }

    /// Waits until fewer than `most` are open. True if a connection without a request was closed for it. While all have
    /// one, or had none for less than `grace`, newcomers wait: requests end, every one has its deadline, and a request
    /// that is on its way to a fresh connection must not meet a closed one.
    pub(super) async fn room(&self, most: &Cell<usize>, grace: Duration) -> bool {
        let mut evicted = false;
        while self.count() >= most.get() {
            evicted |= self.close_or_wait(self.first_to_go(grace)).await;
        }
        evicted
    }

    /// Closes the connection that goes first, or waits until it may be closed or anything changes.
    async fn close_or_wait(&self, first: Option<(Instant, u64)>) -> bool {
        match first {
            None => self.changed.notified().await,
            Some((at, id)) if at <= Instant::now() => {
                self.close_one(id);
                return true;
            }
            Some((at, _)) => _ = timeout_at(at, self.changed.notified()).await,
        }
        false
    }

    /// Closes a connection without a request.
    pub(super) fn evict(&self) {
        if let Some((_, id)) = self.first_to_go(Duration::ZERO) {
            self.close_one(id);
        }
    }

    /// Of the connections without a request: one of the address that has most open, and of those the oldest. So one
    /// address that opens many pushes out its own before anybody else's.
    fn first_to_go(&self, grace: Duration) -> Option<(Instant, u64)> {
        let open = self.open.borrow();
        let mut of = BTreeMap::<IpAddr, usize>::new();
        open.values().for_each(|open| *of.entry(open.address).or_default() += 1);
        let candidates = open.iter().filter_map(|(id, open)| Some((open.closable(grace)?, *id, open.address)));
        let order = |(at, id, address): &(Instant, u64, IpAddr)| {
            (Reverse(of.get(address).copied().unwrap_or_default()), *at, *id)
        };
        candidates.min_by_key(order).map(|(at, id, _)| (at, id))
    }

    /// The one of an address's share that has been without a request for longest.
    fn oldest_of(&self, address: IpAddr, grace: Duration) -> Option<(Instant, u64)> {
        let open = self.open.borrow();
        let own = open.iter().filter(|(_, open)| open.address == address && open.admitted);
        own.filter_map(|(id, open)| Some((open.closable(grace)?, *id))).min()
    }

    fn admitted(&self, address: IpAddr) -> usize {
        self.open.borrow().values().filter(|open| open.address == address && open.admitted).count()
    }

    fn close_one(&self, id: u64) {
        if let Some(task) = self.open.borrow_mut().remove(&id).and_then(|open| open.task) {
            task.abort();
        }
        self.changed.notify_waiters();
    }

    /// What bounds them has changed: whoever waits looks again.
    pub(super) fn bounds_changed(&self) {
        self.changed.notify_waiters();
    }

    /// Closes the connections whose devices showed certificates that are not trusted any more, whatever they are doing; how
    /// many.
    pub(super) fn close_untrusted(&self, trusts: impl Fn(&Shown) -> bool) -> usize {
        let untrusted = |open: &Open| open.shown.as_ref().is_some_and(|shown| !trusts(shown));
        let count = self.open.borrow().values().filter(|open| untrusted(open)).count();
        self.abort(untrusted);
        count
    }

    /// Closes connections as they become idle, and the rest when time is up.
    pub(super) async fn close(&self, patience: Duration) {
        let end = Instant::now() + patience;
        while self.count() > 0 && Instant::now() < end {
            self.abort(|open| open.idle.is_some_and(|since| since.elapsed() >= FLUSHED));
            sleep(FLUSHED / 4).await;
        }
        self.abort(|_| true);
    }

    fn abort(&self, which: impl Fn(&Open) -> bool) {
        self.open
            .borrow()
            .values()
            .filter(|open| which(open))
            .filter_map(|open| open.task.as_ref())
            .for_each(AbortHandle::abort);
    }
}

impl Slot {
    /// Waits until its address has fewer than `most` connections that are served, closing one of them that is without a
    /// request. True if it had to wait for another's request to end, or closed one.
    pub(super) async fn turn(&self, address: IpAddr, most: &Cell<usize>, grace: Duration) -> bool {
        if self.slots.open.borrow().get(&self.id).is_some_and(|open| open.admitted) {
            return false;
        }
        while self.slots.admitted(address) >= most.get() {
            self.slots.close_or_wait(self.slots.oldest_of(address, grace)).await;
        }
        self.edit(|open| (open.admitted, open.idle) = (true, Some(Instant::now())));
        true
    }

    /// What to abort when the connection is evicted.
    pub(super) fn runs_in(&self, task: AbortHandle) {
        self.edit(|open| open.task = Some(task));
    }

    /// The handshake is done, and the device showed these certificates in it: from now on it waits for its first request.
    pub(super) fn greeted(&self, shown: Option<Shown>) {
        self.edit(|open| (open.shown, open.idle) = (shown, Some(Instant::now())));
    }

    /// A request has arrived.
    pub(super) fn busy(self: &Rc<Self>) -> Busy {
        self.requests.set(self.requests.get() + 1);
        self.edit(|open| open.idle = None);
        Busy(Rc::clone(self))
    }

    /// Which request it waits for, if it waits.
    pub(super) fn waits_for(&self) -> Option<u64> {
        let open = self.slots.open.borrow();
        open.get(&self.id).and_then(|open| open.idle).map(|_| self.requests.get())
    }

    fn edit(&self, edit: impl FnOnce(&mut Open)) {
        if let Some(open) = self.slots.open.borrow_mut().get_mut(&self.id) {
            edit(open);
        }
    }
}

impl Busy {
    /// Waits before the request is looked at. Meanwhile the connection may be closed for another.
    pub(super) async fn lie_by(&self, time: Duration) {
        if !time.is_zero() {
            self.0.edit(|open| open.idle = Some(Instant::now()));
            sleep(time).await;
            self.0.edit(|open| open.idle = None);
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.slots.open.borrow_mut().remove(&self.id);
        self.slots.changed.notify_waiters();
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.edit(|open| open.idle = Some(Instant::now()));
        self.0.slots.changed.notify_waiters();
    }
}
