//! The store's place on disk: the lock, the file, and what happens to a file that is not a store any more.
//!
//! ```text
//! lock                     held as long as the process uses the directory
//! store.redb               the store; only ever complete, because it is made under another name
//! store.redb.new           one being made; worthless
//! store.redb.instead       complete, on its way to take a damaged one's place
//! store.redb.set-aside-1   a damaged one, every byte kept
//! store.opening            see `marker`
//! ```

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use redb::backends::FileBackend;
use rustix::fs::{Advice, fadvise};

use super::db::{Db, LostStore, Recalled};
use super::encoding::LostNote;
use super::error::OpenError;
use super::marker::Marker;
use super::watched::{DiskFailure, Watched, Written};

pub(super) const STORE: &str = "store.redb";
const NEW: &str = "store.redb.new";
const INSTEAD: &str = "store.redb.instead";

/// A locked state directory.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    marker: Marker,
    written: Written,
    _lock: File,
}

impl Directory {
    /// Takes the directory, which is made if it is missing. Whoever comes second touches nothing.
    pub fn lock(path: &Path) -> Result<Self, OpenError> {
        let made = fs::DirBuilder::new().recursive(true).mode(0o750).create(path);
        made.map_err(|error| OpenError::io("make the state directory", path, error))?;
        let file = path.join("lock");
        let lock = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&file);
        let lock = lock.map_err(|error| OpenError::io("open", &file, error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(OpenError::InUse(path.to_owned())),
            Err(TryLockError::Error(error)) => return Err(OpenError::io("lock", &file, error)),
        }
        Ok(Self { path: path.to_owned(), marker: Marker::new(path), written: Written::default(), _lock: lock })
    }

    /// What went to disk so far.
    pub fn written(&self) -> &Written {
        &self.written
    }

    /// Opens the store; makes a new one where none is; sets a damaged one aside and makes a new one in its place.
    ///
    /// The marker goes before a new file gets the store's name: whatever it says, it says about another file.
    pub fn open(&self) -> Result<(Db, Recalled), OpenError> {
        self.finish_replacement()?;
        if !self.exists(STORE)? {
            self.make(None)?;
            self.marker.clear();
            self.rename(NEW, STORE)?;
        } else if let Some(why) = self.marker.verdict() {
            self.replace(why)?;
        }
        match self.open_file() {
            Err(OpenError::Damaged(why)) => {
                self.replace(why)?;
                self.open_file()
            }
            other => other,
        }
    }

    fn open_file(&self) -> Result<(Db, Recalled), OpenError> {
        let backend = self.backend(STORE, OpenOptions::new().read(true).write(true))?;
        let (db, mut recalled) = self.marked(backend.failure(), || Db::open(backend, &self.written))?;
        if let Some(LostStore { set_aside, .. }) = &mut recalled.lost {
            *set_aside = self.path.join(&set_aside);
        }
        Ok((db, recalled))
    }

    /// Does what may kill the process, and leaves the marker if it does.
    fn marked<T>(&self, failure: DiskFailure, opening: impl FnOnce() -> T) -> T {
        self.marker.begin();
        let opened = self.marker.guard(failure, opening);
        self.marker.clear();
        opened
    }

    /// Makes a complete store under the name of one that is being made.
    fn make(&self, note: Option<&LostNote>) -> Result<(), OpenError> {
        let options = OpenOptions::new().read(true).write(true).create(true).truncate(true).mode(0o600).clone();
        let backend = self.backend(NEW, &options)?;
        let db = Db::create(backend, note, &self.written)?;
        db.close().map_err(|error| OpenError::io("make", &self.path.join(NEW), io::Error::other(error)))
    }

    /// Sets the store aside and puts a new one in its place that knows about it. A crash anywhere leaves either the old
    /// store where it was, or the new one complete: never nothing, which would pass for a new site.
    fn replace(&self, why: String) -> Result<(), OpenError> {
        let set_aside = self.unused_name()?;
        self.make(Some(&LostNote { set_aside: set_aside.clone(), why }))?;
        self.rename(NEW, INSTEAD)?;
        self.rename(STORE, &set_aside)?;
        self.finish_replacement()
    }

