//! Which connections are open, and which of them has no request in flight.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout_at};

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
    /// Without a request since; `None` while there is one.
    idle: Option<Instant>,
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
    /// A place for a new connection, which has no request yet.
    pub(super) fn take(self: &Rc<Self>) -> Rc<Slot> {
        let id = self.next.get();
        self.next.set(id + 1);
        self.open.borrow_mut().insert(id, Open { task: None, idle: Some(Instant::now()) });
        Rc::new(Slot { id, slots: Rc::clone(self), requests: Cell::new(0) })
    }

    pub(super) fn count(&self) -> usize {
        self.open.borrow().len()
    }

    /// Waits until fewer than `most` are open. True if a connection without a request was closed for it. While all have
    /// one, or had none for less than `grace`, newcomers wait: requests end, every one has its deadline, and a request
    /// that is on its way to a fresh connection must not meet a closed one.
    pub(super) async fn room(&self, most: usize, grace: Duration) -> bool {
        let mut evicted = false;
        while self.count() >= most {
            let Some((since, id)) = self.oldest() else {
                self.changed.notified().await;
                continue;
            };
            if since.elapsed() >= grace {
                self.close_one(id);
                evicted = true;
            } else {
                _ = timeout_at(since + grace, self.changed.notified()).await;
            }
        }
        evicted
    }

    /// Closes the connection that has been without a request for longest.
    pub(super) fn evict(&self) {
        if let Some((_, id)) = self.oldest() {
            self.close_one(id);
        }
    }

    fn oldest(&self) -> Option<(Instant, u64)> {
        self.open.borrow().iter().filter_map(|(id, open)| Some((open.idle?, *id))).min()
    }

    fn close_one(&self, id: u64) {
        if let Some(task) = self.open.borrow_mut().remove(&id).and_then(|open| open.task) {
            task.abort();
        }
    }

    /// Closes connections as they become idle, and the rest when time is up.
    pub(super) async fn close(&self, patience: Duration) {
        let end = Instant::now() + patience;
        while self.count() > 0 && Instant::now() < end {
            self.abort(|open| open.idle.is_some_and(|since| since.elapsed() >= FLUSHED));
            tokio::time::sleep(FLUSHED / 4).await;
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
    /// What to abort when the connection is evicted.
    pub(super) fn runs_in(&self, task: AbortHandle) {
        if let Some(open) = self.slots.open.borrow_mut().get_mut(&self.id) {
            open.task = Some(task);
        }
    }

    /// The handshake is done: from now on it waits for its first request.
    pub(super) fn greeted(&self) {
        self.set_idle(Some(Instant::now()));
    }

    /// A request has arrived.
    pub(super) fn busy(self: &Rc<Self>) -> Busy {
        self.requests.set(self.requests.get() + 1);
        self.set_idle(None);
        Busy(Rc::clone(self))
    }

    /// Which request it waits for, if it waits.
    pub(super) fn waits_for(&self) -> Option<u64> {
        let open = self.slots.open.borrow();
        open.get(&self.id).and_then(|open| open.idle).map(|_| self.requests.get())
    }

    fn set_idle(&self, idle: Option<Instant>) {
        if let Some(open) = self.slots.open.borrow_mut().get_mut(&self.id) {
            open.idle = idle;
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.slots.open.borrow_mut().remove(&self.id);
        self.slots.changed.notify_one();
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.set_idle(Some(Instant::now()));
        self.0.slots.changed.notify_one();
    }
}
