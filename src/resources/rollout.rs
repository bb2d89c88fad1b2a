//! `OtaRollout` as typed. The doc comments are what `kubectl explain` prints.
#![expect(clippy::doc_markdown, reason = "kubectl prints backticks as they are")]

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::labels::{Labels, labels_schema};
use super::windows::{WhenClockUnknown, Window};
use super::{IntOrBytes, IntOrPercent, OtaRolloutStatus};

/// Brings the selected gateways to one artifact, wave by wave.
#[derive(CustomResource, Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "lamplighter.dev",
    version = "v1alpha1",
    kind = "OtaRollout",
    namespaced,
    shortname = "ota",
    derive = "PartialEq",
    doc = "The intent to bring the selected gateways to one firmware artifact, wave by wave.",
    printcolumn = r#"{"name":"Artifact","type":"string","jsonPath":".spec.artifact.name"}"#,
    printcolumn = r#"{"name":"Version","type":"string","jsonPath":".spec.artifact.version"}"#,
    status = "OtaRolloutStatus",
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}"#,
    printcolumn = r#"{"name":"Reason","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].reason"}"#,
    printcolumn = r#"{"name":"Wave","type":"integer","jsonPath":".status.wave.index"}"#,
    printcolumn = r#"{"name":"Total","type":"integer","jsonPath":".status.summary.total"}"#,
    printcolumn = r#"{"name":"Updated","type":"integer","jsonPath":".status.summary.updated"}"#,
    printcolumn = r#"{"name":"Failed","type":"integer","jsonPath":".status.summary.failed"}"#,
    printcolumn = r#"{"name":"Updating","type":"integer","jsonPath":".status.summary.updating","priority":1}"#,
    printcolumn = r#"{"name":"Offline","type":"integer","jsonPath":".status.summary.offline","priority":1}"#,
    printcolumn = r#"{"name":"Message","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].message","priority":1}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "!has(self.maxBytes) || type(self.maxBytes) != int || !has(self.artifact.sizeBytes) || self.maxBytes >= self.artifact.sizeBytes",
    "message": "maxBytes is less than artifact.sizeBytes: nobody could download it",
}]))]
pub struct OtaRolloutSpec {
    /// What to install.
    pub artifact: Artifact,
    /// Which gateways are meant, by the labels of their EdgeGateway and, behind attr.lamplighter.dev/, by what they report
    /// themselves. An empty selector selects nothing.
    pub selector: MatchLabels,
    /// How fast to go, and when to stop. Default: one gateway, then the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
    /// Facts of the plant that must all hold just before a gateway is offered its update, and again when it fetches it. A
    /// gate that does not answer holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 8))]
    pub gates: Option<Vec<Gate>>,
    /// How long each part of an update may take. Each must be at least three poll intervals of the site.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadlines: Option<Deadlines>,
    /// Tries per gateway, 1 to 10. Default: 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10))]
    pub attempts: Option<i32>,
    /// How many bytes of the artifact one gateway may be sent, such as 2Gi: at least the artifact's size. A gateway that
    /// downloads it again and again stops there. Default: ten times the artifact's size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<IntOrBytes>,
    /// What makes an update a success. ReportedVersion: the gateway reports the new version. Feedback: the gateway says
    /// so, and is still there a while later. Auto: ReportedVersion for a gateway that ever reported a version of this
    /// artifact, else Feedback. Default: Auto.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirm_by: Option<ConfirmBy>,
    /// When updates may start, at most 16 windows; it is open when one of them is. What a gateway took before a window's
    /// end goes on. Default: at all times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 16))]
    pub windows: Option<Vec<Window>>,
    /// What windows are worth while the site does not know what time it is. Hold: they are closed. Allow: they are open.
    /// Default: Hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when_clock_unknown: Option<WhenClockUnknown>,
    /// Also update gateways that report a newer version than this one, or one of which that cannot be told. Versions are
    /// compared as semantic versions if both are, else as Debian does if both begin with a digit. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow_downgrade: Option<bool>,
    /// Offer nothing new and open no wave; updates that a gateway took already go on. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// Call it off for good: offers are taken back, downloads cancelled; what a gateway has whole it installs. Taking
    /// it away again revives nothing: give the rollout another version. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled: Option<bool>,
    /// Another text than before lets the failed members begin again, with all their attempts, and counts failures anew;
    /// those go on too of whom it is not known what they run. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub retry_token: Option<String>,
    /// Waves with `approval: Manual` that may open, each as WAVE@VERSION; it counts for that version of the artifact only.
    /// A wave without a name is called by its place, from 1, and the last, that takes who is left, rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64), inner(length(min = 3, max = 192)))]
    pub approved_waves: Option<Vec<String>>,
}

