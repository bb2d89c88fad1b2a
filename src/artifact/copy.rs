//! One pass over an artifact's bytes: counted, hashed three ways and, if wanted, written.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use md5::Md5;
use sha1::Sha1;
use sha2::{Digest as _, Sha256};

use super::ArtifactError;
use crate::model::{Digest, Sums, hex};

/// Large enough to be quick on eMMC, small enough not to show in the resident set.
pub(super) const BUFFER: usize = 128 * 1024;

/// What a pass over the bytes found.
pub(super) struct Pass {
    pub digest: Digest,
    pub sums: Sums,
}

/// Reads exactly `size` bytes of `from`, and writes them to `to` if there is one. `path` is the source's name, for errors.
pub(super) fn pass(
    (path, from): (&Path, &mut File),
    size: u64,
    mut to: Option<(&Path, &mut File)>,
    stop: &AtomicBool,
) -> Result<Pass, ArtifactError> {
    let before = stamp(path, from)?;
    match before.length {
        length if length > size => return Err(ArtifactError::TooLong { file: path.into(), said: size }),
        length if length < size => return Err(ArtifactError::Truncated { file: path.into(), got: length, said: size }),
        _ => {}
    }
    let mut hashes = Hashes::default();
    let mut buffer = vec![0; BUFFER];
    let mut got: u64 = 0;
    loop {
        if stop.load(Ordering::Relaxed) {
            return Err(ArtifactError::Stopped);
        }
        let read = read(from, &mut buffer).map_err(|why| ArtifactError::Unreadable { file: path.into(), why })?;
        let Some(chunk) = buffer.get(..read).filter(|chunk| !chunk.is_empty()) else { break };
        got += chunk.len() as u64;
        if got > size {
            return Err(ArtifactError::TooLong { file: path.into(), said: size });
        }
        hashes.update(chunk);
        if let Some((name, file)) = &mut to {
            file.write_all(chunk).map_err(ArtifactError::io("cannot write", *name))?;
        }
    }
    if stamp(path, from)? != before {
        return Err(ArtifactError::Changed { file: path.into() });
    }
    if got < size {
        return Err(ArtifactError::Truncated { file: path.into(), got, said: size });
    }
    Ok(hashes.finish())
}

fn read(from: &mut File, buffer: &mut [u8]) -> std::io::Result<usize> {
    loop {
        match from.read(buffer) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// What shows that somebody wrote into a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    pub(super) fn of(file: &File) -> std::io::Result<Self> {
        let metadata = file.metadata()?;
        Ok(Self {
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}

fn stamp(path: &Path, file: &File) -> Result<Stamp, ArtifactError> {
    Stamp::of(file).map_err(ArtifactError::io("cannot read", path))
}

/// The three hashes that an artifact needs, one update for all.
#[derive(Debug, Clone, Default)]
pub(super) struct Hashes {
    sha256: Sha256,
    sha1: Sha1,
    md5: Md5,
}

impl Hashes {
    pub fn update(&mut self, chunk: &[u8]) {
        self.sha256.update(chunk);
        self.sha1.update(chunk);
        self.md5.update(chunk);
    }

    pub fn finish(self) -> Pass {
        Pass {
            digest: Digest::new(self.sha256.finalize().into()),
            sums: Sums { sha1: hex(&self.sha1.finalize()), md5: hex(&self.md5.finalize()) },
        }
    }
}
