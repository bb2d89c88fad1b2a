//! The files behind `devices.tls` and `devices.tokens`: read at start, and again whenever they change.

mod follow;
mod read;

use std::cell::RefCell;

pub(super) use follow::follow;
pub use read::FileError;
pub(super) use read::Files;

/// What a person should know about these files, for `status`; empty when all is well.
#[derive(Debug, Default)]
pub(super) struct Notices(RefCell<Vec<String>>);

impl Notices {
    /// What there is now.
    pub(super) fn now(&self) -> Vec<String> {
        self.0.borrow().clone()
    }

    /// Puts what was found this time; what is new goes into the log.
    fn put(&self, found: Vec<String>) {
        for notice in found.iter().filter(|notice| !self.0.borrow().contains(notice)) {
            tracing::warn!("{notice}");
        }
        self.0.replace(found);
    }
}