    fn finish_replacement(&self) -> Result<(), OpenError> {
        if !self.exists(INSTEAD)? {
            return Ok(());
        }
        if self.exists(STORE)? {
            // the damaged one is still there, and will be found damaged again
            let path = self.path.join(INSTEAD);
            return fs::remove_file(&path).map_err(|error| OpenError::io("remove", &path, error));
        }
        self.marker.clear();
        self.rename(INSTEAD, STORE)
    }

    fn unused_name(&self) -> Result<String, OpenError> {
        let mut number = 1_u32;
        loop {
            let name = format!("{STORE}.set-aside-{number}");
            if !self.exists(&name)? {
                return Ok(name);
            }
            number = number.saturating_add(1);
        }
    }

    fn exists(&self, name: &str) -> Result<bool, OpenError> {
        let path = self.path.join(name);
        match fs::symlink_metadata(&path) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(OpenError::io("look at", &path, error)),
        }
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), OpenError> {
        let target = self.path.join(to);
        let renamed = fs::rename(self.path.join(from), &target).and_then(|()| File::open(&self.path)?.sync_all());
        renamed.map_err(|error| OpenError::io("rename to", &target, error))
    }

    fn backend(&self, name: &str, options: &OpenOptions) -> Result<Watched, OpenError> {
        let path = self.path.join(name);
        let failed = |error| OpenError::io("open", &path, error);
        let file = options.open(&path).map_err(failed)?;
        // after a failed fsync Linux keeps the unwritten page in memory and calls it clean: read what the disk has
        let _ = fadvise(&file, 0, None, Advice::DontNeed);
        let backend = FileBackend::new(file).map_err(|error| failed(io::Error::other(error)))?;
        Ok(Watched::new(Box::new(backend), self.written.clone()))
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, ExitStatus};
    use std::{env, panic};

    use super::*;
    use crate::store::record::{Batch, SavedTime};

    const STATE: &str = "LAMPLIGHTER_TEST_STATE";

    /// Runs in a process of its own, which aborts on a panic as a release build does.
    #[test]
    #[ignore = "started by the test below"]
    fn child_that_panics_while_opening() {
        let Some(state) = env::var_os(STATE) else { return };
        panic::set_hook(Box::new(|_| std::process::abort()));
        let directory = Directory::lock(Path::new(&state)).unwrap();
        directory.marked(DiskFailure::default(), || panic!("index out of bounds: page 7\nin the middle"));
    }

    fn start_child(state: &Path) -> ExitStatus {
        let name = "store::directory::tests::child_that_panics_while_opening";
        let mut child = Command::new(env::current_exe().unwrap());
        child.args(["--exact", name, "--ignored"]).env(STATE, state).output().unwrap().status
    }

    #[test]
    fn a_process_that_aborts_in_a_panic_while_opening_sets_the_file_aside_at_the_next_start() {
        let state = tempfile::tempdir().unwrap();
        let store = state.path().join(STORE);
        let (mut db, _) = Directory::lock(state.path()).unwrap().open().unwrap();
        let time = SavedTime { boot_ms: 77, ..SavedTime::default() };
        db.commit(&Batch { time, ..Batch::default() }).unwrap();
        db.close().unwrap();
        let bytes = fs::read(&store).unwrap();

        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&start_child(state.path())), Some(6), "it aborts");
        assert_eq!(fs::read(&store).unwrap(), bytes, "and leaves the file alone");

        let directory = Directory::lock(state.path()).unwrap();
        let (_, recalled) = directory.open().unwrap();
        let lost = recalled.lost.unwrap();
        assert_eq!(fs::read(&lost.set_aside).unwrap(), bytes, "every byte is kept");
        assert!(lost.why.starts_with("opening it panicked"), "{}", lost.why);
        assert!(lost.why.contains("page 7 in the middle"), "{}", lost.why);
        assert_eq!(recalled.snapshot, crate::store::Snapshot::default());
        assert_eq!(directory.marker.verdict(), None);
    }
}
