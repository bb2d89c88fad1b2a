//! `EdgeService` as typed. The doc comments are what `kubectl explain` prints.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::EdgeServiceStatus;

/// A service on this machine that is restarted when its configuration really changed.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "lamplighter.dev",
    version = "v1alpha1",
    kind = "EdgeService",
    namespaced,
    shortname = "esvc",
    derive = "PartialEq",
    doc = "A service on this machine that is restarted when its configuration really changed.",
    status = "EdgeServiceStatus",
    printcolumn = r#"{"name":"Unit","type":"string","jsonPath":".spec.restart.unit"}"#,
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}"#,
    printcolumn = r#"{"name":"Reason","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].reason"}"#,
    printcolumn = r#"{"name":"Restarts","type":"integer","jsonPath":".status.restarts"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct EdgeServiceSpec {
    /// What the service reads, in one or several places.
    #[schemars(length(min = 1, max = 16))]
    pub config: Vec<ConfigSource>,
    /// What is restarted when the content of any of them changed.
    pub restart: ServiceRestart,
    /// How long the configuration must stay as it is before anything is restarted. Default: 2s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    pub settle: Option<String>,
    /// The least time between two restarts; changes meanwhile are taken together. Default: 10s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    pub min_interval: Option<String>,
    /// What shows that the service came back. Default: that systemd says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<ServiceHealth>,
}

/// A place that configuration comes from: one of the two.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "has(self.path) != has(self.configMap)",
    "message": "give either path or configMap"
}]))]
pub struct ConfigSource {
    /// A file, a directory such as a mounted ConfigMap volume, or some files of one (/etc/edge/*.conf). Absolute;
    /// services.allowPaths of the site file must allow it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024), regex(pattern = r"^(/[^/*?]+)*/[^/]+$"))]
    pub path: Option<String>,
    /// A ConfigMap in the namespace that the site follows, by its name. It is read through the API server, and keeps its last
    /// content while that is away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"))]
    pub config_map: Option<String>,
}

/// What is restarted, and how.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceRestart {
    /// A systemd service; services.allowUnits of the site file must allow it.
    #[schemars(length(min = 1, max = 255), regex(pattern = r"^[A-Za-z0-9:_.\\@-]*[A-Za-z0-9:_.\\-]\.service$"))]
    pub unit: String,
    /// Restart stops and starts it; Reload tells it to read its configuration; the third does the latter if it can.
    /// Default: Restart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<RestartMethod>,
}

/// How a unit takes its new configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "the field says what they mean")]
pub enum RestartMethod {
    Restart,
    Reload,
    ReloadOrRestart,
}

/// What shows that a service came back: one of the three.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceHealth {
    /// An address of this machine that answers with 2xx, such as `http://127.0.0.1:8080/healthz`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024))]
    pub http: Option<String>,
    /// A port of this machine that accepts connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65_535))]
    pub tcp: Option<i32>,
    /// How long the unit must be active without a break.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    pub unit_active_for: Option<String>,
    /// How soon after the restart it must be so. Default: 30s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    pub timeout: Option<String>,
}
