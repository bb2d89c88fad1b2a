//! What is seen of a service's configuration and of its unit, and what is to be done to the unit.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Digest, Health, Method, ServiceName, ServiceReason, ServiceSpec, UnitName};

/// A configuration as it was read. Hashes only: what is in it may be secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Config {
    /// Over all names and bytes of all sources, in order.
    pub hash: Digest,
    /// The beginning of each key's own hash, so that it can be told which changed; of the first [`Config::MOST_KEYS`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub keys: BTreeMap<String, u32>,
}

impl Config {
    /// Of so many keys it is known whether they changed.
    pub const MOST_KEYS: usize = 64;

    /// The keys in which it differs from another, for a person.
    pub fn changed_from<'c>(&'c self, before: &'c Self) -> Vec<&'c str> {
        let differs = |(key, hash): &(&String, &u32)| before.keys.get(*key) != Some(*hash);
        let gone = before.keys.keys().filter(|key| !self.keys.contains_key(*key));
        let mut keys: Vec<&str> =
            self.keys.iter().filter(differs).map(|(key, _)| key).chain(gone).map(String::as_str).collect();
        keys.sort_unstable();
        keys
    }
}

/// What was read of a service's configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigSeen {
    /// What it says.
    pub config: Rc<Config>,
    /// When it last changed on this machine, by the wall clock in Unix milliseconds.
    pub changed: Option<i64>,
    /// Changes are found late, and why.
    pub degraded: Option<String>,
    /// Changes are never seen, and why.
    pub fixed: Option<String>,
}

/// What became of looking at a service's configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigFact {
    /// It was read.
    Seen(ConfigSeen),
    /// It cannot be, and why.
    Trouble(ServiceReason, String),
}

/// What is read for a service.
pub type Watched = (ServiceName, Rc<ServiceSpec>);

/// What tells one run of a unit from another.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// systemd's id of the run.
    pub invocation: String,
    /// When the unit's state last changed, in microseconds since boot: a reload has no id of its own.
    pub changed: u64,
}

/// Something to be done about a unit. The same number is done once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitJob {
    /// For which service.
    pub service: ServiceName,
    /// Which of its jobs.
    pub number: u64,
    /// The unit.
    pub unit: UnitName,
    /// What.
    pub task: UnitTask,
}

/// What is done about a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnitTask {
    /// Say how it stands.
    Look,
    /// Bring it to its new configuration, unless it is no longer the run of this mark: then that has happened.
    Restart {
        /// How.
        method: Method,
        /// As it was when that was decided.
        before: Mark,
        /// What shows that it came back.
        health: Option<Health>,
    },
}

/// What is known of a unit after a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnitFact {
    /// It runs or failed: it can be restarted.
    Ready {
        /// Which run it is.
        mark: Mark,
        /// For how long it has been running, if it is.
        up: Option<Duration>,
    },
    /// It is stopped: it reads its configuration when it is started.
    Idle {
        /// Which run was the last.
        mark: Mark,
    },
    /// Nothing can be done about it now, and why.
    Refused(ServiceReason, String),
    /// It was restarted, with what result; and what a person should know about that.
    Ended(RestartResult, String),
}

/// Why a unit is restarted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RestartWhy {
    /// Its configuration changed.
    Changed,
    /// It was seen for the first time, and runs since before its configuration changed.
    StartedBefore,
    /// A person said so.
    Ordered,
}

/// What became of a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RestartResult {
    /// It runs, and is healthy as far as that was asked.
    Done,
    /// It did not come back.
    Failed,
    /// It came back, and its health check failed.
    Unhealthy,
}
