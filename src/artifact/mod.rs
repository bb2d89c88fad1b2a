//! Artifacts: fetch, verify, keep, open.
//!
//! Owns the files under `<state>/artifacts`. Must never serve or name a byte that it has not verified in this process, decide
//! who gets an artifact, tell a host another host's password, or delete bytes that it cannot explain.

mod cache;
mod clocks;
mod copy;
mod error;
mod fetch;
mod job;
mod keeper;
mod listing;
mod part;
mod progress;
mod room;

pub use cache::Cache;
pub use error::ArtifactError;
pub use fetch::{CredentialError, LeastSpeed, RemoteError, Uplink};
pub use keeper::{Keeper, Patience};
pub use listing::{CachedFile, CachedKind, cache_dir, cached_files};
pub use progress::Progress;
pub use room::Freed;
