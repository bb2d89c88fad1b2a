//! Orders from the site itself: the manifest directories and the drop directory.
//!
//! Owns reading them, telling what is in them, noticing that they changed, and the results beside drops. Must never decide
//! what a manifest means for a gateway, follow a path out of a directory, or write into one of manifests.

mod directory;
pub mod drops;
mod follow;
mod listing;

pub use crate::watch::{Heard, Pace, Watch, around};
pub use directory::{MANIFEST_SUFFIXES, read_file};
pub use follow::follow;
pub use listing::{Found, Manifests, found_in, listing, refuse_duplicates};
