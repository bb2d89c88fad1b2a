//! A gateway, and what was served to it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use crate::engine::allowance::Allowance;
use crate::model::{ActionId, Client, DeclaredBy, Digest, GatewaySpec, Presence, RolloutId, SiteTime, Texts, Version};

/// A gateway.
#[derive(Debug, Clone, PartialEq)]
pub struct Gateway {
    /// What was declared.
    pub spec: GatewaySpec,
    /// How it was declared last.
    pub origin: DeclaredBy,
    /// The last complete list showed it, a drop declared it, or it was let in undeclared.
    pub listed: bool,
    /// Is it there?
    pub presence: Presence,
    /// It polled since the process started, or stood still. Not on disk.
    pub heard: bool,
    /// Its last attempt failed or regressed: it does not count as healthy before it was updated.
    pub failed: bool,
    /// Since when it has not been, if it was before.
    pub silent_since: Option<SiteTime>,
    /// When it last took an order, or all of an artifact.
    pub acted_at: Option<SiteTime>,
    /// The interval at which it really polls, if that is not what it was told.
    pub interval: Option<Duration>,
    /// Which client it runs.
    pub client: Client,
    /// What it reported.
    pub attributes: Texts,
    /// Keys that it reported once and no more.
    pub former_keys: BTreeSet<String>,
    /// It should report its attributes, once.
    pub attributes_due: bool,
    /// It may run anything: no order until it reports a version.
    pub unknown_version: bool,
    /// Two machines use its id.
    pub duplicate: bool,
    /// Two addresses poll under its id in turns. Not on disk.
    pub shared: bool,
    /// What it last reported from which address, while they do. Not on disk.
    pub sightings: Vec<(IpAddr, Texts)>,
    /// Ids not ours that it posted.
    pub strange_ids: Vec<ActionId>,
    /// What was served to it, newest last.
    pub served: Vec<Served>,
    /// The version of each artifact that it reported before the one that it reports now.
    pub previous: BTreeMap<String, Version>,
    /// The rollout whose order it has open; derived.
    pub busy: Option<RolloutId>,
    /// It had bytes of a cancelled order, and may install them all the same; derived.
    pub unsettled: bool,
    /// Bodies on their way to it. Not on disk: a restart cuts them.
    pub bodies: u32,
    /// When the last body ended. Not on disk.
    pub idle_since: SiteTime,
    /// How long we kept its bodies waiting since it fetched, or since that was added to its deadline. Not on disk: a
    /// restart cuts the bodies, and costs a gateway what it had waited.
    pub paced: Duration,
    /// Rows about its words that change nothing. Not on disk.
    pub late_words: Allowance,
    /// Changes of its attributes. Not on disk.
    pub attribute_changes: Allowance,
}

/// What was served of an artifact to a gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Served {
    /// Which artifact.
    pub digest: Digest,
    /// The last byte left.
    pub fully: bool,
}

impl Gateway {
    /// A gateway that was just declared.
    pub fn new(spec: GatewaySpec, origin: DeclaredBy, unknown_version: bool) -> Self {
        Self {
            spec,
            origin,
            listed: true,
            presence: Presence::Never,
            heard: false,
            failed: false,
            silent_since: None,
            acted_at: None,
            interval: None,
            client: Client::Generic,
            attributes: Texts::new(),
            former_keys: BTreeSet::new(),
            attributes_due: false,
            unknown_version,
            duplicate: false,
            shared: false,
            sightings: Vec::new(),
            strange_ids: Vec::new(),
            served: Vec::new(),
            previous: BTreeMap::new(),
            busy: None,
            unsettled: false,
            bodies: 0,
            idle_since: SiteTime::default(),
            paced: Duration::ZERO,
            late_words: Allowance::default(),
            attribute_changes: Allowance::default(),
        }
    }

    /// Was the artifact served whole to it?
    pub fn fully_served(&self, digest: &Digest) -> bool {
        self.served.iter().any(|served| served.digest == *digest && served.fully)
    }
}
