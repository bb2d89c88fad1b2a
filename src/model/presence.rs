//! Is a gateway there?

use std::fmt;
use std::time::Duration;

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

impl fmt::Display for Presence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Never => "Never",
            Self::Polling => "Polling",
            Self::Quiet => "Quiet",
            Self::Offline => "Offline",
        })
    }
}

impl Presence {
    /// rhu polls again only so long after a poll that failed.
    pub const RHU_RETRY: Duration = Duration::from_secs(300);

    /// Silence is measured in intervals of at least this. Where gateways poll more often, a shorter silence says more about
    /// a busy machine than about the gateway.
    pub const SHORTEST_INTERVAL: Duration = Duration::from_secs(5);
}
