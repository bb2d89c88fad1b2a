//! Orders from the site itself: the manifest directories.
//!
//! Owns reading them, telling what is in them and noticing that they changed. Must never decide what a manifest means for a
//! gateway, follow a path out of a directory, or write into one.

mod directory;
mod follow;
mod listing;
mod watch;

pub use directory::{MANIFEST_SUFFIXES, read_file};
pub use follow::{Pace, follow, settle};
pub use listing::{Found, Manifests, found_in, listing, refuse_duplicates};
pub use watch::{Heard, Watch};
