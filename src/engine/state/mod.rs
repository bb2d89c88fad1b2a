//! What the site knows. Rebuilt from the records after every start; the few fields that are not on disk say so.

mod action;
mod gate;
mod gateway;
mod member;
mod orders;
mod rollout;
mod service;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

pub use action::Action;
pub use gate::GateSaid;
pub use gateway::{Gateway, Served};
pub use member::{Member, Step};
pub use orders::Orders;
pub use rollout::{Frozen, Rollout, Tripped, Wave};
pub use service::{Begun, LastRestart, Service, Standing};

use crate::model::{
    ActionId, Client, ControllerId, Digest, Dispute, GateKey, ObjectName, Presence, Refusal, RolloutId, ServiceName,
    Settings, SiteTime, Source, Sums, Uid, Version, poll_interval,
};

/// Everything.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// From the site file; not on disk here.
    pub settings: Settings,
    /// Counters and marks of the site.
    pub site: Site,
    /// All gateways ever declared, by controller id.
    pub gateways: BTreeMap<ControllerId, Gateway>,
    /// All rollouts that still matter.
    pub rollouts: BTreeMap<RolloutId, Rollout>,
    /// Ids not ours that any gateway posted; derived.
    pub strange_ids: BTreeSet<ActionId>,
    /// Artifacts that were looked for.
    pub artifacts: BTreeMap<Digest, Artifact>,
    /// Drops that were accepted, by the digest of the manifest: the same content changes nothing any more. Newer ones have
    /// greater numbers.
    pub drops: BTreeMap<Digest, u64>,
    /// What people said on the spot, and has not been lifted.
    pub orders: Orders,
    /// All services ever declared.
    pub services: BTreeMap<ServiceName, Service>,
    /// What gates said when they were asked last. Not on disk: an answer is good for seconds.
    pub gates: BTreeMap<GateKey, GateSaid>,
    /// The process started or stood still then: what gates said before has no meaning any more, and who has not polled since
    /// may have been switched off with it. Not on disk.
    pub awake_since: SiteTime,
    /// The first complete list of this process came. Not on disk: every start reads the manifests again.
    pub listed: bool,
    /// What the last list refused. Not on disk.
    pub refused: Vec<Refusal>,
    /// What is known of the API server beside its objects. Not on disk.
    pub api: Api,
}

/// What is known of the API server beside its objects. Not on disk: every start hears it again.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Api {
    /// There is one, and it never gave a complete list to this site: it may have more gateways.
    pub awaited: bool,
    /// What it has and what could not be accepted.
    pub refused: BTreeMap<ObjectName, Refusal>,
    /// What it has and a manifest has too.
    pub disputes: Vec<Dispute>,
    /// Another cluster answered in its place last.
    pub other_cluster: Option<Uid>,
}

/// Counters and marks of the site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// Below it no id is ours.
    pub action_base: ActionId,
    /// The id that the next order gets.
    pub action_next: ActionId,
    /// The number that the next rollout gets.
    pub rollout_next: RolloutId,
    /// How many intents arrived so far.
    pub arrivals: u64,
    /// The store before this one was lost: nothing is offered until a person says so.
    pub lost: bool,
    /// Since when so many gateways are silent that nothing is held against any.
    pub silence: Option<SiteTime>,
    /// When that was over last.
    pub silence_over: SiteTime,
    /// The poll interval that gateways were told last; what the site file says now may be another one.
    pub told: Option<Duration>,
    /// The cluster that the site belongs to, once its API server gave a complete list.
    pub cluster: Option<Uid>,
}

/// An artifact that was looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Artifact {
    /// Its other hashes, once it was in the cache. Kept while it is repaired: gateways may have its order in hand.
    pub sums: Option<Sums>,
    /// Why it is not there. Not on disk.
    pub failed: Option<String>,
    /// What rollouts called it that are gone, oldest first: name and version.
    pub names: Vec<(String, Version)>,
    /// Its size, and where the last of these had it from.
    pub kept: Option<(u64, Vec<Source>)>,
}

impl State {
    /// Does this site issue such ids, and has it issued this one?
    pub fn issued(&self, id: ActionId) -> bool {
        id >= self.site.action_base && id < self.site.action_next
    }

    /// The interval to expect of a gateway: never shorter than what it is told, nor than what a busy machine needs.
    pub fn interval(&self, gateway: &Gateway) -> Duration {
        gateway
            .interval
            .unwrap_or_default()
            .max(self.told(&gateway.spec.controller_id))
            .max(Presence::SHORTEST_INTERVAL)
    }

    /// What a gateway without work is told.
    pub fn told(&self, gateway: &ControllerId) -> Duration {
        poll_interval::told(self.settings.poll_interval, gateway.as_str())
    }

    /// The interval at which a gateway comes, if that is not what it is told now: it polls at that one, or it was told a
    /// longer one before and has not heard the new one.
    pub fn comes_by(&self, gateway: &Gateway) -> Option<Duration> {
        let before = self.site.told.filter(|told| *told > self.settings.poll_interval);
        let told = || before.map(|told| poll_interval::told(told, gateway.spec.controller_id.as_str()));
        gateway.interval.or_else(told)
    }

    /// How long a gateway that is there may take to come by: two of its intervals.
    pub fn patience(&self, gateway: &Gateway) -> Duration {
        let interval = self.interval(gateway);
        let interval = if gateway.client == Client::Rauc { interval.max(Presence::RHU_RETRY) } else { interval };
        interval * 2
    }

    /// Is the artifact in the cache, and what it should be?
    pub fn is_verified(&self, digest: &Digest) -> bool {
        self.artifacts.get(digest).is_some_and(|artifact| artifact.sums.is_some() && artifact.failed.is_none())
    }
}
