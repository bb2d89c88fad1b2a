//! What is on disk: structs of the store's own, so that the engine's may change without touching old files.
//!
//! Fields may be added with `#[serde(default)]`; anything else is a new record version.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::model::{
    ActionId, Amount, Approval, ArtifactSpec, Client, Config, ControllerId, DeclaredBy, Digest, FailedReason,
    GatewaySpec, Given, Identity, JournalEntry, Mark, Presence, RestartResult, RestartWhy, RolloutId, RolloutSpec,
    Selector, ServiceName, ServiceSpec, SiteTime, SkippedReason, Source, StandingOrder, Sums, Texts, Uid, Version,
    WaveSpec,
};

/// One transaction: what changed in one step.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Batch {
    /// The site's own record, if it changed.
    pub site: Option<SiteRecord>,
    /// Site time at the commit; always saved with it.
    pub time: SavedTime,
    /// Changed gateways; `None` deletes.
    pub gateways: Vec<(ControllerId, Option<GatewayRecord>)>,
    /// Changed rollouts; `None` deletes.
    pub rollouts: Vec<(RolloutId, Option<RolloutRecord>)>,
    /// Changed members; `None` deletes.
    pub members: Vec<((RolloutId, ControllerId), Option<MemberRecord>)>,
    /// Changed artifacts; `None` deletes.
    pub artifacts: Vec<(Digest, Option<ArtifactRecord>)>,
    /// Drops that were accepted, by the digest of the manifest; `None` forgets.
    pub drops: Vec<(Digest, Option<DropRecord>)>,
    /// Orders that stand from now on; `None` lifts. The site's record goes along with them.
    pub orders: Vec<(StandingOrder, Option<OrderRecord>)>,
    /// Changed services; `None` forgets.
    pub services: Vec<(ServiceName, Option<ServiceRecord>)>,
    /// New rows, oldest first.
    pub journal: Vec<JournalEntry>,
}

impl Batch {
    /// Nothing changed: there is no need to commit.
    pub fn is_empty(&self) -> bool {
        self.site.is_none()
            && self.gateways.is_empty()
            && self.rollouts.is_empty()
            && self.members.is_empty()
            && self.artifacts.is_empty()
            && self.drops.is_empty()
            && self.orders.is_empty()
            && self.services.is_empty()
            && self.journal.is_empty()
    }
}

/// Everything but the journal, as last committed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Snapshot {
    /// The site's own record; `None` in a new store.
    pub site: Option<SiteRecord>,
    /// Site time at the last commit.
    pub time: SavedTime,
    /// All gateways.
    pub gateways: BTreeMap<ControllerId, GatewayRecord>,
    /// All rollouts.
    pub rollouts: BTreeMap<RolloutId, RolloutRecord>,
    /// All members.
    pub members: BTreeMap<(RolloutId, ControllerId), MemberRecord>,
    /// All artifacts.
    pub artifacts: BTreeMap<Digest, ArtifactRecord>,
    /// Drops that were accepted, by the digest of the manifest.
    pub drops: BTreeMap<Digest, DropRecord>,
    /// Orders that stand.
    pub orders: BTreeMap<StandingOrder, OrderRecord>,
    /// All services.
    pub services: BTreeMap<ServiceName, ServiceRecord>,
}

/// Site time and the boot it was taken on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SavedTime {
    /// Site time.
    pub site: SiteTime,
    /// The kernel's boot id.
    pub boot_id: String,
    /// The boot clock, in milliseconds.
    pub boot_ms: u64,
    /// When the wall clock was synchronised last, in Unix milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trusted: Option<i64>,
}

/// The site's own counters and marks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SiteRecord {
    /// The first id of this store; below it no id is ours.
    pub action_base: ActionId,
    /// The id that the next order gets.
    pub action_next: ActionId,
    /// The number that the next rollout gets.
    pub rollout_next: RolloutId,
    /// How many intents arrived so far.
    pub arrivals: u64,
    /// The store before this one was lost: offer nothing until a person says so.
    #[serde(default)]
    pub lost: bool,
    /// Since when so many gateways are silent that nothing is held against any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silence: Option<SiteTime>,
    /// When that was over last.
    #[serde(default)]
    pub silence_over: SiteTime,
    /// The poll interval that gateways were told last, so that a start with another one is noticed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<Duration>,
    /// The cluster that the site belongs to: the uid of its namespace there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<Uid>,
}

