//! What is written into the drop directory: results beside drops, and refused drops with their reason.
//!
//! Everything goes through the directory's own handle and replaces names, so that no link is ever followed.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, open, openat, renameat, statat, unlinkat};
use rustix::io::Errno;

use super::folder::{RESULT_SUFFIX, stem};
use crate::inside::{OpenError, open_plain};

/// Where refused drops go.
const REJECTED: &str = "rejected";
/// Hidden, so that it is never taken for a drop.
const NEW: &str = ".lamplighter.new";
/// So often the same name may be refused before somebody tidies up.
const MOST_OF_A_NAME: u32 = 1_000;
/// No result is longer.
const LONGEST: u64 = 1 << 20;

/// Writes a result, if it is another one than there is. False: it was there already.
pub(super) fn write(dir: &Path, stem: &str, content: &str) -> io::Result<bool> {
    let name = format!("{stem}{RESULT_SUFFIX}");
    if read(dir, &name).is_some_and(|there| there == content.as_bytes()) {
        return Ok(false);
    }
    replace(directory(dir)?.as_fd(), &name, content.as_bytes()).map(|()| true)
}

/// The result of a manifest that is gone says nothing any more.
pub(super) fn remove(dir: &Path, stem: &str) {
    if let Ok(dir) = directory(dir) {
        // on a stick that was pulled out it is gone anyway
        let _ = unlinkat(dir, format!("{stem}{RESULT_SUFFIX}"), AtFlags::empty());
    }
}

/// Moves a refused manifest out of the way; says where it is now. What it is does not matter, as it is not opened.
pub(super) fn reject(dir: &Path, name: &str, why: &str) -> io::Result<String> {
    let from = directory(dir)?;
    if open_plain(dir, name).is_err_and(|error| matches!(error, OpenError::Special("a directory"))) {
        return Err(io::Error::other("it may hold anything"));
    }
    match mkdirat(&from, REJECTED, Mode::from_raw_mode(0o755)) {
        Err(error) if error != Errno::EXIST => return Err(error.into()),
        _ => {}
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let to = openat(&from, REJECTED, flags, Mode::empty())?;
    let free = free_name(&to, name)?;
    let reason = format!(
        "{name} was refused, and nothing of it was acted on.\n\n{why}\n\nCorrect the file and put it into the drop \
         directory again. Artifacts that lie there stay there.\n"
    );
    // first, so that nothing is ever refused without a reason
    replace(to.as_fd(), &format!("{}.reason.txt", stem(&free).unwrap_or(&free)), reason.as_bytes())?;
    renameat(&from, name, &to, free.as_str())?;
    let _ = rustix::fs::fsync(&to);
    Ok(format!("{REJECTED}/{free}"))
}

fn free_name(dir: &OwnedFd, name: &str) -> io::Result<String> {
    let (stem, suffix) = stem(name).and_then(|stem| Some((stem, name.get(stem.len()..)?))).unwrap_or((name, ""));
    for n in 1..MOST_OF_A_NAME {
        let free = if n == 1 { name.to_owned() } else { format!("{stem}-{n}{suffix}") };
        match statat(dir, free.as_str(), AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(free),
            Err(error) => return Err(error.into()),
            Ok(_) => {}
        }
    }
    Err(io::Error::other(format!("{REJECTED}/ has {MOST_OF_A_NAME} files of this name; tidy up")))
}

fn directory(dir: &Path) -> io::Result<OwnedFd> {
    Ok(open(dir, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}

/// A new file takes the name's place once all of it is on the disk.
fn replace(dir: BorrowedFd<'_>, name: &str, content: &[u8]) -> io::Result<()> {
    let written = fill(dir, content).and_then(|()| Ok(renameat(dir, NEW, dir, name)?));
    if written.is_err() {
        let _ = unlinkat(dir, NEW, AtFlags::empty());
    }
    written
}

fn fill(dir: BorrowedFd<'_>, content: &[u8]) -> io::Result<()> {
    match unlinkat(dir, NEW, AtFlags::empty()) {
        Err(error) if error != Errno::NOENT => return Err(error.into()),
        _ => {}
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(openat(dir, NEW, flags, Mode::from_raw_mode(0o644))?);
    file.write_all(content)?;
    file.sync_data()
}

fn read(dir: &Path, name: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    open_plain(dir, name).ok()?.take(LONGEST).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
