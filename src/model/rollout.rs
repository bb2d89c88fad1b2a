//! Rollouts as a person declares them, checked.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Amount, ArtifactSpec, GateSpec, GatewaySpec, Selector, Spread, Texts, Variants, WaveSpec, Windows};

/// Our own number for one intent to bring gateways to one artifact. An edit of the artifact is a new intent under the same
/// identity, so it gets a new number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RolloutId(pub u64);

/// What a rollout is called, wherever its manifest lies: the kind is always `OtaRollout`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Identity(pub String);

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The intent to bring the selected gateways to one artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RolloutSpec {
    /// What to install; of several variants the first.
    pub artifact: ArtifactSpec,
    /// The other files, if there is one for each type of hardware.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variants: Option<Variants>,
    /// Where.
    pub selector: Selector,
    /// How fast, and when to stop.
    pub strategy: Strategy,
    /// Facts that must hold before each offer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<GateSpec>,
    /// How long each part of an update may take.
    pub deadlines: Deadlines,
    /// Tries per gateway, 1 to 10.
    pub attempts: u8,
    /// So many bytes of the artifact one gateway may be sent; none: [`Bounds::ARTIFACTS`] times its size.
    #[serde(default)]
    pub max_bytes: Option<u64>,
    /// What makes an update a success.
    pub confirm_by: ConfirmBy,
    /// When updates may start.
    #[serde(default, skip_serializing_if = "Windows::is_empty")]
    pub windows: Windows,
    /// Also gateways that run a newer version, or one of which that cannot be told.
    #[serde(default)]
    pub allow_downgrade: bool,
    /// Offer nothing new and open no wave.
    pub paused: bool,
    /// Call it off.
    #[serde(default)]
    pub cancelled: bool,
    /// Another one than before lets the failed members begin again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_token: Option<String>,
    /// The names of waves that may open by a person's word, given for this version.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub approved_waves: BTreeSet<String>,
}

impl RolloutSpec {
    /// All its files: one, or one for each variant.
    pub fn files(&self) -> impl Iterator<Item = &ArtifactSpec> {
        let others = self.variants.iter().flat_map(|variants| &variants.others);
        [&self.artifact].into_iter().chain(others.map(|variant| &variant.artifact))
    }

    /// The file of a variant, by its number.
    pub fn file(&self, variant: u8) -> &ArtifactSpec {
        self.files().nth(variant.into()).unwrap_or(&self.artifact)
    }

    /// The number of the variant for a gateway; none if it is of a hardware for which there is none.
    pub fn choose(&self, gateway: &GatewaySpec, attributes: &Texts) -> Option<u8> {
        self.variants.as_ref().map_or(Some(0), |variants| variants.choose(&gateway.labels, attributes))
    }

    /// Do both bring the same to gateways: name, version, and the files of all variants?
    pub fn is_same_artifact(&self, other: &Self) -> bool {
        self.files().map(|file| &file.key).eq(other.files().map(|file| &file.key))
    }

    /// So many bytes of a file of this size one gateway may be sent.
    pub fn budget(&self, size: u64) -> u64 {
        self.max_bytes.unwrap_or_else(|| size.saturating_mul(Bounds::ARTIFACTS))
    }
}

/// How fast a rollout goes, and when it stops.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Strategy {
    /// The first waves; members beyond them follow as a last wave. Never empty.
    pub waves: Vec<WaveSpec>,
    /// How many members may be between offer and end at once.
    pub max_in_flight: Amount,
    /// So many failures, in a wave or in total, stop the rollout.
    pub max_failures: Amount,
    /// What holds for each line, cell or pair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
    /// What reaching that means for those that are updated.
    #[serde(default)]
    pub failure_action: FailureAction,
}

/// What becomes of a rollout of which too many members failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FailureAction {
    /// It stops.
    #[default]
    Pause,
    /// It stops, and who has its version goes back to what it ran before.
    Rollback,
}

impl Default for Strategy {
    fn default() -> Self {
        Self {
            waves: vec![WaveSpec::CANARY],
            max_in_flight: Amount::percent(10),
            max_failures: Amount::percent(5),
            spread: None,
            failure_action: FailureAction::Pause,
        }
    }
}

/// How long each part of an update may take; each at least three poll intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Deadlines {
    /// From the fetch of the order to the last byte of the artifact.
    pub download: Duration,
    /// From the last byte to the gateway's word.
    pub install: Duration,
    /// From the gateway's word to the proof of it.
    pub confirm: Duration,
    /// From the cancellation of an order to the gateway's answer.
    #[serde(default = "Deadlines::cancel")]
    pub cancel: Duration,
}

impl Deadlines {
    fn cancel() -> Duration {
        Duration::from_secs(1_800)
    }
}

impl Default for Deadlines {
    fn default() -> Self {
        let minutes = |m: u64| Duration::from_secs(60 * m);
        Self { download: minutes(120), install: minutes(60), confirm: minutes(30), cancel: Self::cancel() }
    }
}

/// What makes an update a success.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConfirmBy {
    /// The reported version for a gateway that ever reported one of this artifact, else its feedback.
    #[default]
    Auto,
    /// The gateway reports the new version.
    ReportedVersion,
    /// The gateway says so, and is still there a while later.
    Feedback,
}

/// The limits of what a spec may say.
pub struct Bounds;

impl Bounds {
    /// Tries per gateway when nothing is said.
    pub const ATTEMPTS: u8 = 3;
    /// The most tries per gateway.
    pub const MOST_ATTEMPTS: u8 = 10;
    /// A gateway is sent the artifact so many times over, if nothing is said.
    pub const ARTIFACTS: u64 = 10;
    /// The most waves of one rollout.
    pub const MOST_WAVES: usize = 16;
    /// The most windows of one rollout.
    pub const MOST_WINDOWS: usize = 16;
    /// Updates may start in a window for at least so many polls: a gateway that is a little late must not miss it.
    pub const POLLS_PER_WINDOW: u32 = 2;
    /// A deadline covers at least so many polls.
    pub const POLLS_PER_DEADLINE: u32 = 3;
}
