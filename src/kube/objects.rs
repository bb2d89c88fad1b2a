//! What is remembered of our objects in the server, which is little: who they are, and what is to be written.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use tokio::sync::Notify;
use tokio::time::Instant;
use tracing::warn;

use super::connection::Shared;
use super::item::{Item, Kind};
use super::mark::Since;
use super::news::News;
use super::requests::Requests;
use super::settings::Link;
use crate::model::{ObjectName, Uid};

/// Our objects in the server, and the link to it.
#[derive(Default)]
pub struct Objects {
    pub(super) known: RefCell<BTreeMap<ObjectName, Known>>,
    /// What happened, still to be written as events.
    pub(super) news: RefCell<Vec<News>>,
    pub(super) api: RefCell<Option<Shared>>,
    /// The cluster behind it.
    pub(super) followed: Cell<Option<Uid>>,
    /// There may be something to write.
    pub(super) to_write: Notify,
    /// All is to be read again.
    pub(super) read_again: Notify,
    /// There may be rollouts of drops that the server does not show.
    pub(super) unshown: Cell<bool>,
    /// Objects that were made for these since the link is up; the watch says what became of them.
    pub(super) shown: RefCell<Vec<String>>,
    link: RefCell<Option<Link>>,
    requests: Cell<u64>,
    writes: Cell<u64>,
    pub(super) answers: Rc<Requests>,
    /// What could not be read at all, by kind.
    undecodable: RefCell<BTreeMap<&'static str, u64>>,
}

/// An object.
#[derive(Debug)]
pub(super) struct Known {
    pub uid: Uid,
    pub generation: i64,
    /// Why it is not accepted.
    pub refused: Option<Rc<str>>,
    /// It carries our finalizer.
    pub adopted: bool,
    /// Its deletion is in our store: our finalizer may go.
    pub free: bool,
    /// What was said about it may have changed.
    pub dirty: bool,
    /// … and somebody should look at it soon.
    pub urgent: bool,
    /// What the server has of its status.
    pub mark: Option<u64>,
    pub since: Since,
    /// Nothing is written about it before.
    pub not_before: Instant,
    /// It is being written.
    pub busy: bool,
}

impl Objects {
    /// New ones.
    pub fn new() -> Rc<Self> {
        Rc::default()
    }

    /// How the link is.
    pub fn link(&self) -> Link {
        self.link.borrow().clone().unwrap_or(Link::Trying)
    }

    /// Says whether that is news.
    pub(super) fn set_link(&self, link: Link) -> bool {
        let before = self.link.replace(Some(link.clone()));
        before != Some(link)
    }

    /// What the site says about these may have changed; `urgent`: a person should hear of it soon.
    pub fn changed(&self, names: impl IntoIterator<Item = (ObjectName, bool)>) {
        let mut known = self.known.borrow_mut();
        let mut any = false;
        for (name, urgent) in names {
            if let Some(object) = known.get_mut(&name) {
                object.dirty = true;
                object.urgent |= urgent;
                any = true;
            }
        }
        if any {
            self.to_write.notify_waiters();
        }
    }

    /// Are there rollouts of drops that the server does not show?
    pub fn set_unshown(&self, there_are: bool) {
        if there_are && !self.unshown.replace(there_are) {
            self.to_write.notify_waiters();
        }
        self.unshown.set(there_are);
    }

    /// All that the server has is read again: what was said may not have been saved.
    pub fn read_again(&self) {
        self.read_again.notify_one();
    }

    /// Requests and, among these, writes since the start.
    pub fn counts(&self) -> (u64, u64) {
        (self.requests.get(), self.writes.get())
    }

    /// Requests since the start, by verb and by the code of the answer.
    pub fn answers(&self) -> Vec<(&'static str, &'static str, u64)> {
        self.answers.all()
    }

    /// How many objects could not be read at all since the start, by kind.
    pub fn undecodable(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Kind::ALL
            .map(|kind| (kind.name(), self.undecodable.borrow().get(kind.name()).copied().unwrap_or(0)))
            .into_iter()
    }

    /// An object of this kind is passed over, so that it hides no other.
    pub(super) fn cannot_read(&self, kind: Kind, error: &impl std::fmt::Display) {
        warn!(kind = kind.name(), %error, "an object of the API is not understood");
        *self.undecodable.borrow_mut().entry(kind.name()).or_default() += 1;
    }

    /// Objects about which something waits to be written.
    pub fn waiting(&self) -> usize {
        self.known.borrow().values().filter(|object| object.dirty || object.busy).count() + self.news.borrow().len()
    }

    pub(super) fn count(&self, write: bool) {
        self.requests.set(self.requests.get() + 1);
        self.writes.set(self.writes.get() + u64::from(write));
    }

    /// An object as it is in the server now. Only what is new about it is worth another look.
    pub(super) fn learn(&self, kind: Kind, name: ObjectName, item: &Item, refused: Option<&str>) {
        let mut known = self.known.borrow_mut();
        let refused: Option<Rc<str>> = refused.map(Into::into);
        let before = known.remove(&name).filter(|before| before.uid == item.metadata.uid);
        let generation = item.metadata.generation;
        let same = before.as_ref().is_some_and(|known| (known.generation, &known.refused) == (generation, &refused));
        let object = Known {
            uid: item.metadata.uid,
            generation,
            refused,
            adopted: item.is_adopted(),
            free: before.as_ref().is_some_and(|before| before.free),
            dirty: !same || before.as_ref().is_some_and(|before| before.dirty),
            urgent: before.as_ref().is_some_and(|before| before.urgent),
            // the server's word, unless a write of ours is on its way
            mark: match &before {
                Some(before) if before.busy => before.mark,
                _ => item.mark(kind),
            },
            since: item.since(),
            not_before: before.as_ref().map_or_else(Instant::now, |before| before.not_before),
            busy: before.is_some_and(|before| before.busy),
        };
        known.insert(name, object);
        drop(known);
        self.to_write.notify_waiters();
    }

    /// Does an object declare what it declared before? Most of what watches say is what we wrote into its status.
    pub(super) fn declared(&self, name: &ObjectName, item: &Item) -> bool {
        let same = |known: &Known| (known.uid, known.generation) == (item.metadata.uid, item.metadata.generation);
        self.known.borrow().get(name).is_some_and(same)
    }

    /// An object whose deletion is in our store.
    pub(super) fn set_free(&self, kind: Kind, name: &ObjectName, item: &Item) {
        self.learn(kind, name.clone(), item, None);
        if let Some(object) = self.known.borrow_mut().get_mut(name) {
            (object.free, object.dirty) = (true, false);
        }
    }

    pub(super) fn forget(&self, name: &ObjectName) {
        self.known.borrow_mut().remove(name);
    }
}

/// It is seen by the shell, which prints itself.
impl std::fmt::Debug for Objects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Objects").field("known", &self.known.borrow().len()).finish_non_exhaustive()
    }
}

impl Objects {
    /// Something happened that a person wants to hear of.
    pub fn tell(&self, news: News) {
        super::news::add(&mut self.news.borrow_mut(), news);
        self.to_write.notify_waiters();
    }
}
