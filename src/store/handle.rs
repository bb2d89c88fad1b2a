//! The store on a thread of its own: redb blocks on the disk, and the loop never does.

use std::path::Path;
use std::sync::mpsc;
use std::thread::{Builder, JoinHandle};

use tokio::sync::oneshot;

use super::db::{Db, Recalled};
use super::directory::Directory;
use super::error::{CommitError, OpenError, ReadError};
use super::journal::{JournalPage, JournalRow, Span};
use super::record::Batch;
use super::watched::Written;
use crate::model::JournalEntry;

/// Only what is touched counts as memory. Measured: a release build needs less than 16 KiB for everything, a debug build 128.
const STACK: usize = 256 * 1024;

/// The loop's end of the store. When the thread is gone, every call says so; none hangs.
#[derive(Debug)]
pub struct Handle {
    orders: mpsc::Sender<Order>,
    thread: JoinHandle<()>,
    written: Written,
}

/// Which rows of the journal are wanted.
type Keep = Box<dyn Fn(&JournalEntry) -> bool + Send>;

enum Order {
    Commit(Box<Batch>, oneshot::Sender<Result<(), CommitError>>),
    Reopen(oneshot::Sender<Result<Recalled, OpenError>>),
    Journal(Span, usize, Keep, oneshot::Sender<Result<JournalPage, ReadError>>),
    Close(oneshot::Sender<Result<(), CommitError>>),
}

impl Handle {
    /// Takes a state directory and opens its store.
    pub async fn open_directory(state: &Path) -> Result<(Self, Recalled), OpenError> {
        let directory = Directory::lock(state)?;
        let written = directory.written().clone();
        Self::open(move || directory.open(), written).await
    }

    /// Opens a store by whatever opens it, now and at every `reopen`; `written` is what that counts into.
    pub async fn open(
        open: impl FnMut() -> Result<(Db, Recalled), OpenError> + Send + 'static,
        written: Written,
    ) -> Result<(Self, Recalled), OpenError> {
        let (orders, inbox) = mpsc::channel();
        let thread = Builder::new().name("store".into()).stack_size(STACK).spawn(move || serve(&inbox, open));
        let thread = thread.map_err(|error| OpenError::Io("start the store's thread".into(), error))?;
        let handle = Self { orders, thread, written };
        match handle.reopen().await {
            Ok(recalled) => Ok((handle, recalled)),
            Err(error) => {
                // so that the state directory is free again when the caller hears of it
                let _ = handle.close().await;
                Err(error)
            }
        }
    }

    /// What went to disk so far.
    pub fn written(&self) -> &Written {
        &self.written
    }

    /// Returns once the batch is durable. After an error drop the state, `reopen` and rebuild.
    pub async fn commit(&self, batch: Batch) -> Result<(), CommitError> {
        let batch = Box::new(batch);
        self.ask(|answer| Order::Commit(batch, answer)).await.unwrap_or(Err(CommitError::Gone))
    }

    /// Closes the store and opens it again. After an error it is closed, and `reopen` may be called again.
    pub async fn reopen(&self) -> Result<Recalled, OpenError> {
        self.ask(Order::Reopen).await.unwrap_or(Err(OpenError::Gone))
    }

    /// The newest rows of the journal, the oldest of them first.
    pub async fn journal(&self, limit: usize) -> Result<Vec<JournalRow>, ReadError> {
        self.journal_page(Span::Newest, limit, |_| true).await.map(|page| page.rows)
    }

    /// At most `limit` rows of the journal that `keep` wants.
    pub async fn journal_page(
        &self,
        span: Span,
        limit: usize,
        keep: impl Fn(&JournalEntry) -> bool + Send + 'static,
    ) -> Result<JournalPage, ReadError> {
        let keep = Box::new(keep);
        self.ask(|answer| Order::Journal(span, limit, keep, answer)).await.unwrap_or(Err(ReadError::Gone))
    }

    /// Closes the store and ends its thread; the state directory is free afterwards.
    pub async fn close(self) -> Result<(), CommitError> {
        let closed = self.ask(Order::Close).await.unwrap_or(Err(CommitError::Gone));
        // it has answered, so it is on its last instructions
        let _ = self.thread.join();
        closed
    }

    async fn ask<T>(&self, order: impl FnOnce(oneshot::Sender<T>) -> Order) -> Option<T> {
        let (answer, answered) = oneshot::channel();
        self.orders.send(order(answer)).ok()?;
        answered.await.ok()
    }
}

fn serve(inbox: &mpsc::Receiver<Order>, mut open: impl FnMut() -> Result<(Db, Recalled), OpenError>) {
    let mut store: Option<Db> = None;
    while let Ok(order) = inbox.recv() {
        match order {
            Order::Commit(batch, answer) => {
                let committed = store.as_mut().map_or(Err(CommitError::MustReopen), |db| db.commit(&batch));
                let _ = answer.send(committed);
            }
            Order::Journal(span, limit, keep, answer) => {
                let page = store.as_ref().map_or(Err(ReadError::MustReopen), |db| db.journal_page(span, limit, keep));
                let _ = answer.send(page);
            }
            Order::Reopen(answer) => {
                // closed first: it may be the disk's last words that fail here, and reading comes next anyway
                drop(store.take());
                let opened = open().map(|(db, recalled)| {
                    store = Some(db);
                    recalled
                });
                let _ = answer.send(opened);
            }
            Order::Close(answer) => {
                let closed = store.take().map_or(Ok(()), Db::close);
                drop(open);
                let _ = answer.send(closed);
                return;
            }
        }
    }
}
