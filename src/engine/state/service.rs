//! A service: what it was declared as, which configuration its unit runs with, and what is under way.

use std::rc::Rc;

use crate::model::{
    Config, ConfigSeen, DeclaredBy, Mark, RestartResult, RestartWhy, ServiceReason, ServiceSpec, SiteTime,
};

/// A service.
#[derive(Debug, Clone, PartialEq)]
pub struct Service {
    /// What was declared.
    pub spec: Rc<ServiceSpec>,
    /// How it was declared last.
    pub origin: DeclaredBy,
    /// The last complete list showed it, or a drop declared it.
    pub listed: bool,
    /// What its unit runs with, as far as is known; none before the first sight.
    pub applied: Option<Rc<Config>>,
    /// A restart that was decided, and of which it is not known what became.
    pub begun: Option<Begun>,
    /// A person wants it restarted, and who.
    pub ordered: Option<String>,
    /// So many restarts.
    pub restarts: u32,
    /// The newest.
    pub last: Option<LastRestart>,
    /// What of this is not on disk.
    pub now: Standing,
}

/// What is known since the process started. Not on disk.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Standing {
    /// The configuration as it was read last.
    pub seen: Option<ConfigSeen>,
    /// Since when it has been as it is.
    pub since: SiteTime,
    /// Since when it has not been what the unit runs with.
    pub differs_since: SiteTime,
    /// Why it cannot be read now.
    pub trouble: Option<(ServiceReason, String)>,
    /// Why nothing can be done about the unit, and when that is tried again.
    pub refused: Option<(ServiceReason, String, SiteTime)>,
    /// The number of the newest job.
    pub job: u64,
    /// It is wanted still.
    pub job_open: bool,
    /// What it waits for.
    pub waits: Option<ServiceReason>,
    /// When to look again although nothing happens.
    pub due: Option<SiteTime>,
}

/// A restart that was decided.
#[derive(Debug, Clone, PartialEq)]
pub struct Begun {
    /// With which configuration.
    pub config: Rc<Config>,
    /// Which run of the unit it ends: if that is another one, it has happened.
    pub before: Mark,
    /// Why.
    pub why: RestartWhy,
    /// When.
    pub at: SiteTime,
}

/// A restart that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastRestart {
    /// When it was decided, in site time.
    pub at: SiteTime,
    /// When it was over, by the wall clock in Unix milliseconds, if there was one.
    pub wall: Option<i64>,
    /// Why.
    pub why: RestartWhy,
    /// What became of it.
    pub result: RestartResult,
    /// What a person should know about it.
    pub text: String,
}

impl Service {
    /// As it is declared for the first time.
    pub fn new(spec: Rc<ServiceSpec>, origin: DeclaredBy) -> Self {
        Self {
            spec,
            origin,
            listed: true,
            applied: None,
            begun: None,
            ordered: None,
            restarts: 0,
            last: None,
            now: Standing::default(),
        }
    }

    /// Does its configuration say something else than what its unit runs with?
    pub fn differs(&self) -> bool {
        let seen = self.now.seen.as_ref().map(|seen| seen.config.hash);
        seen.is_some() && seen != self.applied.as_ref().map(|config| config.hash)
    }
}
