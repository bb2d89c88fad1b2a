//! The files of a manifest directory, bounded in number and size, in a fixed order.

use std::fs::DirEntry;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::inside::{OpenError, open_inside};
use crate::resources::Limits;

/// What a manifest's file name ends with.
pub const MANIFEST_SUFFIXES: [&str; 3] = [".yaml", ".yml", ".json"];
/// The most manifests in one directory.
const MOST_FILES: usize = 1_000;
/// The most names in one directory; with more it is not read at all, as any part of it would be by chance.
const MOST_ENTRIES: usize = 20_000;

/// Reads one manifest, whose length is asked before a byte of it is read. The error goes after the file's name.
pub fn read_file(dir: &Path, name: &str) -> Result<Vec<u8>, String> {
    let file = open_inside(dir, name).map_err(|error| error.to_string())?;
    let length = file.metadata().map_err(|error| format!("cannot be read: {error}"))?.len();
    if length > Limits::FILE_BYTES {
        return Err(too_long(length));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0) + 1);
    file.take(Limits::FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|error| format!("cannot be read: {error}"))?;
    if bytes.len() as u64 > Limits::FILE_BYTES {
        return Err(too_long(bytes.len() as u64));
    }
    Ok(bytes)
}

fn too_long(length: u64) -> String {
    format!("has {length} bytes; a manifest has at most {}; is it an artifact? otherwise split it", Limits::FILE_BYTES)
}

/// Calls `visit` with each manifest of a directory: its name, and its bytes or why they cannot be had. An empty name
/// stands for the directory itself. Names are in order; hidden ones and other files are left out.
pub(super) fn each_manifest(dir: &Path, mut visit: impl FnMut(&str, Result<Vec<u8>, String>)) {
    let mut names = match names(dir) {
        Ok(names) => names,
        Err(error) => return visit("", Err(format!("cannot be read: {}", in_words(&error)))),
    };
    names.retain(|name| MANIFEST_SUFFIXES.iter().any(|suffix| name.ends_with(suffix)));
    for name in names.iter().take(MOST_FILES) {
        visit(name, read_file(dir, name));
    }
    if names.len() > MOST_FILES {
        let why = format!(
            "has {} manifests, and those after the first {MOST_FILES} are not read; put several objects into one file, separated by `---`",
            names.len()
        );
        visit("", Err(why));
    }
}

pub(super) fn in_words(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::NotFound {
        "the directory does not exist; make it, it is looked for again".into()
    } else {
        error.to_string()
    }
}

/// The plain names in a directory, sorted; hidden ones left out. Names that are not UTF-8 cannot be written in a
/// manifest, so they are left out too.
fn names(dir: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for (index, entry) in std::fs::read_dir(dir)?.enumerate() {
        if index == MOST_ENTRIES {
            return Err(io::Error::other(format!(
                "it has more than {MOST_ENTRIES} entries; take out what is no manifest and no artifact"
            )));
        }
        if let Some(name) = plain_name(&entry?) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

fn plain_name(entry: &DirEntry) -> Option<String> {
    entry.file_name().into_string().ok().filter(|name| !name.starts_with('.'))
}

/// What tells one state of the directories from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fingerprint {
    /// Of every byte that a listing is made from.
    pub manifests: [u8; 32],
    /// Of what the directory says about all its files: an artifact that was copied again shows here.
    pub files: [u8; 32],
}

/// Reads everything that a listing depends on, without making one.
pub(super) fn fingerprint(dirs: &[std::path::PathBuf]) -> Fingerprint {
    let (mut manifests, mut files) = (Sha256::new(), Sha256::new());
    for dir in dirs {
        each_manifest(dir, |name, content| {
            let (kind, bytes) = match &content {
                Ok(bytes) => (b'+', bytes.as_slice()),
                Err(why) => (b'-', why.as_bytes()),
            };
            manifests.update(format!("{name}\0{}\0", bytes.len()));
            manifests.update([kind]);
            manifests.update(bytes);
        });
        manifests.update([0]);
        for name in names(dir).unwrap_or_default() {
            if let Ok(metadata) = std::fs::metadata(dir.join(&name)) {
                let (ino, length) = (metadata.ino(), metadata.len());
                let (seconds, nanos) = (metadata.mtime(), metadata.mtime_nsec());
                files.update(format!("{name}\0{ino} {length} {seconds} {nanos}\0"));
            }
        }
        files.update([0]);
    }
    Fingerprint { manifests: manifests.finalize().into(), files: files.finalize().into() }
}

/// A file that vanished between the directory's listing and its reading: a volume was swapped just then.
pub(super) fn vanished(why: &str) -> bool {
    why == OpenError::Missing.to_string()
}
