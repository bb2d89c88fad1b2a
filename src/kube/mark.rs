//! What of a status makes a write worth it, as a number: known of what was written, and read back out of what the server has.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Map, Value};

use super::item::Kind;

/// Two statuses with the same mark say the same as far as it matters. Times are left out: a write with "now" in it would
/// bring about the next, and so would how much of an artifact came. Of a gateway only what is at rest counts: whether its
/// conditions hold, its versions, how an update ended, and what people said of it.
pub(super) fn mark(kind: Kind, status: &Value) -> u64 {
    let matters = match kind {
        Kind::Rollout | Kind::Service => timeless(status),
        Kind::Gateway => gateway(status),
    };
    let mut hasher = DefaultHasher::new();
    matters.to_string().hash(&mut hasher);
    hasher.finish()
}

fn timeless(status: &Value) -> Value {
    let mut status = status.clone();
    for condition in status.get_mut("conditions").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(fields) = condition.as_object_mut() {
            fields.remove("lastTransitionTime");
        }
    }
    for (of, moves) in [("wave", "soakUntil"), ("artifact", "bytes")] {
        if let Some(fields) = status.get_mut(of).and_then(Value::as_object_mut) {
            fields.remove(moves);
        }
    }
    status
}

fn gateway(status: &Value) -> Value {
    let conditions = conditions(status).map(|(kind, fields)| {
        let field = |name: &str| fields.get(name).cloned().unwrap_or_default();
        (kind.to_owned(), Value::Array(vec![field("status"), field("observedGeneration")]))
    });
    let mut matters: Map<String, Value> = conditions.collect();
    for field in ["versions", "orders"] {
        matters.insert(field.into(), status.get(field).cloned().unwrap_or_default());
    }
    let update = status.get("update").cloned().unwrap_or_default();
    let ended =
        matches!(update.get("step").and_then(Value::as_str), Some("Updated" | "Failed" | "Skipped" | "RolledBack"));
    if ended {
        let field = |name: &str| update.get(name).cloned().unwrap_or_default();
        matters.insert("ended".into(), Value::Array(vec![field("rollout"), field("step"), field("reason")]));
    }
    Value::Object(matters)
}

fn conditions(status: &Value) -> impl Iterator<Item = (&str, &Map<String, Value>)> {
    let all = status.get("conditions").and_then(Value::as_array).into_iter().flatten();
    all.filter_map(|condition| {
        let fields = condition.as_object()?;
        Some((fields.get("type")?.as_str()?, fields))
    })
}

/// Since when conditions are as they are: kind, status, and the Unix second.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Since(Vec<(Box<str>, Box<str>, i64)>);

impl Since {
    /// As a status says.
    pub fn of(status: &Value) -> Self {
        let read = |(kind, fields): (&str, &Map<String, Value>)| {
            let text = |name: &str| fields.get(name)?.as_str();
            let at: jiff::Timestamp = text("lastTransitionTime")?.parse().ok()?;
            Some((kind.into(), text("status")?.into(), at.as_second()))
        };
        Self(conditions(status).filter_map(read).collect())
    }

    /// Since when a condition has this status; `now` if it had another one.
    pub fn at(&self, kind: &str, status: &str, now: i64) -> i64 {
        let known = self.0.iter().find(|(known, was, _)| **known == *kind && **was == *status);
        known.map_or(now, |(_, _, at)| *at)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn condition(kind: &str, status: &str, reason: &str, at: &str) -> Value {
        json!({"type": kind, "status": status, "reason": reason, "message": "m", "observedGeneration": 1, "lastTransitionTime": at})
    }

    const EARLY: &str = "2026-05-01T10:00:00Z";
    const LATE: &str = "2026-05-01T11:00:00Z";

    #[test]
    fn times_alone_are_no_news() {
        let status = |at: &str, updated: u32| {
            json!({"conditions": [condition("Ready", "False", "Soaking", at)], "summary": {"updated": updated},
                   "wave": {"index": 1, "soakUntil": at}})
        };
        assert_eq!(mark(Kind::Rollout, &status(EARLY, 1)), mark(Kind::Rollout, &status(LATE, 1)));
        assert_ne!(mark(Kind::Rollout, &status(EARLY, 1)), mark(Kind::Rollout, &status(EARLY, 2)));
    }

    #[test]
    fn of_a_gateway_only_what_is_at_rest_is_news() {
        let status = |ready: &str, reason: &str, step: &str| {
            json!({"conditions": [condition("Ready", ready, reason, EARLY)], "versions": {"os": "1"},
                   "update": {"rollout": "r", "step": step, "action": 7}})
        };
        let of = |ready, reason, step| mark(Kind::Gateway, &status(ready, reason, step));
        assert_eq!(of("False", "WaveNotOpen", "Waiting"), of("False", "MaxInFlight", "Offered"));
        assert_ne!(of("False", "Updating", "Installing"), of("True", "Done", "Installing"));
        assert_ne!(of("True", "Done", "Updated"), of("True", "Done", "Failed"));
    }

    #[test]
    fn a_condition_that_stays_keeps_its_time() {
        let since = Since::of(&json!({"conditions": [condition("Ready", "False", "x", EARLY), {"type": "Odd"}]}));
        let early = EARLY.parse::<jiff::Timestamp>().unwrap().as_second();
        assert_eq!(
            (since.at("Ready", "False", 9), since.at("Ready", "True", 9), since.at("Stalled", "False", 9)),
            (early, 9, 9)
        );
        assert_eq!(Since::of(&Value::Null), Since::default());
    }
}
