//! What the site has to say about an object, before it becomes a status in the server.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::mark::Since;
use crate::model::Uid;

/// What the site says about an object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Which object is meant: not another one of the same name.
    pub uid: Uid,
    /// How it stands.
    pub conditions: Vec<Condition>,
    /// The other fields of its status.
    pub fields: Map<String, Value>,
}

/// A rollout that came by a drop and that the API is to show.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Show {
    /// What its object is to be called.
    pub object: String,
    /// What it is called at the site.
    pub rollout: String,
    /// Its spec, as a person could have written it.
    pub spec: Value,
}

/// A condition, but for its times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// Such as `Ready`.
    pub kind: String,
    /// Does it hold?
    pub status: Truth,
    /// One word.
    pub reason: String,
    /// For a person.
    pub message: String,
}

/// A condition's status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "Kubernetes' words")]
pub enum Truth {
    True,
    False,
    Unknown,
}

impl From<bool> for Truth {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

/// So long is a condition's message at most.
const LONGEST: usize = 1_000;

impl Condition {
    /// A condition.
    pub fn new(kind: &str, status: impl Into<Truth>, reason: impl Into<String>, message: impl AsRef<str>) -> Self {
        let message = message.as_ref().chars().take(LONGEST).collect();
        Self { kind: kind.into(), status: status.into(), reason: reason.into(), message }
    }
}

impl Report {
    /// An object that cannot be accepted says so itself: whoever wrote it looks there.
    pub fn not_accepted(uid: Uid, why: &str) -> Self {
        let conditions = vec![
            Condition::new("Ready", false, "NotAccepted", why),
            Condition::new("Reconciling", false, "NotAccepted", ""),
            Condition::new("Stalled", true, "NotAccepted", why),
        ];
        Self { uid, conditions, fields: Map::new() }
    }

    /// As a status. A condition that did not change keeps its time.
    pub(super) fn status(self, generation: i64, since: &Since, now: i64) -> Value {
        let conditions = self.conditions.into_iter().map(|condition| {
            let status = format!("{:?}", condition.status);
            let at = since.at(&condition.kind, &status, now);
            let at = jiff::Timestamp::from_second(at).unwrap_or_default().to_string();
            json!({
                "type": condition.kind, "status": status, "reason": condition.reason, "message": condition.message,
                "observedGeneration": generation, "lastTransitionTime": at,
            })
        });
        let mut fields = self.fields;
        fields.insert("conditions".into(), conditions.collect());
        fields.insert("observedGeneration".into(), generation.into());
        Value::Object(fields)
    }
}
