//! Why an artifact is not in the cache.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::fetch::RemoteError;
use crate::inside::OpenError;
use crate::model::Digest;

/// Each names the file, says what is wrong and what to do.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// The source could not be opened.
    #[error("{file} {why}")]
    Source {
        /// The file beside the manifest.
        file: PathBuf,
        /// What stands in the way.
        why: OpenError,
    },
    /// A source in the network did not give it.
    #[error("{source_name} {why}")]
    Remote {
        /// Its address.
        source_name: String,
        /// What stands in the way.
        why: RemoteError,
    },
    /// The file goes on after the size that the manifest says.
    #[error("{file} is longer than spec.artifact.sizeBytes says ({said}); correct the size, or copy the right file")]
    TooLong {
        /// The file.
        file: PathBuf,
        /// Bytes according to the manifest.
        said: u64,
    },
    /// The file ends before the size that the manifest says. The text leaves out how many bytes are there: while a file is
    /// being copied it would be another text, and so another failure to report, at every try.
    #[error(
        "{file} is shorter than spec.artifact.sizeBytes says ({said}); it may still be copying: it is tried again when it changes"
    )]
    Truncated {
        /// The file.
        file: PathBuf,
        /// Bytes that are there.
        got: u64,
        /// Bytes according to the manifest.
        said: u64,
    },
    /// Somebody wrote into the file meanwhile.
    #[error("{file} changed while it was read; it is tried again when it rests")]
    Changed {
        /// The file.
        file: PathBuf,
    },
    /// Size right, bytes wrong.
    #[error(
        "{file} has digest {got}, but spec.artifact.digest says {said}; copy the right file, or correct the digest"
    )]
    WrongDigest {
        /// The file.
        file: PathBuf,
        /// Of the bytes that are there.
        got: Digest,
        /// According to the manifest.
        said: Digest,
    },
    /// The disk is too full. The text leaves out how many bytes are free: it would be another one at every try.
    #[error(
        "{dir} has not the {needed} bytes free that are needed: what is missing of the artifact, and the reserve of {reserve} (limits.diskReserve). What nobody needs has made room already; make more, it goes on by itself"
    )]
    DiskFull {
        /// The cache.
        dir: PathBuf,
        /// Free bytes.
        free: u64,
        /// The artifact and the reserve.
        needed: u64,
        /// Of which reserve.
        reserve: u64,
    },
    /// Nothing of it is in the cache.
    #[error("{file} is not in the cache")]
    NotCached {
        /// Where it would be.
        file: PathBuf,
    },
    /// The cached bytes are not what they were.
    #[error("the cached {file} is damaged and was set aside as {aside}; check the disk. It is fetched again")]
    Damaged {
        /// Where it was.
        file: PathBuf,
        /// Where its bytes are now.
        aside: PathBuf,
    },
    /// The disk does not give its bytes.
    #[error("cannot read {file}: {why}")]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What the operating system said.
        why: io::Error,
    },
    /// The operating system says no.
    #[error("{doing} {file}: {source}")]
    Io {
        /// What was being done: a verb.
        doing: &'static str,
        /// To which file.
        file: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// The process is stopping.
    #[error("stopped")]
    Stopped,
    /// No source had it.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    AllSources(Vec<ArtifactError>),
}

impl ArtifactError {
    /// Asking again soon would cost the uplink the whole artifact for nothing.
    pub(super) fn is_costly(&self) -> bool {
        match self {
            Self::Remote { why, .. } => why.is_costly(),
            Self::AllSources(errors) => errors.iter().any(Self::is_costly),
            _ => false,
        }
    }

    /// So many bytes more have to be free; at least, if only the disk knows.
    pub(super) fn short_of(&self) -> Option<u64> {
        match self {
            Self::DiskFull { free, needed, .. } => Some(needed.saturating_sub(*free)),
            Self::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => Some(1),
            _ => None,
        }
    }

    /// It is a matter of the clock, which may be right in a moment.
    pub(super) fn is_clock(&self) -> bool {
        match self {
            Self::Remote { why, .. } => matches!(why, RemoteError::NotValidYet),
            Self::AllSources(errors) => errors.iter().any(Self::is_clock),
            _ => false,
        }
    }

    /// How long all sources asked to be left alone.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Remote { why, .. } => why.retry_after(),
            Self::AllSources(errors) => {
                errors.iter().map(Self::retry_after).collect::<Option<Vec<_>>>()?.into_iter().min()
            }
            _ => None,
        }
    }

    /// For `map_err`.
    pub(super) fn io(doing: &'static str, file: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let file = file.into();
        move |source| Self::Io { doing, file, source }
    }
}
