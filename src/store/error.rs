//! What can go wrong, told apart by what the caller must do about it.

use std::io;
use std::path::{Path, PathBuf};

/// Why a store did not open. Nothing was changed on disk, except where a damaged file was set aside before.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Somebody else holds the state directory.
    #[error("another lamplighter runs on {}: stop it, or give this one a state directory of its own", .0.display())]
    InUse(PathBuf),
    /// Written by a later release.
    #[error(
        "the store was written by a newer lamplighter ({what} has version {found}, this one knows {known}): run that release again, or one after it; nothing was changed"
    )]
    Newer {
        /// The format itself, or a kind of record.
        what: &'static str,
        /// The version on disk.
        found: u64,
        /// The newest version that this binary reads.
        known: u64,
    },
    /// The disk failed, not the store: free space or repair the disk, and open again.
    #[error("cannot {0}: {1}; nothing was set aside, free space or repair the disk and start again")]
    Io(String, #[source] io::Error),
    /// The bytes are not a store. A directory sets the file aside and never says this.
    #[error("the store is damaged: {0}")]
    Damaged(String),
    /// The store's thread has ended.
    #[error("the store's thread has ended")]
    Gone,
}

impl OpenError {
    /// An I/O error while doing something to a path.
    pub(super) fn io(doing: &str, path: &Path, source: io::Error) -> Self {
        Self::Io(format!("{doing} {}", path.display()), source)
    }
}

/// Why a commit is not known to be on disk. Whatever the variant: drop the state, reopen, rebuild.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// It may be on disk or not.
    #[error("the commit failed, and may be on disk or not until the store is reopened: {0}")]
    Unknown(#[source] Box<redb::Error>),
    /// An earlier commit failed.
    #[error("an earlier commit failed: the store must be reopened first")]
    MustReopen,
    /// The store's thread has ended.
    #[error("the store's thread has ended")]
    Gone,
}

/// Why the journal could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The disk failed.
    #[error("the journal cannot be read: {0}")]
    Failed(#[source] Box<redb::Error>),
    /// An earlier commit failed.
    #[error("an earlier commit failed: the store must be reopened first")]
    MustReopen,
    /// The store's thread has ended.
    #[error("the store's thread has ended")]
    Gone,
}