/// A gateway.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewayRecord {
    /// What was declared.
    pub spec: GatewaySpec,
    /// How it was declared last.
    #[serde(default, skip_serializing_if = "DeclaredBy::is_manifest")]
    pub origin: DeclaredBy,
    /// The last complete list showed it, or a drop declared it.
    pub listed: bool,
    /// Is it there?
    pub presence: Presence,
    /// Its last attempt failed or regressed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// Since when it has not been, if it was before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent_since: Option<SiteTime>,
    /// When it last took an order, or all of an artifact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acted_at: Option<SiteTime>,
    /// The interval at which it really polls, if that is not what it was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Duration>,
    /// Which client it runs.
    #[serde(default)]
    pub client: Client,
    /// What it reported.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub attributes: Texts,
    /// Keys that it reported once and no more.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub former_keys: BTreeSet<String>,
    /// It should report its attributes, once.
    #[serde(default)]
    pub attributes_due: bool,
    /// It posted ids that are not ours, or the store was lost, and it has not reported a version since.
    #[serde(default)]
    pub unknown_version: bool,
    /// Two machines use its id.
    #[serde(default)]
    pub duplicate: bool,
    /// Ids not ours that it posted, at most four.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strange_ids: Vec<ActionId>,
    /// What was served to it, newest last, at most four.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub served: Vec<ServedRecord>,
    /// The version of each artifact that it reported before the one that it reports now.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub previous: BTreeMap<String, Version>,
}

/// What was served of an artifact to a gateway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServedRecord {
    /// Which artifact.
    pub digest: Digest,
    /// The last byte left; otherwise only some.
    pub fully: bool,
}

/// A rollout.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RolloutRecord {
    /// What it is called.
    pub identity: Identity,
    /// Newer intents have greater numbers.
    pub arrival: u64,
    /// What was declared.
    pub spec: RolloutSpec,
    /// How it was declared last.
    #[serde(default, skip_serializing_if = "DeclaredBy::is_manifest")]
    pub origin: DeclaredBy,
    /// A drop declared it: what its object in the API is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<Identity>,
    /// The last complete list showed it, or a drop declared it.
    pub listed: bool,
    /// Since when it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unlisted_at: Option<SiteTime>,
    /// An edit of the artifact made a newer rollout of this identity.
    #[serde(default)]
    pub replaced: bool,
    /// Its members were frozen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen: Option<FrozenRecord>,
    /// Too many members failed; never taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tripped: Option<TrippedRecord>,
    /// It was called off; never taken back.
    #[serde(default)]
    pub cancelled: bool,
    /// Its object in the API was deleted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
    /// Waves that a person approved on the spot.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub approved: BTreeSet<String>,
    /// When its first wave opened, in Unix milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<i64>,
    /// When it was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_at: Option<SiteTime>,
    /// … in Unix milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<i64>,
    /// The files to which its members would go back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub backs: Vec<ArtifactSpec>,
    /// Since when it is rolled back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rolled_back_at: Option<SiteTime>,
    /// The token on which it acted last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retried: Option<String>,
}

/// The frozen plan of a rollout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrozenRecord {
    /// How many members, joiners not counted.
    pub total: u32,
    /// The waves.
    pub waves: Vec<WaveRecord>,
    /// Everybody's way back is known.
    #[serde(default)]
    pub rollback: bool,
}

/// A wave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaveRecord {
    /// What it is called; of waves of before they had names, nothing.
    #[serde(default)]
    pub name: String,
    /// How many members.
    pub size: u32,
    /// What was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Amount>,
    /// Only these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<Selector>,
    /// Who opens it.
    #[serde(default)]
    pub approval: Approval,
    /// So many must be updated.
    #[serde(default = "WaveRecord::min_updated")]
    pub min_updated: Amount,
    /// How long it soaks.
    pub soak: Duration,
    /// When it opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened_at: Option<SiteTime>,
    /// When it was proven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proven_at: Option<SiteTime>,
}

impl WaveRecord {
    fn min_updated() -> Amount {
        WaveSpec::MIN_UPDATED
    }
}

