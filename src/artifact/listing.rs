//! What lies in the cache, by its names alone.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::model::Digest;

/// A file in the cache.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CachedFile {
    /// What its name says that it is.
    pub kind: CachedKind,
    /// Where it is.
    pub path: PathBuf,
    /// Its length in bytes.
    pub size: u64,
    /// When it was written last.
    pub modified: Option<SystemTime>,
}

/// What the name of a file in the cache says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CachedKind {
    /// An artifact, complete.
    Artifact(Digest),
    /// One that is on its way.
    Part(Digest),
    /// What is known of one that is on its way.
    Record(Digest),
    /// One that was damaged, its bytes kept.
    Damaged,
    /// Nothing of ours.
    Other,
}

/// Where the cache of a state directory is.
pub fn cache_dir(state: &Path) -> PathBuf {
    state.join("artifacts").join("sha256")
}

/// Everything in the cache of a state directory, artifacts first; nothing if there is no cache yet.
pub fn cached_files(state: &Path) -> io::Result<Vec<CachedFile>> {
    match files_in(&cache_dir(state)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && state.is_dir() => Ok(Vec::new()),
        files => files,
    }
}

/// The same of the cache itself.
pub(super) fn files_in(dir: &Path) -> io::Result<Vec<CachedFile>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let path = entry.path();
        // it may be gone, or set aside, since the directory was read
        let Ok(metadata) = entry.metadata() else { continue };
        let name = entry.file_name();
        let kind = if metadata.is_file() { kind(&name.to_string_lossy()) } else { CachedKind::Other };
        files.push(CachedFile { kind, path, size: metadata.len(), modified: metadata.modified().ok() });
    }
    files.sort();
    Ok(files)
}

fn kind(name: &str) -> CachedKind {
    let (digits, rest) = name.split_once('.').unwrap_or((name, ""));
    match (format!("sha256:{digits}").parse(), rest) {
        (Ok(digest), "") if name == digits => CachedKind::Artifact(digest),
        (Ok(digest), "part" | "copy") => CachedKind::Part(digest),
        (Ok(digest), "resume" | "new") => CachedKind::Record(digest),
        (Ok(_), rest) if rest.starts_with("damaged-") => CachedKind::Damaged,
        _ => CachedKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_lies_there() {
        let state = tempfile::tempdir().unwrap();
        assert_eq!(cached_files(state.path()).unwrap(), []);
        let dir = cache_dir(state.path());
        std::fs::create_dir_all(&dir).unwrap();
        let hex = "ab".repeat(32);
        for name in [
            hex.clone(),
            format!("{hex}.part"),
            format!("{hex}.resume"),
            format!("{hex}.damaged-2"),
            format!("{hex}."),
            "x".into(),
        ] {
            std::fs::write(dir.join(name), "123").unwrap();
        }
        std::fs::create_dir(dir.join("cd".repeat(32))).unwrap();
        let kinds: Vec<_> = cached_files(state.path()).unwrap().into_iter().map(|file| file.kind).collect();
        let digest = format!("sha256:{hex}").parse().unwrap();
        let other = CachedKind::Other;
        let (part, record) = (CachedKind::Part(digest), CachedKind::Record(digest));
        assert_eq!(kinds, [CachedKind::Artifact(digest), part, record, CachedKind::Damaged, other, other, other]);
        assert!(cached_files(&dir.join("nowhere")).is_err());
    }
}