/// A firmware file, or one for each type of hardware.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "has(self.variants) ? !has(self.sources) && !has(self.digest) && !has(self.sizeBytes) : has(self.sources) && has(self.digest) && has(self.sizeBytes)",
    "message": "write either sources, digest and sizeBytes, or variants",
}]))]
pub struct Artifact {
    /// What it is: gateways report a version per artifact name. Letters, digits, '-', '.' and '_'.
    #[schemars(length(min = 1, max = 64), regex(pattern = r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$"))]
    pub name: String,
    /// The version that gateways should come back with, exactly as they report it. Put it in quotes.
    #[schemars(length(min = 1, max = 128), regex(pattern = r"^[^\x00-\x20\x7f]([^\x00-\x1f\x7f]*[^\x00-\x20\x7f])?$"))]
    pub version: String,
    /// Where to get it, tried in order: `https://HOST/PATH`, `http://HOST/PATH`, `oci://REGISTRY/REPOSITORY:TAG` or
    /// `…@sha256:DIGEST` (the layer whose digest is the one below), `file:NAME` for a file beside the manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 8), inner(length(min = 1, max = 2048)))]
    #[schemars(extend("x-kubernetes-validations" = source_rules()))]
    pub sources: Option<Vec<String>>,
    /// The file's hash, `sha256:` and 64 lower-case hex digits, as `sha256sum` prints them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 71), regex(pattern = r"^sha256:[0-9a-f]{64}$"))]
    pub digest: Option<String>,
    /// The file's exact size in bytes, as `stat -c %s` prints it. A longer file is refused while it is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_099_511_627_776_i64))]
    pub size_bytes: Option<i64>,
    /// Instead of sources, digest and sizeBytes: a file for each type of hardware. The first that matches a gateway
    /// counts, and stays when the gateway's labels change later; a gateway that none matches is skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 8))]
    pub variants: Option<Vec<Variant>>,
}

/// What the server can tell of a source; the conversion tells more.
fn source_rules() -> serde_json::Value {
    serde_json::json!([{
        "rule": r"self.all(source, source.matches('^(https?://[^/]+.*|oci://[^/]+/.+|file:[^/.][^/]*)$'))",
        "message": "write https://HOST/PATH, http://HOST/PATH, oci://REGISTRY/REPOSITORY:TAG, or file:NAME for a plain file",
    }])
}

/// A firmware file for one type of hardware.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Variant {
    /// Which gateways get it: by labels of their EdgeGateway, or, with `attr.lamplighter.dev/KEY`, by an attribute that
    /// they report.
    #[serde(rename = "match")]
    pub matches: MatchLabels,
    /// Where to get it, as for one file.
    #[schemars(length(min = 1, max = 8), inner(length(min = 1, max = 2048)))]
    #[schemars(extend("x-kubernetes-validations" = source_rules()))]
    pub sources: Vec<String>,
    /// The file's hash, `sha256:` and 64 lower-case hex digits.
    #[schemars(length(max = 71), regex(pattern = r"^sha256:[0-9a-f]{64}$"))]
    pub digest: String,
    /// The file's exact size in bytes.
    #[schemars(range(min = 1, max = 1_099_511_627_776_i64))]
    pub size_bytes: i64,
}

/// Labels that must all stand on a gateway.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MatchLabels {
    /// Each label with its value; a gateway is meant if it has all of them. attr.lamplighter.dev/KEY stands for the
    /// attribute KEY that a gateway reports. Default: none, which selects nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "labels_schema")]
    pub match_labels: Option<Labels>,
}

/// How fast a rollout goes, and when it stops.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Strategy {
    /// The first waves; members beyond them follow as a last wave. A wave opens only when the one before it is proven.
    /// Default: one wave of one gateway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 16))]
    pub waves: Option<Vec<Wave>>,
    /// How many members may be under way at once: a count, or a share such as "10%" (rounded up, at least one).
    /// Default: 10%.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_in_flight: Option<IntOrPercent>,
    /// So many failures, in a wave or in total, stop the rollout: a count, or a share such as "5%" (rounded up, at
    /// least one). Default: 5%.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_failures: Option<IntOrPercent>,
    /// What so many failures mean for the members that are updated. Pause: the rollout stops, they stay. Rollback: each
    /// goes back to the version that it ran before; the site must have the files of all these versions before the first
    /// wave opens. Default: Pause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_action: Option<FailureAction>,
    /// What holds for each value of a label, such as one gateway of a line at a time, or one healthy of each pair.
    /// Default: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
}

