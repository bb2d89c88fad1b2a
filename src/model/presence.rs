//! Is a gateway there?

use serde::{Deserialize, Serialize};

/// What a gateway's polling says about it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Presence {
    /// It never polled since this site's store was made.
    #[default]
    Never,
    /// It polled within two of its intervals.
    Polling,
    /// It has not polled for two of its intervals.
    Quiet,
    /// It has not polled for `devices.offlineAfter`.
    Offline,
}
