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
    /// Which gateways are meant, by the labels of their EdgeGateway. An empty selector selects nothing.
    pub selector: MatchLabels,
    /// How fast to go, and when to stop. Default: one gateway, then the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
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
    /// Offer nothing new and open no wave; updates that a gateway took already go on. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// Call it off for good: offers are taken back, downloads cancelled; what a gateway has whole it installs. Taking
    /// it away again revives nothing: give the rollout another version. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled: Option<bool>,
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
    /// Each label with its value; a gateway is meant if it has all of them. Default: none, which selects nothing.
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
}

/// A slice of a rollout's members.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Wave {
    /// How many members: a count, or a share of all members such as "10%" (rounded up, at least one).
    pub size: IntOrPercent,
    /// How long the finished wave must stay healthy before the next opens, such as "90s", "30m" or "24h". Default: 10m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 32), regex(pattern = r"^([0-9]+(ms|s|m|h|d))+$"))]
    pub soak: Option<String>,
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
