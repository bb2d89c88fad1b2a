//! Writes held back while a store is opened, so that a file which turns out to be newer or damaged keeps every byte it had.
//!
//! redb repairs while it opens. Until the records are read and understood those writes stay in memory (a few pages); then they
//! are made in their order, syncs included, so that a crash among them is one that redb knows how to survive.

use std::io;
use std::sync::{Arc, Mutex};

use redb::StorageBackend;

use super::watched::{Watched, lock};

/// A backend that can be told to let go; clones share it.
#[derive(Debug, Clone)]
pub(super) struct Held(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    inner: Watched,
    /// `None` once released.
    pending: Option<Pending>,
}

#[derive(Debug)]
struct Pending {
    len: u64,
    steps: Vec<Step>,
}

#[derive(Debug)]
enum Step {
    Write(u64, Vec<u8>),
    SetLen(u64),
    Sync,
}

impl Held {
    /// Holds everything back from now on.
    pub(super) fn new(inner: Watched) -> io::Result<Self> {
        let pending = Pending { len: inner.len()?, steps: Vec::new() };
        Ok(Self(Arc::new(Mutex::new(State { inner, pending: Some(pending) }))))
    }

    /// Makes what was held back, and holds nothing from then on.
    pub(super) fn release(&self) -> io::Result<()> {
        let mut state = lock(&self.0);
        for step in state.pending.take().map(|pending| pending.steps).unwrap_or_default() {
            match step {
                Step::Write(offset, data) => state.inner.write(offset, &data)?,
                Step::SetLen(len) => state.inner.set_len(len)?,
                Step::Sync => state.inner.sync_data()?,
            }
        }
        Ok(())
    }
}

impl Pending {
    /// Reads through: the file first, then what was written since, oldest first.
    fn read(&self, inner: &Watched, offset: u64, out: &mut [u8]) -> io::Result<()> {
        if offset.saturating_add(size(out)) > self.len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let there = inner.len()?.saturating_sub(offset).min(size(out));
        let (on_disk, beyond) = out.split_at_mut(usize::try_from(there).unwrap_or(usize::MAX).min(out.len()));
        beyond.fill(0);
        if !on_disk.is_empty() {
            inner.read(offset, on_disk)?;
        }
        for step in &self.steps {
            match step {
                Step::Write(at, data) => overlay(*at, data, offset, out),
                Step::SetLen(len) => overlay_end(*len, offset, out),
                Step::Sync => {}
            }
        }
        Ok(())
    }
}

/// Copies the part of `data`, which lies at `at`, that falls into `out`, which lies at `offset`.
fn overlay(at: u64, data: &[u8], offset: u64, out: &mut [u8]) {
    let skip_out = usize::try_from(at.saturating_sub(offset)).unwrap_or(usize::MAX);
    let skip_data = usize::try_from(offset.saturating_sub(at)).unwrap_or(usize::MAX);
    let (Some(to), Some(from)) = (out.get_mut(skip_out..), data.get(skip_data..)) else { return };
    to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
}

/// What lay beyond an end is zero, even if the file grows again.
fn overlay_end(len: u64, offset: u64, out: &mut [u8]) {
    let keep = usize::try_from(len.saturating_sub(offset)).unwrap_or(usize::MAX);
    if let Some(cut) = out.get_mut(keep..) {
        cut.fill(0);
    }
}

fn size(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

impl StorageBackend for Held {
    fn len(&self) -> io::Result<u64> {
        let state = lock(&self.0);
        match &state.pending {
            Some(pending) => Ok(pending.len),
            None => state.inner.len(),
        }
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = lock(&self.0);
        match &state.pending {
            Some(pending) => pending.read(&state.inner, offset, out),
            None => state.inner.read(offset, out),
        }
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = lock(&self.0);
        match &mut state.pending {
            Some(pending) => {
                pending.len = len;
                pending.steps.push(Step::SetLen(len));
                Ok(())
            }
            None => state.inner.set_len(len),
        }
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = lock(&self.0);
        match &mut state.pending {
            Some(pending) => {
                pending.steps.push(Step::Sync);
                Ok(())
            }
            None => state.inner.sync_data(),
        }
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut state = lock(&self.0);
        match &mut state.pending {
            Some(pending) => {
                pending.len = pending.len.max(offset.saturating_add(size(data)));
                pending.steps.push(Step::Write(offset, data.to_vec()));
                Ok(())
            }
            None => state.inner.write(offset, data),
        }
    }

    fn close(&self) -> io::Result<()> {
        lock(&self.0).inner.close()
    }
}

#[cfg(test)]
mod tests {
    use redb::backends::InMemoryBackend;

    use super::*;
    use crate::store::Written;

    fn bytes(backend: &impl StorageBackend) -> Vec<u8> {
        let mut all = vec![0; usize::try_from(backend.len().unwrap()).unwrap()];
        backend.read(0, &mut all).unwrap();
        all
    }

    #[test]
    fn what_is_held_reads_as_if_it_were_written_and_is_written_on_release() {
        let file = InMemoryBackend::new();
        file.set_len(6).unwrap();
        file.write(0, b"abcdef").unwrap();
        let written = Written::default();
        let held = Held::new(Watched::new(Box::new(file), written.clone())).unwrap();

        held.write(4, b"XY").unwrap();
        held.set_len(5).unwrap();
        held.set_len(8).unwrap();
        held.write(2, b"-").unwrap();
        held.sync_data().unwrap();

        let expected = b"ab-dX\0\0\0";
        assert_eq!(bytes(&held), expected);
        let mut middle = [0; 3];
        held.read(1, &mut middle).unwrap();
        assert_eq!(&middle, b"b-d");
        assert!(held.read(7, &mut middle).is_err());
        assert_eq!((written.bytes(), written.syncs()), (0, 0));

        held.release().unwrap();
        assert_eq!(bytes(&held), expected);
        assert_eq!((written.bytes(), written.syncs()), (3, 1));
    }
}
