//! The marker beside the store: how earlier starts ended that never got past opening it.
//!
//! redb may panic on a garbled file, and a release build aborts on a panic: without a memory outside the process the service
//! would die at the same place for ever. But a start may also die there for no fault of the file: `kill -9`, a power cut, a
//! memory limit. Setting a healthy store aside costs every hold and pause, so the two are told apart: a panic hook writes the
//! panic into the marker before the process aborts, and that sets the file aside at the next start. Deaths without a word
//! only count: a file that kills the process some other way (a stack overflow, an allocation of terabytes) is set aside after
//! [`STARTS`] of them in a row, which kills and power cuts would have to aim at a window of milliseconds five times running.

use std::cell::RefCell;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::panic;
use std::path::{Path, PathBuf};
use std::sync::Once;

use super::watched::DiskFailure;

/// So many silent deaths in a row are the file's fault.
pub(super) const STARTS: usize = 5;

const OPENING: &str = "opening";
const PANICKED: &str = "panicked";

/// The marker of one state directory: a text file to which lines are only ever added.
#[derive(Debug)]
pub(super) struct Marker {
    path: PathBuf,
}

impl Marker {
    /// The marker in a state directory.
    pub(super) fn new(state: &Path) -> Self {
        Self { path: state.join("store.opening") }
    }

    /// Why the file is not to be opened again, if it is not.
    pub(super) fn verdict(&self) -> Option<String> {
        let text = String::from_utf8_lossy(&fs::read(&self.path).ok()?).into_owned();
        if let Some(panic) = text.lines().find(|line| line.starts_with(PANICKED)) {
            return Some(format!("opening it {panic}"));
        }
        let starts = text.lines().filter(|line| *line == OPENING).count();
        (starts >= STARTS).then(|| format!("{starts} starts in a row died while opening it"))
    }

    /// Notes that opening begins. Best effort: with a full disk a healthy store must still open.
    pub(super) fn begin(&self) {
        if let Err(error) = append(&self.path, OPENING) {
            tracing::warn!(marker = %self.path.display(), %error, "a crash while opening the store would not be noticed");
        }
    }

    /// Opening ended, one way or the other: the process lives.
    pub(super) fn clear(&self) {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(marker = %self.path.display(), %error, "the store's marker cannot be removed");
            }
            _ => {}
        }
    }

    /// Runs what may panic on this thread, with the panic written down before the process goes.
    pub(super) fn guard<T>(&self, failure: DiskFailure, opening: impl FnOnce() -> T) -> T {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let previous = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                note(&info.to_string());
                previous(info);
            }));
        });
        let _armed = Armed::new(self.path.clone(), failure);
        opening()
    }
}

thread_local! {
    static GUARDED: RefCell<Option<(PathBuf, DiskFailure)>> = const { RefCell::new(None) };
}

/// While it lives, a panic of this thread goes into the marker.
struct Armed;

impl Armed {
    fn new(marker: PathBuf, failure: DiskFailure) -> Self {
        GUARDED.set(Some((marker, failure)));
        Self
    }
}

impl Drop for Armed {
    fn drop(&mut self) {
        GUARDED.set(None);
    }
}

/// In the panic hook: must not panic itself.
fn note(panic: &str) {
    let _ = GUARDED.try_with(|guarded| {
        if let Ok(guarded) = guarded.try_borrow()
            && let Some((marker, failure)) = guarded.as_ref()
            && failure.get().is_none()
        {
            let _ = append(marker, &format!("{PANICKED}: {}", panic.replace('\n', " ")));
        }
    });
}

fn append(path: &Path, line: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
    writeln!(file, "{line}")?;
    file.sync_all()?;
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silent_deaths_count_and_a_panic_speaks_at_once() {
        let state = tempfile::tempdir().unwrap();
        let marker = Marker::new(state.path());
        for _ in 1..STARTS {
            marker.begin();
            assert_eq!(marker.verdict(), None);
        }
        marker.begin();
        assert_eq!(marker.verdict().unwrap(), "5 starts in a row died while opening it");
        marker.clear();
        assert_eq!(marker.verdict(), None);

        marker.begin();
        let caught = panic::catch_unwind(|| marker.guard(DiskFailure::default(), || panic!("no such page")));
        assert!(caught.is_err());
        let why = marker.verdict().unwrap();
        assert!(why.starts_with("opening it panicked") && why.ends_with("no such page"), "{why}");
    }

    #[test]
    fn a_panic_elsewhere_leaves_no_word() {
        let state = tempfile::tempdir().unwrap();
        let marker = Marker::new(state.path());
        marker.guard(DiskFailure::default(), || ());
        assert!(panic::catch_unwind(|| panic!("something else")).is_err());
        assert_eq!(marker.verdict(), None);
    }
}