/// Why a rollout stopped by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrippedRecord {
    /// When.
    pub at: SiteTime,
    /// In which wave, if it was a wave's limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wave: Option<u16>,
    /// So many failures.
    pub failures: u32,
    /// So many were too many.
    pub limit: u32,
}

/// A member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MemberRecord {
    /// The index of its wave; none before the freeze and for joiners.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wave: Option<u16>,
    /// It matched after the freeze.
    #[serde(default)]
    pub joiner: bool,
    /// The number of the variant that it gets.
    #[serde(default)]
    pub variant: u8,
    /// The number of its way back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<u8>,
    /// It is on its way back, or was.
    #[serde(default)]
    pub reverting: bool,
    /// How far it is. Why it waits is derived.
    pub step: StepRecord,
    /// Since when.
    pub since: SiteTime,
    /// Attempts used.
    #[serde(default)]
    pub attempts: u8,
    /// Attempts that failed through our fault, and used none.
    #[serde(default)]
    pub excuses: u8,
    /// Offers that it let lie.
    #[serde(default)]
    pub not_fetched: u8,
    /// Not before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<SiteTime>,
    /// Its order, open or closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<ActionRecord>,
    /// Bytes of the artifact that were sent to it, as far as they were saved.
    #[serde(default)]
    pub spent: u64,
    /// What it said last, or what went wrong last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The version it came back with, if it was another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported: Option<Version>,
}

/// How far a member is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the words of docs/architecture.md")]
pub enum StepRecord {
    Waiting,
    Offered,
    Downloading,
    Installing,
    Confirming,
    Updated,
    RolledBack,
    Failed(FailedReason),
    Skipped(SkippedReason),
}

/// An order to one gateway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ActionRecord {
    /// Its id.
    pub id: ActionId,
    /// Ids of earlier attempts that still count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<ActionId>,
    /// The gateway may still have it.
    pub open: bool,
    /// The gateway fetched it in this attempt.
    #[serde(default)]
    pub fetched: bool,
    /// The gateway fetched it in some attempt: silence is no excuse any more.
    #[serde(default)]
    pub ever_fetched: bool,
    /// An artifact request was answered under it or an alias.
    #[serde(default)]
    pub requested: bool,
    /// A failure now is ours and uses no attempt.
    #[serde(default)]
    pub excused: bool,
    /// The confirm deadline passed: only a fresh version report decides.
    #[serde(default)]
    pub overdue: bool,
    /// The link is hidden while the gateway idles half-way on hold or pause.
    #[serde(default)]
    pub hidden: bool,
    /// The gateway is told to drop it, and has not answered.
    #[serde(default)]
    pub cancelling: bool,
    /// Under `Feedback`: a poll from this time on confirms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirm_from: Option<SiteTime>,
    /// When the step it is in ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<SiteTime>,
}

/// An artifact that was verified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactRecord {
    /// Its other hashes.
    pub sums: Sums,
    /// What rollouts called it that are gone, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<(String, Version)>,
    /// Its size, and where the last of these had it from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<(u64, Vec<Source>)>,
}

/// A drop that was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DropRecord {
    /// Newer ones have greater numbers.
    pub order: u64,
}

/// An order that stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OrderRecord(pub Given);

/// A service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceRecord {
    /// What was declared.
    pub spec: ServiceSpec,
    /// How it was declared last.
    #[serde(default, skip_serializing_if = "DeclaredBy::is_manifest")]
    pub origin: DeclaredBy,
    /// The last complete list showed it, or a drop declared it.
    pub listed: bool,
    /// What its unit runs with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied: Option<Config>,
    /// A restart that was decided, and of which it is not known what became.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun: Option<BegunRecord>,
    /// A person wants it restarted, and who.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ordered: Option<String>,
    /// So many restarts.
    #[serde(default)]
    pub restarts: u32,
    /// The newest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<LastRestartRecord>,
}

/// A restart that was decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BegunRecord {
    /// With which configuration.
    pub config: Config,
    /// Which run of the unit it ends.
    pub before: Mark,
    /// Why.
    pub why: RestartWhy,
    /// When.
    pub at: SiteTime,
}

/// A restart that is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastRestartRecord {
    /// When it was decided.
    pub at: SiteTime,
    /// When it was over, by the wall clock in Unix milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall: Option<i64>,
    /// Why.
    pub why: RestartWhy,
    /// What became of it.
    pub result: RestartResult,
    /// What a person should know about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}
