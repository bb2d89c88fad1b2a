//! What the site knows. Rebuilt from the records after every start; the few fields that are not on disk say so.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use super::allowance::Allowance;
use crate::model::{
    ActionId, Client, ControllerId, DeclaredBy, Digest, FailedReason, GatewaySpec, Identity, Presence, Refusal,
    RolloutId, RolloutSpec, Settings, SiteTime, SkippedReason, Sums, Texts, Version, WaitingReason, poll_interval,
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
    /// Artifacts that were looked for.
    pub artifacts: BTreeMap<Digest, Artifact>,
    /// Drops that were accepted, by the digest of the manifest: the same content changes nothing any more. Newer ones have
    /// greater numbers.
    pub drops: BTreeMap<Digest, u64>,
    /// The first complete list of this process came. Not on disk: every start reads the manifests again.
    pub listed: bool,
    /// What the last list refused. Not on disk.
    pub refused: Vec<Refusal>,
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
}

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

/// A rollout.
#[derive(Debug, Clone, PartialEq)]
pub struct Rollout {
    /// What it is called.
    pub identity: Identity,
    /// Newer intents have greater numbers.
    pub arrival: u64,
    /// What was declared.
    pub spec: Rc<RolloutSpec>,
    /// How it was declared last.
    pub origin: DeclaredBy,
    /// The last complete list showed it, or a drop declared it.
    pub listed: bool,
    /// An edit of the artifact made a newer rollout of this identity.
    pub replaced: bool,
    /// The frozen plan.
    pub frozen: Option<Frozen>,
    /// Too many members failed.
    pub tripped: Option<Tripped>,
    /// It was called off, for good.
    pub cancelled: bool,
    /// When it was done.
    pub ready_at: Option<SiteTime>,
    /// Its members; before the freeze those that would be.
    pub members: BTreeMap<ControllerId, Member>,
    /// The members in the order in which they are offered; derived.
    pub queue: Rc<[ControllerId]>,
    /// When something is due in it; derived.
    pub next_due: Option<SiteTime>,
}

/// The frozen plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frozen {
    /// How many members, joiners not counted.
    pub total: u32,
    /// The waves; never empty.
    pub waves: Vec<Wave>,
}

/// A wave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wave {
    /// How many members.
    pub size: u32,
    /// How long it soaks.
    pub soak: Duration,
    /// When it opened.
    pub opened_at: Option<SiteTime>,
    /// When it was proven.
    pub proven_at: Option<SiteTime>,
}

/// Why a rollout stopped by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tripped {
    /// When.
    pub at: SiteTime,
    /// In which wave, if it was a wave's limit.
    pub wave: Option<u16>,
    /// So many failures.
    pub failures: u32,
    /// So many were too many.
    pub limit: u32,
}

/// A member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The index of its wave; none before the freeze and for joiners.
    pub wave: Option<u16>,
    /// It matched after the freeze.
    pub joiner: bool,
    /// Its place in the order; derived.
    pub key: u64,
    /// How far it is.
    pub step: Step,
    /// Since when.
    pub since: SiteTime,
    /// Attempts used.
    pub attempts: u8,
    /// Offers that it let lie.
    pub not_fetched: u8,
    /// Not before this time.
    pub retry_at: Option<SiteTime>,
    /// Its order, open or closed.
    pub action: Option<Action>,
    /// Bytes of the artifact that were sent to it. On disk only now and then.
    pub spent: u64,
    /// What it said last, or what went wrong last.
    pub message: Option<String>,
    /// The other version that it reported since it took the order.
    pub reported: Option<Version>,
}

/// How far a member is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Not offered. The reason is derived and not on disk.
    Waiting(WaitingReason),
    /// The link is shown.
    Offered,
    /// The order was fetched.
    Downloading,
    /// The artifact was fully served.
    Installing,
    /// The gateway reported success, or should have; the proof is awaited.
    Confirming,
    /// Done.
    Updated,
    /// Ended without success.
    Failed(FailedReason),
    /// Needs nothing from this rollout.
    Skipped(SkippedReason),
}

