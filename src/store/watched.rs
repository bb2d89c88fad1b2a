//! The bytes under redb, watched: how many are written, and whether the disk itself ever failed.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redb::StorageBackend;

use crate::model::Durations;

/// What went to disk so far; shared, cheap to read from any thread, and never reset by reopening.
#[derive(Debug, Clone, Default)]
pub struct Written(Arc<Counters>);

#[derive(Debug, Default)]
struct Counters {
    bytes: AtomicU64,
    syncs: AtomicU64,
    commits: Mutex<Durations>,
    failed: AtomicU64,
}

impl Written {
    /// Bytes handed to the file, the work of opening included.
    pub fn bytes(&self) -> u64 {
        self.0.bytes.load(Ordering::Relaxed)
    }

    /// Times the file was synced.
    pub fn syncs(&self) -> u64 {
        self.0.syncs.load(Ordering::Relaxed)
    }

    /// Batches committed.
    pub fn commits(&self) -> u64 {
        self.commit_times().count()
    }

    /// How long they took, until they were on disk.
    pub fn commit_times(&self) -> Durations {
        *lock(&self.0.commits)
    }

    /// Batches that could not be committed.
    pub fn failed(&self) -> u64 {
        self.0.failed.load(Ordering::Relaxed)
    }

    pub(super) fn committed(&self, took: Duration) {
        lock(&self.0.commits).add(took);
    }

    pub(super) fn commit_failed(&self) {
        self.0.failed.fetch_add(1, Ordering::Relaxed);
    }
}

/// Did the disk fail? redb's own words cannot say: it reports damage as an I/O error here and there, and may panic on either.
#[derive(Debug, Clone, Default)]
pub(super) struct DiskFailure(Arc<Mutex<Option<(io::ErrorKind, String)>>>);

impl DiskFailure {
    /// The first failure, if there was one.
    pub(super) fn get(&self) -> Option<io::Error> {
        lock(&self.0).as_ref().map(|(kind, text)| io::Error::new(*kind, text.clone()))
    }

    fn note<T>(&self, result: io::Result<T>) -> io::Result<T> {
        use io::ErrorKind::{InvalidInput, UnexpectedEof};
        // reading outside the file is what a garbled page number looks like, and no fault of the disk
        if let Err(error) = &result
            && !matches!(error.kind(), UnexpectedEof | InvalidInput)
        {
            lock(&self.0).get_or_insert_with(|| (error.kind(), error.to_string()));
        }
        result
    }
}

/// A backend with an eye on it.
#[derive(Debug)]
pub(super) struct Watched {
    inner: Box<dyn StorageBackend>,
    written: Written,
    failure: DiskFailure,
}

impl Watched {
    /// Watches a backend.
    pub(super) fn new(inner: Box<dyn StorageBackend>, written: Written) -> Self {
        Self { inner, written, failure: DiskFailure::default() }
    }

    /// To be asked later.
    pub(super) fn failure(&self) -> DiskFailure {
        self.failure.clone()
    }
}

/// redb's own locks are left out: the state directory's lock covers them all.
impl StorageBackend for Watched {
    fn len(&self) -> io::Result<u64> {
        self.failure.note(self.inner.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.failure.note(self.inner.read(offset, out))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.failure.note(self.inner.set_len(len))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.written.0.syncs.fetch_add(1, Ordering::Relaxed);
        self.failure.note(self.inner.sync_data())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let size = u64::try_from(data.len()).unwrap_or(u64::MAX);
        self.written.0.bytes.fetch_add(size, Ordering::Relaxed);
        self.failure.note(self.inner.write(offset, data))
    }

    fn close(&self) -> io::Result<()> {
        self.inner.close()
    }
}

/// A mutex whose holder panicked still guards plain values.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