/// What holds for each value of a label. At least one of maxInFlight and minHealthy must be said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "has(self.maxInFlight) || has(self.minHealthy)",
    "message": "says neither maxInFlight nor minHealthy, and so nothing",
}]))]
pub struct Spread {
    /// The label, such as line. A gateway without it is held.
    #[schemars(length(min = 1, max = 317))]
    pub label: String,
    /// How many gateways with the same value may be under way at once, for whichever rollout: a count, or a share of
    /// those that are declared (rounded up, at least one). Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_in_flight: Option<IntOrPercent>,
    /// How many others with the same value must be healthy and not under way for a gateway to be offered its update: a
    /// count, or a share of those that are declared (rounded up). Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_healthy: Option<IntOrPercent>,
}

/// A fact of the plant: either file or http. In braces stand labels of the gateway, its {name} or its {controllerId}.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "has(self.file) != has(self.http)",
    "message": "has to have either file or http",
}]))]
pub struct Gate {
    /// What people call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub name: Option<String>,
    /// Open while this file is there, such as /permits/{line}. The site file must allow it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 1024))]
    pub file: Option<String>,
    /// Open while this address answers 2xx, such as http://plc.local/ready/{line}. The site file must allow its host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 8, max = 1024))]
    pub http: Option<String>,
}

/// What becomes of the updated members of a rollout that failed.
// No doc comments on the variants: they would turn the enum into a `oneOf` of constants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "the field that has this type says what they mean")]
pub enum FailureAction {
    Pause,
    Rollback,
}

/// A slice of a rollout's members.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Wave {
    /// What it is called, in `status` and in approvals; unique. Default: its place, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$"))]
    pub name: Option<String>,
    /// How many members at most: a count, or a share of all members such as "10%" (rounded up, at least one). Default:
    /// all that its selector means; without one all who are left, which only the last wave may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<IntOrPercent>,
    /// Only these members, a test bench for instance; the others stay for later waves. Default: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<MatchLabels>,
    /// How long the finished wave must stay healthy before the next opens, such as "90s", "30m" or "24h". Default: 10m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 32), regex(pattern = r"^([0-9]+(ms|s|m|h|d))+$"))]
    pub soak: Option<String>,
    /// Automatic: it opens once the wave before is proven. Manual: then, and once it stands in approvedWaves. Default:
    /// Automatic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
    /// So many of its members must be updated for it to prove anything: a count, or a share of those that are neither
    /// skipped nor held (rounded up, at least one). Default: 50%.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_updated: Option<IntOrPercent>,
}

/// Who opens a wave.
// No doc comments on the variants: they would turn the enum into a `oneOf` of constants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "the field that has this type says what they mean")]
pub enum Approval {
    Automatic,
    Manual,
}

/// How long each part of an update may take.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Deadlines {
    /// From the fetch of the order to the last byte of the artifact, such as "30m". Default: 2h.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 32), regex(pattern = r"^([0-9]+(ms|s|m|h|d))+$"))]
    pub download: Option<String>,
    /// From the last byte to the gateway's word, such as "30m". Default: 1h.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 32), regex(pattern = r"^([0-9]+(ms|s|m|h|d))+$"))]
    pub install: Option<String>,
    /// From the gateway's word to the proof of it, such as "30m". Default: 30m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 32), regex(pattern = r"^([0-9]+(ms|s|m|h|d))+$"))]
    pub confirm: Option<String>,
    /// From the cancellation of an order to the gateway's answer, such as "30m"; then it is closed by force. Default:
    /// 30m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 32), regex(pattern = r"^([0-9]+(ms|s|m|h|d))+$"))]
    pub cancel: Option<String>,
}

/// What makes an update a success.
// No doc comments on the variants: they would turn the enum into a `oneOf` of constants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "the field that has this type says what they mean")]
pub enum ConfirmBy {
    Auto,
    ReportedVersion,
    Feedback,
}
