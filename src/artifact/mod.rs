//! Artifacts: fetch, verify, keep, open.
//!
//! Owns the files under `<state>/artifacts`. Must never serve or name a byte that it has not verified in this process, decide
//! who gets an artifact, or delete bytes that it cannot explain.

mod cache;
mod copy;
mod error;
mod keeper;
mod listing;

pub use cache::Cache;
pub use error::ArtifactError;
pub use keeper::{Keeper, Patience};
pub use listing::{CachedFile, CachedKind, cache_dir, cached_files};
