//! The statuses of the resources: what the site says about them in the API. Constant in size, whatever the fleet.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// How a rollout stands.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OtaRolloutStatus {
    /// The generation of the spec that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Ready: all done. Reconciling: under way; its reason is the step. Stalled: needs a person.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions")]
    pub conditions: Vec<Condition>,
    /// How it came to the site: Api, or Drop for one that a drop brought and that is only shown here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    pub origin: Option<String>,
    /// How many gateways are where; disjoint, and adds up to the total.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Summary>,
    /// The wave that is being updated or watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wave: Option<WaveStatus>,
    /// The artifact at the site.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<ArtifactStatus>,
    /// The newest failures, at most 10.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10))]
    pub failures: Vec<FailureStatus>,
    /// What people said of it at the site and have not taken back. It stands whatever the spec says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 4))]
    pub orders: Vec<OrderStatus>,
    /// When its first wave opened, if the site knew what time it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 40), extend("format" = "date-time"))]
    pub started_at: Option<String>,
    /// When it was done, the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 40), extend("format" = "date-time"))]
    pub finished_at: Option<String>,
}

/// What a person said at the site, with `lamplighter pause`, `cancel` or `hold`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OrderStatus {
    /// Pause, Cancel or Hold.
    #[schemars(length(max = 32))]
    pub order: String,
    /// The user who said so.
    #[schemars(length(max = 256))]
    pub by: String,
    /// When, if the site knew what time it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 40), extend("format" = "date-time"))]
    pub at: Option<String>,
    /// Why, if that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub reason: Option<String>,
}

/// How many gateways are where.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// All gateways that the rollout selects.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub total: i32,
    /// They wait: for their wave, for room, or for something that their EdgeGateway says.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub pending: i32,
    /// They are offered the update, or are at it.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub updating: i32,
    /// They are on the version.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub updated: i32,
    /// Their update failed.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub failed: i32,
    /// They need nothing from this rollout.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub skipped: i32,
    /// They wait because they do not poll.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub offline: i32,
    /// They are back on what they ran before.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub rolled_back: i32,
}

/// A wave.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaveStatus {
    /// Which one, from 1.
    #[schemars(range(min = 1, max = 100))]
    pub index: i32,
    /// Of how many.
    #[schemars(range(min = 1, max = 100))]
    pub of: i32,
    /// Until when it is watched, if nothing happens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 40))]
    pub soak_until: Option<String>,
}

/// An artifact at the site.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArtifactStatus {
    /// Wanted, Failed or Verified.
    #[schemars(length(max = 32))]
    pub state: String,
    /// How much of it was there when this was written: all, once it is verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub bytes: Option<i64>,
}

/// A gateway whose update failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailureStatus {
    /// The name of its EdgeGateway.
    #[schemars(length(max = 256))]
    pub gateway: String,
    /// Why, as a word.
    #[schemars(length(max = 64))]
    pub reason: String,
    /// What the gateway said, or what went wrong.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 256))]
    pub message: String,
}

/// How a gateway stands.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EdgeGatewayStatus {
    /// The generation of the spec that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Online: it polls. Ready, Reconciling, Stalled: its part in the newest rollout that has it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions")]
    pub conditions: Vec<Condition>,
    /// The versions that it reported, by artifact.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "versions")]
    pub versions: BTreeMap<String, String>,
    /// Its part in the newest rollout that has it, as it was when something of it was settled last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update: Option<UpdateStatus>,
    /// How its last updates ended, the newest first: those of rollouts that the site still knows, at most 5.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 5))]
    pub history: Vec<EndedStatus>,
    /// What people said of it at the site and have not taken back. It stands whatever the spec says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 4))]
    pub orders: Vec<OrderStatus>,
}

/// How an update of a gateway ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EndedStatus {
    /// In which rollout.
    #[schemars(length(max = 256))]
    pub rollout: String,
    /// To which version of its artifact.
    #[schemars(length(max = 128))]
    pub version: String,
    /// Updated, Failed or Skipped, or that it is back on what it ran before.
    #[schemars(length(max = 32))]
    pub step: String,
    /// Why, if it was not updated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub reason: Option<String>,
}

/// A gateway's part in a rollout.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UpdateStatus {
    /// In which rollout.
    #[schemars(length(max = 256))]
    pub rollout: String,
    /// How far it is.
    #[schemars(length(max = 32))]
    pub step: String,
    /// Why it waits, failed or was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub reason: Option<String>,
    /// Attempts used.
    #[schemars(range(min = 0, max = 100))]
    pub attempt: i32,
    /// The id of its order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub action: Option<i32>,
}

/// How a service stands.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EdgeServiceStatus {
    /// The generation of the spec that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Ready: its unit runs with the configuration that is there. Two more say that changes are found late, or never.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions")]
    pub conditions: Vec<Condition>,
    /// The hash of the configuration that its unit runs with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 80))]
    pub applied_hash: Option<String>,
    /// The hash of the configuration that is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 80))]
    pub observed_hash: Option<String>,
    /// How often its unit was restarted.
    #[schemars(range(min = 0))]
    pub restarts: i32,
    /// The newest restart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_restart: Option<LastRestart>,
}

/// A restart that is over.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LastRestart {
    /// When it was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 40))]
    pub time: Option<String>,
    /// Why, as a word such as Changed or Ordered.
    #[schemars(length(max = 32))]
    pub reason: String,
    /// Done, Failed or Unhealthy.
    #[schemars(length(max = 32))]
    pub result: String,
    /// What a person should know about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 256))]
    pub message: String,
}

/// A condition, as those of Kubernetes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Such as `Ready`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// One word.
    pub reason: String,
    /// For a person.
    pub message: String,
    /// The generation that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Since when.
    pub last_transition_time: String,
}

/// Kubernetes' own has no bounds.
fn conditions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": 8,
        "description": "Ready: all is as it should be. Reconciling: it is under way; the reason says with what. Stalled: it needs a person; the message says what to do.",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["type", "status", "reason", "message", "lastTransitionTime"],
            "properties": {
                "type": { "type": "string", "maxLength": 64, "description": "Such as Ready." },
                "status": { "type": "string", "enum": ["True", "False", "Unknown"], "description": "Does it hold?" },
                "reason": { "type": "string", "maxLength": 128, "description": "Why, as a word; docs/reference/reasons.md has them all." },
                "message": { "type": "string", "maxLength": 1024, "description": "Why, for a person." },
                "observedGeneration": { "type": "integer", "format": "int64", "minimum": 0, "description": "The generation that it is about." },
                "lastTransitionTime": { "type": "string", "format": "date-time", "maxLength": 40, "description": "Since when." },
            },
        },
    })
}

fn versions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "maxProperties": 64,
        "description": "The versions that it reported, by artifact.",
        "additionalProperties": { "type": "string", "maxLength": 128 },
    })
}
