//! What happens at a site, as every room reports it, and what the heart answers.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use super::{
    ActionId, ApiFact, ApiListing, ConfigFact, Contradiction, ControllerId, Digest, Dropped, GateAnswer, GateKey,
    GatewaySpec, Identity, Newcomer, Order, RolloutSpec, ServiceName, ServiceSpec, Settings, SiteTime, Sums, Uid,
    UnitFact,
};

/// A fact from outside.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The process started: connections of before are cut, through no fault of any gateway.
    Started,
    /// The process stood still: what it knew of gateways and gates is as old as that.
    StoodStill,
    /// The store before this one was lost; the text says what was set aside and why.
    StoreLost(String),
    /// The site file changed; the text says how.
    Configured(Settings, String),
    /// What all manifests together say now.
    Listed(Listing),
    /// There is an API server, which may have gateways and rollouts for this site; of this cluster, if a person says so.
    ApiAwaited(Option<Uid>),
    /// What the API server has, all of it.
    ApiListed(Box<ApiListing>),
    /// What happened to one object in the API server of this cluster.
    Api(Uid, Box<ApiFact>),
    /// A drop is complete, or was refused as it is.
    Dropped(Dropped),
    /// An artifact's way into the cache.
    Artifact(Digest, ArtifactFact),
    /// A cached artifact of so many bytes is in the way, and of what: may it go?
    Collect(Digest, u64, String),
    /// What a gate said when it was asked then.
    Gate(GateKey, GateAnswer, SiteTime),
    /// A gateway polled for the first time since the process started or stood still, or again after having been quiet or
    /// offline.
    Seen(ControllerId),
    /// A gateway has not polled for two of its intervals.
    Quiet(ControllerId),
    /// A gateway has not polled for `devices.offlineAfter`.
    Offline(ControllerId),
    /// The interval at which a gateway really polls changed.
    Pace(ControllerId, Duration),
    /// A gateway polled after the time that the board asked to be told about.
    Polled(ControllerId),
    /// Which client a gateway runs, from its requests.
    Client(ControllerId, Client),
    /// Under a gateway's id two addresses poll in turns, or only one any more.
    Shared(ControllerId, bool),
    /// A gateway reported attributes.
    Attributes(ControllerId, Attributes),
    /// A gateway asks for its order: the brakes are decided again.
    Fetched(ControllerId, ActionId),
    /// A gateway asked for the artifact of its open order; a 416 carries no bytes.
    Requested(ControllerId, Digest, Bytes),
    /// The last byte of an artifact is about to leave for a gateway.
    Served(ControllerId, Digest),
    /// A body toward a gateway waited so long for its turn, which the gateway could not help.
    Paced(ControllerId, Duration),
    /// An artifact's body toward a gateway ended, whole or not, after so many bytes.
    BodyEnded(ControllerId, Digest, u64),
    /// A gateway's word on an order.
    Feedback(ControllerId, ActionId, Feedback),
    /// A gateway's word on the cancellation of an order.
    CancelFeedback(ControllerId, ActionId, Feedback),
    /// A gateway that nobody declared is accepted; by whom, or none: the site file accepts all.
    Registered(Box<Newcomer>, Option<String>),
    /// What was read of a service's configuration, by this declaration of it.
    Config(ServiceName, Rc<ServiceSpec>, ConfigFact),
    /// What is known of a service's unit after the job of this number.
    Unit(ServiceName, u64, UnitFact),
    /// A person's word on the spot, and who it was.
    Order(Order, String),
}

/// Does an answer to an artifact request carry bytes of it?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bytes {
    /// 200 or 206.
    Some,
    /// 416.
    None,
}

/// A complete list of what is wanted, and what was refused in making it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Listing {
    /// All valid objects; identities and controller ids are unique.
    pub intents: Vec<Intent>,
    /// What could not be accepted, for people.
    pub refused: Vec<Refusal>,
}

