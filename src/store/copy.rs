//! Reading the store of a site that does not run, without touching it.
//!
//! redb's own read-only open refuses a file that was not closed; so a copy in memory is repaired instead. No lock is taken:
//! a site that starts meanwhile must not be refused.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use redb::StorageBackend;
use redb::backends::InMemoryBackend;

use super::db::{Db, Recalled};
use super::directory::STORE;
use super::error::OpenError;
use super::watched::Written;

/// A copy is taken again so often if the store was written to meanwhile.
const TRIES: u32 = 5;
const CHUNK: usize = 128 * 1024;

/// Where the store of a state directory is.
pub fn store_file(state: &Path) -> PathBuf {
    state.join(STORE)
}

/// Opens a copy of the store in a state directory; `None` if there is no store.
pub fn open_copy(state: &Path) -> Result<Option<(Db, Recalled)>, OpenError> {
    let path = store_file(state);
    for _ in 0..TRIES {
        match copy(&path) {
            Ok(Some(copy)) => {
                let (db, mut recalled) = Db::open_on(copy, &Written::default())?;
                if let Some(lost) = &mut recalled.lost {
                    lost.set_aside = state.join(&lost.set_aside);
                }
                return Ok(Some((db, recalled)));
            }
            Ok(None) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(OpenError::io("read", &path, error)),
        }
    }
    Err(OpenError::InUse(state.to_owned()))
}

/// The bytes; `None` if somebody wrote meanwhile, so that they may belong to different commits.
fn copy(path: &Path) -> io::Result<Option<InMemoryBackend>> {
    let mut file = File::open(path)?;
    let before = stamp(&file)?;
    let copy = InMemoryBackend::new();
    let (mut at, mut buffer) = (0_u64, vec![0; CHUNK]);
    loop {
        let read = file.read(&mut buffer)?;
        let Some(chunk) = buffer.get(..read).filter(|chunk| !chunk.is_empty()) else { break };
        let end = at.saturating_add(chunk.len() as u64);
        copy.set_len(end)?;
        copy.write(at, chunk)?;
        at = end;
    }
    Ok((stamp(&file)? == before).then_some(copy))
}

/// What shows that somebody wrote into a file.
fn stamp(file: &File) -> io::Result<(u64, i64, i64)> {
    let metadata = file.metadata()?;
    Ok((metadata.len(), metadata.mtime(), metadata.mtime_nsec()))
}
