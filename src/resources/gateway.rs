//! `EdgeGateway` as typed. The doc comments are what `kubectl explain` prints.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::EdgeGatewayStatus;

/// A gateway that takes firmware.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "lamplighter.dev",
    version = "v1alpha1",
    kind = "EdgeGateway",
    namespaced,
    shortname = "egw",
    derive = "PartialEq",
    doc = "A gateway that takes firmware from this site.",
    printcolumn = r#"{"name":"Controller","type":"string","jsonPath":".spec.controllerId"}"#,
    status = "EdgeGatewayStatus",
    printcolumn = r#"{"name":"Online","type":"string","jsonPath":".status.conditions[?(@.type==\"Online\")].status"}"#,
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}"#,
    printcolumn = r#"{"name":"Reason","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].reason"}"#,
    printcolumn = r#"{"name":"Rollout","type":"string","jsonPath":".status.update.rollout","priority":1}"#,
    printcolumn = r#"{"name":"Hold","type":"boolean","jsonPath":".spec.hold"}"#,
    printcolumn = r#"{"name":"Held by","type":"string","jsonPath":".status.orders[?(@.order==\"Hold\")].by","priority":1}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct EdgeGatewaySpec {
    /// The id under which the gateway speaks DDI; unique at the site. Letters, digits and - . _ ~ : @. Default: the
    /// resource's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256), regex(pattern = r"^[A-Za-z0-9._~:@-]+$"))]
    pub controller_id: Option<String>,
    /// How the gateway proves who it is. Default: by what the site file's devices.tokens and devices.tls.clientCa offer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<Auth>,
    /// Give the gateway no new order. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<bool>,
}

/// How a gateway proves who it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "!has(self.tokenSha256) || !has(self.tokenSecretRef)",
    "message": "has both tokenSha256 and tokenSecretRef; say one of them",
}]))]
pub struct Auth {
    /// The sha256 of the gateway's target token, 64 lower-case hex digits: `printf %s TOKEN | sha256sum`. Never the token
    /// itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64), regex(pattern = r"^[0-9a-f]{64}$"))]
    pub token_sha256: Option<String>,
    /// A Secret in the same namespace that holds the token, 16 to 1024 visible characters. Only for an EdgeGateway of the
    /// API: a manifest and a drop have no namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_secret_ref: Option<SecretRef>,
}

/// A key in a Secret.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecretRef {
    /// The Secret's name.
    #[schemars(length(min = 1, max = 253), regex(pattern = r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"))]
    pub name: String,
    /// The key in it. Default: token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = r"^[A-Za-z0-9._-]+$"))]
    pub key: Option<String>,
}