/// An object that somebody declared.
#[derive(Debug, Clone, PartialEq)]
pub enum Intent {
    /// An `EdgeGateway`.
    Gateway(GatewaySpec),
    /// An `OtaRollout`.
    Rollout(Identity, Box<RolloutSpec>),
    /// An `EdgeService`.
    Service(ServiceName, Box<ServiceSpec>),
}

impl Intent {
    /// Kind and name, as people write it.
    pub fn name(&self) -> String {
        match self {
            Self::Gateway(spec) => format!("EdgeGateway/{}", spec.name),
            Self::Rollout(identity, _) => format!("OtaRollout/{identity}"),
            Self::Service(name, _) => format!("EdgeService/{name}"),
        }
    }
}

/// Something that was not accepted, and why.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refusal {
    /// The file, and the object in it if it got that far.
    pub what: String,
    /// What is wrong, where, and what to do.
    pub why: String,
}

/// An artifact's way into the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArtifactFact {
    /// It begins to come over the network; from where.
    Fetching(String),
    /// It is in the cache and matches digest and size.
    Verified(Sums),
    /// It is not, and why; it is tried again.
    Failed(String),
}

/// Which update client a gateway runs, as far as its requests tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Client {
    /// Not known: the rules that are safe for all.
    #[default]
    Generic,
    /// SWUpdate's suricatta: reports the end after its reboot.
    SwUpdate,
    /// rauc-hawkbit-updater: reports the end before its reboot.
    Rauc,
    /// Zephyr: reports the end after its reboot.
    Zephyr,
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Generic => "Generic",
            Self::SwUpdate => "SwUpdate",
            Self::Rauc => "Rauc",
            Self::Zephyr => "Zephyr",
        })
    }
}

/// Attributes that a gateway reports.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attributes {
    /// What to do with them.
    pub mode: AttributesMode,
    /// Keys and values; `None` removes a key.
    pub data: BTreeMap<String, Option<String>>,
    /// From which address.
    pub from: Option<IpAddr>,
}

/// How reported attributes meet the ones known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AttributesMode {
    /// Add and overwrite.
    #[default]
    Merge,
    /// Forget all others.
    Replace,
    /// Forget these.
    Remove,
}

/// A gateway's word on an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feedback {
    /// How far it is.
    pub execution: Execution,
    /// With which result.
    pub finished: Finished,
    /// What it says, shortened to what a person reads.
    pub message: Option<String>,
    /// We answered one of its requests with an error since it fetched the order.
    pub excused: bool,
}

/// DDI `status.execution`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Execution {
    /// The order ended.
    Closed,
    /// The order goes on.
    Proceeding,
    /// The gateway gave the order up; a report only, by hawkBit's rules.
    Canceled,
    /// The order will be started.
    Scheduled,
    /// The gateway refuses the order.
    Rejected,
    /// The order goes on again.
    Resumed,
    /// The artifact is there.
    Downloaded,
    /// The artifact is being fetched.
    Download,
}

/// DDI `status.result.finished`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finished {
    /// It worked.
    Success,
    /// It did not.
    Failure,
    /// Nothing to say yet.
    None,
}

/// The heart's answer to an event, given after its commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It counted, or there was nothing to decide.
    Accepted,
    /// It was so already.
    Already,
    /// The order is the gateway's: it may have it now.
    Deploy,
    /// There is no such order for this gateway any more, or not now.
    Withdrawn,
    /// Feedback on an order that is closed: noted, nothing moves.
    AlreadyClosed,
    /// Feedback on an order that this site never gave: noted, nothing moves.
    Unknown,
    /// More attributes than a gateway may report.
    OverQuota,
    /// A drop cannot be decided yet: an artifact of it is not in the cache, or the manifests were not read.
    NotYet,
    /// A drop is refused.
    Contradicts(Contradiction),
    /// The artifact must stay.
    Needed,
    /// What an API server says does not count: it is another cluster than the one that this site belongs to.
    AnotherCluster(Uid),
}
