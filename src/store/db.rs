//! The store itself, synchronous: one redb database on some backend.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::Instant;

use redb::{Builder, Database, DatabaseError, ReadableDatabase, StorageBackend};

use super::encoding::{LostNote, Unreadable};
use super::error::{CommitError, OpenError, ReadError};
use super::held::Held;
use super::journal::{self, JournalPage, JournalRow, Span};
use super::record::{Batch, Snapshot};
use super::tables::{self, LoadError};
use super::watched::{Watched, Written};
use crate::model::JournalEntry;

/// redb's page cache: enough for a commit. The store is read once, at the start, and the kernel caches its file anyway;
/// 512 KiB were measured to take 0.4 MB more and to save nothing.
const CACHE: usize = 128 * 1024;

/// An open store.
#[derive(Debug)]
pub struct Db {
    database: Database,
    written: Written,
    /// The next site record takes the note of a lost store away.
    has_note: bool,
    /// A commit failed: nothing is known until the store is opened again.
    failed: bool,
}

/// What a store held when it was opened.
#[derive(Debug, Default, PartialEq)]
pub struct Recalled {
    /// Everything but the journal.
    pub snapshot: Snapshot,
    /// The store before this one was lost. Said at every opening until a batch with a site record is committed, so that a
    /// crash right after the loss cannot make it look like a new site.
    pub lost: Option<LostStore>,
}

/// A store that was set aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostStore {
    /// Where its bytes are.
    pub set_aside: PathBuf,
    /// What was wrong with it, for a person.
    pub why: String,
}

impl Db {
    /// Makes a new, empty store on an empty backend.
    pub fn create_on(backend: impl StorageBackend, written: &Written) -> Result<Self, OpenError> {
        Self::create(Watched::new(Box::new(backend), written.clone()), None, written)
    }

    /// Opens the store on a backend and reads it. Nothing is written before everything was understood.
    ///
    /// Every page is verified, after a clean end too: redb may panic on a page that rotted while the site was off, or take it
    /// at its word. Measured (500 gateways, 500 members, 10,000 rows: 2.2 MB; release build, ext4, median of 9): 9 ms to open
    /// after a crash, 8 ms after a clean end. With redb's quick-repair and no check it is 6 and 5 ms, and every commit writes
    /// 13 kB more (54 instead of 41 for one member and one row) and syncs twice: the budget is 200 ms, so it is not used.
    /// Two-phase commits are not used either: on a disk that lies about syncs they turn one lost commit into a lost store.
    pub fn open_on(backend: impl StorageBackend, written: &Written) -> Result<(Self, Recalled), OpenError> {
        Self::open(Watched::new(Box::new(backend), written.clone()), written)
    }

    pub(super) fn create(backend: Watched, note: Option<&LostNote>, written: &Written) -> Result<Self, OpenError> {
        let failed = |error: redb::Error| OpenError::Io("make a new store".into(), error_as_io(error));
        let make = || {
            let database = Builder::new().set_cache_size(CACHE).create_with_backend(backend)?;
            let transaction = database.begin_write()?;
            tables::create(&transaction, note)?;
            transaction.commit()?;
            Ok(database)
        };
        let database = make().map_err(failed)?;
        Ok(Self { database, written: written.clone(), has_note: note.is_some(), failed: false })
    }

    pub(super) fn open(backend: Watched, written: &Written) -> Result<(Self, Recalled), OpenError> {
        let failure = backend.failure();
        let disk = |error| OpenError::Io("read or write the store".into(), error);
        // redb would take an empty file for a new store, and so forget everything without a word
        if backend.len().map_err(disk)? == 0 {
            return Err(OpenError::Damaged("the file is empty".into()));
        }
        let held = Held::new(backend).map_err(disk)?;
        let opened =
            catch_unwind(AssertUnwindSafe(|| read(held.clone()))).unwrap_or_else(|panic| Err(panicked(&*panic)));
        // what redb says about bytes that it could not get says nothing about the store
        if let Some(error) = failure.get() {
            return Err(disk(error));
        }
        let (database, snapshot, note) = opened?;
        held.release().map_err(disk)?;
        let db = Self { database, written: written.clone(), has_note: note.is_some(), failed: false };
        let lost = note.map(|note| LostStore { set_aside: note.set_aside.into(), why: note.why });
        Ok((db, Recalled { snapshot, lost }))
    }

    /// Writes a batch, its time and its journal rows in one transaction, and returns once it is durable. An empty batch
    /// saves the time alone.
    ///
    /// After an error the store refuses every call until it is opened again: only then is it known what is on disk.
    pub fn commit(&mut self, batch: &Batch) -> Result<(), CommitError> {
        if self.failed {
            return Err(CommitError::MustReopen);
        }
        // set first, so that a panic within counts as a failure too
        self.failed = true;
        let begun = Instant::now();
        self.write(batch).map_err(|error| {
            self.written.commit_failed();
            CommitError::Unknown(Box::new(error))
        })?;
        self.failed = false;
        self.has_note &= batch.site.is_none();
        self.written.committed(begun.elapsed());
        Ok(())
    }

    fn write(&self, batch: &Batch) -> Result<(), redb::Error> {
        let transaction = self.database.begin_write()?;
        tables::write(&transaction, batch, self.has_note)?;
        journal::append(&transaction, &batch.journal)?;
        transaction.commit()?;
        Ok(())
    }

    /// The newest rows of the journal, the oldest of them first.
    pub fn journal(&self, limit: usize) -> Result<Vec<JournalRow>, ReadError> {
        self.journal_page(Span::Newest, limit, |_| true).map(|page| page.rows)
    }

    /// At most `limit` rows of the journal that `keep` wants.
    pub fn journal_page(
        &self,
        span: Span,
        limit: usize,
        keep: impl Fn(&JournalEntry) -> bool,
    ) -> Result<JournalPage, ReadError> {
        if self.failed {
            return Err(ReadError::MustReopen);
        }
        let read = || journal::page(&self.database.begin_read()?, span, limit, keep);
        read().map_err(|error: redb::Error| ReadError::Failed(Box::new(error)))
    }

    /// Closes the store and says whether that worked; merely dropping it is as safe as a crash, which is safe.
    pub fn close(self) -> Result<(), CommitError> {
        self.database.close().map_err(|error| CommitError::Unknown(Box::new(error.into())))
    }
}

fn read(backend: Held) -> Result<(Database, Snapshot, Option<LostNote>), OpenError> {
    let open = || Builder::new().set_cache_size(CACHE).set_check_integrity_on_open(true).create_with_backend(backend);
    let database = open().map_err(|error: DatabaseError| OpenError::Damaged(error.to_string()))?;
    let transaction = database.begin_read().map_err(|error| OpenError::Damaged(error.to_string()))?;
    let (snapshot, note) = tables::load(&transaction).map_err(unreadable)?;
    Ok((database, snapshot, note))
}

fn unreadable(error: LoadError) -> OpenError {
    match error {
        LoadError::Store(error) => OpenError::Damaged(error.to_string()),
        LoadError::Record(Unreadable::Garbage(why)) => OpenError::Damaged(why),
        LoadError::Record(Unreadable::Newer { what, found, known }) => OpenError::Newer { what, found, known },
    }
}

/// Only where panics unwind, which is in tests; a release build aborts, and the marker remembers.
fn panicked(panic: &(dyn Any + Send)) -> OpenError {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    OpenError::Damaged(format!("opening it panicked: {}", text.unwrap_or("no message")))
}

fn error_as_io(error: redb::Error) -> std::io::Error {
    match error {
        redb::Error::Io(error) => error,
        other => std::io::Error::other(other),
    }
}
