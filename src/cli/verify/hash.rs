//! The digest of a file, with a bar for a person who waits.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sha2::{Digest as _, Sha256};

use crate::cli::screen::is_dumb;
use crate::model::Digest;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) struct Hashed {
    pub digest: Digest,
    pub size: u64,
}

/// A bar over so many bytes; it is seen only on a terminal.
pub(in crate::cli) fn bar(bytes: u64) -> ProgressBar {
    let target = if is_dumb() { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(Some(bytes), target);
    let shape = "{msg} {percent:>3} % [{wide_bar}] {eta} left";
    if let Ok(style) = ProgressStyle::with_template(shape) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}

/// The length of a plain file. Whoever runs this named it, so links are followed.
pub(in crate::cli) fn plain(path: &Path) -> io::Result<u64> {
    let metadata = fs::metadata(path)?;
    // opening a pipe would wait for ever
    if metadata.is_dir() {
        return Err(io::Error::other("it is a directory; name the files in it"));
    }
    if metadata.is_file() { Ok(metadata.len()) } else { Err(io::Error::other("it is no plain file")) }
}

/// Reads a plain file to its end.
pub(in crate::cli) fn hash(path: &Path, bar: &ProgressBar) -> io::Result<Hashed> {
    plain(path)?;
    let mut file = File::open(path)?;
    let (mut sha256, mut size, mut buffer) = (Sha256::new(), 0, vec![0; 128 * 1024]);
    loop {
        let read = match file.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        let Some(chunk) = buffer.get(..read).filter(|chunk| !chunk.is_empty()) else { break };
        sha256.update(chunk);
        size += chunk.len() as u64;
        bar.inc(chunk.len() as u64);
    }
    Ok(Hashed { digest: Digest::new(sha256.finalize().into()), size })
}
