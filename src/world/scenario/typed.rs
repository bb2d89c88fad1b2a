//! A scenario as typed.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::Value;

/// A scenario.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct TypedScenario {
    #[schemars(length(min = 1, max = 63))]
    pub scenario: String,
    #[schemars(length(min = 1, max = 2000))]
    pub about: String,
    /// As in the site file.
    #[schemars(schema_with = "anything")]
    #[serde(default)]
    pub site: Value,
    pub starts: Option<String>,
    pub lasts: Option<String>,
    #[schemars(length(min = 1, max = 64))]
    pub gateways: Vec<TypedGroup>,
    #[schemars(schema_with = "list_of_anything")]
    #[serde(default)]
    pub manifests: Vec<Value>,
    #[schemars(length(max = 256))]
    #[serde(default)]
    pub events: Vec<TypedEvent>,
    #[schemars(length(min = 1, max = 64))]
    pub expect: Vec<TypedExpectation>,
}

/// Gateways that are alike.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct TypedGroup {
    #[schemars(length(min = 1, max = 64))]
    pub name: String,
    #[schemars(range(min = 1, max = 10_000))]
    pub count: Option<u32>,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    pub client: Option<TypedClient>,
    pub runs: Option<String>,
    pub version_key: Option<String>,
    pub reports: Option<bool>,
    #[serde(default)]
    pub attributes: BTreeMap<String, String>,
    pub behaves: Option<TypedBehaviour>,
    pub only_with: Option<String>,
    /// Digests of the files that are for its hardware.
    #[schemars(length(min = 1, max = 64))]
    pub files: Option<Vec<String>>,
    pub hold: Option<bool>,
    pub declared_at: Option<String>,
    #[schemars(length(max = 64))]
    #[serde(default)]
    pub but: Vec<TypedException>,
}

/// Some of a group that are different.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct TypedException {
    pub who: TypedWho,
    pub client: Option<TypedClient>,
    pub behaves: Option<TypedBehaviour>,
    pub only_with: Option<String>,
    pub hold: Option<bool>,
}

/// Which gateways: those to which all of it applies.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct TypedWho {
    #[schemars(length(min = 1, max = 1000))]
    pub names: Option<Vec<String>>,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// By lot.
    #[schemars(range(min = 1, max = 10_000))]
    pub count: Option<u32>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum TypedClient {
    Swupdate,
    Rauc,
    Zephyr,
    Mixed,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum TypedBehaviour {
    Well,
    FailsOnce,
    Fails,
    FallsBack,
    Rejects,
    Slow,
    Cut,
    Streams,
    Noisy,
    Strange,
    Lies,
    SilentAfterFetch,
    SilentAfterDownload,
    NeverPolls,
    NeverFetches,
}

/// Something that happens: exactly one of its fields beside `at` and `who`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct TypedEvent {
    pub at: String,
    pub who: Option<TypedWho>,
    #[schemars(schema_with = "list_of_anything")]
    #[serde(default)]
    pub declare: Vec<Value>,
    #[schemars(schema_with = "list_of_anything")]
    #[serde(default)]
    pub hub: Vec<Value>,
    #[schemars(length(min = 1, max = 64))]
    pub remove: Option<Vec<String>>,
    #[schemars(schema_with = "list_of_anything")]
    #[serde(default)]
    pub drop: Vec<Value>,
    pub copying: Option<String>,
    pub person: Option<String>,
    pub site: Option<TypedSite>,
    pub power: Option<TypedSwitch>,
    pub network: Option<TypedSwitch>,
    pub link: Option<TypedLink>,
    #[serde(default)]
    pub gates: BTreeMap<String, TypedGate>,
    pub clock: Option<String>,
    pub hold: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum TypedSite {
    Off,
    On,
    PowerCut,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum TypedSwitch {
    Off,
    On,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum TypedLink {
    Down,
    Up,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum TypedGate {
    Open,
    Closed,
    Unknown,
}

/// What must be true at a time.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct TypedExpectation {
    pub at: Option<String>,
    pub rollout: Option<String>,
    pub phase: Option<String>,
    pub reason: Option<String>,
    #[serde(default)]
    pub steps: BTreeMap<String, Count>,
    #[serde(default)]
    pub rows: BTreeMap<String, Count>,
    pub who: Option<TypedWho>,
    pub run: Option<String>,
    pub installed: Option<Count>,
    pub touched: Option<bool>,
    pub wait: Option<String>,
}

/// `5`, `"3..5"`, `"3.."` or `"..5"`.
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
pub(super) struct Count(pub Value);

impl JsonSchema for Count {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Count".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"x-kubernetes-int-or-string": true})
    }
}

/// What its own reader checks.
fn anything(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

fn list_of_anything(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": 64,
        "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    })
}