impl Step {
    /// Nothing that a gateway says on its order moves it any more.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Updated | Self::Failed(_) | Self::Skipped(_))
    }

    /// Between offer and end: counts for `maxInFlight`.
    pub fn is_in_flight(self) -> bool {
        matches!(self, Self::Offered | Self::Downloading | Self::Installing | Self::Confirming)
    }

    /// Its name, as in status and docs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Waiting(_) => "Waiting",
            Self::Offered => "Offered",
            Self::Downloading => "Downloading",
            Self::Installing => "Installing",
            Self::Confirming => "Confirming",
            Self::Updated => "Updated",
            Self::Failed(_) => "Failed",
            Self::Skipped(_) => "Skipped",
        }
    }
}

/// An order to one gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// Its id.
    pub id: ActionId,
    /// Ids of earlier attempts that still count.
    pub aliases: Vec<ActionId>,
    /// The gateway may still have it.
    pub open: bool,
    /// The gateway fetched it in this attempt.
    pub fetched: bool,
    /// The gateway fetched it in some attempt: silence is no excuse any more.
    pub ever_fetched: bool,
    /// An artifact request was answered under it or an alias.
    pub requested: bool,
    /// A failure now is ours and uses no attempt.
    pub excused: bool,
    /// The confirm deadline passed: only a fresh version report decides.
    pub overdue: bool,
    /// The link is hidden while the gateway idles half-way on hold or pause.
    pub hidden: bool,
    /// The gateway is told to drop it, and has not answered.
    pub cancelling: bool,
    /// Under `Feedback`: a poll from this time on confirms.
    pub confirm_from: Option<SiteTime>,
    /// When the step it is in ends; of a closed order that was cancelled, when the gateway may have another.
    pub deadline: Option<SiteTime>,
}

impl Action {
    /// Is this id one of the order's?
    pub fn answers_to(&self, id: ActionId) -> bool {
        self.id == id || self.aliases.contains(&id)
    }
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

impl Gateway {
    /// A gateway that was just declared.
    pub fn new(spec: GatewaySpec, origin: DeclaredBy, unknown_version: bool) -> Self {
        Self {
            spec,
            origin,
            listed: true,
            presence: Presence::Never,
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

impl Rollout {
    /// The waves that opened and are not proven yet are being watched; this says whether a member's is.
    pub fn is_soaking(&self, member: &Member) -> bool {
        let wave = member.wave.zip(self.frozen.as_ref()).and_then(|(at, frozen)| frozen.waves.get(usize::from(at)));
        wave.is_some_and(|wave| wave.proven_at.is_none())
    }

    /// Puts the queue in order again, after members came, went or were assigned to waves.
    pub fn requeue(&mut self) {
        let place = |member: &Member| (member.joiner, member.wave, member.key);
        let mut queue: Vec<_> = self.members.iter().map(|(id, member)| (place(member), id.clone())).collect();
        queue.sort_unstable();
        self.queue = queue.into_iter().map(|(_, id)| id).collect();
    }
}

impl Member {
    /// A member that just matched.
    pub fn new(key: u64, joiner: bool, now: SiteTime) -> Self {
        Self {
            wave: None,
            joiner,
            key,
            step: Step::Waiting(WaitingReason::Unlisted),
            since: now,
            attempts: 0,
            not_fetched: 0,
            retry_at: None,
            action: None,
            spent: 0,
            message: None,
            reported: None,
        }
    }

    /// Its order, while the gateway may still have it.
    pub fn open_action(&self) -> Option<&Action> {
        self.action.as_ref().filter(|action| action.open)
    }

    /// What was sent to it, in artifacts of this size: `3.2 x the artifact`.
    pub fn sent(&self, size: u64) -> String {
        let tenths = self.spent.saturating_mul(10) / size.max(1);
        format!("{}.{} x the artifact", tenths / 10, tenths % 10)
    }

    /// The gateway was told to drop its order, and has not answered.
    pub fn is_cancelling(&self) -> bool {
        self.open_action().is_some_and(|action| action.cancelling)
    }

    /// It had bytes of its cancelled order, and it is not known yet whether it dropped them.
    pub fn is_unsettled(&self) -> bool {
        let closed = self.action.as_ref().filter(|action| !action.open && action.deadline.is_some());
        self.step == Step::Skipped(SkippedReason::Cancelled) && closed.is_some()
    }

    /// The gateway took the order at some time: offline is no excuse any more.
    pub fn ever_fetched(&self) -> bool {
        self.action.as_ref().is_some_and(|action| action.ever_fetched)
    }

    /// The gateway has the order in hand now.
    pub fn fetched(&self) -> bool {
        self.open_action().is_some_and(|action| action.fetched)
    }
}
