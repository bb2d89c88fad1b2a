//! What gateways say about themselves (b.5). The limits here are hawkBit's; how much all of it may be is the engine's.

use std::net::IpAddr;

use serde_json::Value;

use crate::model::{Attributes, AttributesMode};

const MOST: usize = 100;
const LONGEST: usize = 128;

/// Reads the body of a PUT to `configData`. Unknown members are ignored: rhu sends a legacy `time` and `status`.
pub(super) fn parse(body: &[u8], from: Option<IpAddr>) -> Result<Attributes, String> {
    let body: Value = serde_json::from_slice(body).map_err(|error| format!("the body is not JSON: {error}"))?;
    let mode = match body.get("mode") {
        None | Some(Value::Null) => AttributesMode::Merge,
        Some(Value::String(mode)) if mode.eq_ignore_ascii_case("merge") => AttributesMode::Merge,
        Some(Value::String(mode)) if mode.eq_ignore_ascii_case("replace") => AttributesMode::Replace,
        Some(Value::String(mode)) if mode.eq_ignore_ascii_case("remove") => AttributesMode::Remove,
        Some(_) => return Err("mode must be merge, replace or remove".into()),
    };
    let Some(Value::Object(object)) = body.get("data") else {
        return Err("data must be an object of attributes".into());
    };
    if object.len() > MOST {
        return Err(format!("{} attributes are too many, {MOST} may be sent", object.len()));
    }
    let data = object.iter().map(|(key, value)| Ok((check(key)?, text(value)?))).collect::<Result<_, String>>()?;
    Ok(Attributes { mode, data, from })
}

/// A value as text; `null` removes the attribute.
fn text(value: &Value) -> Result<Option<String>, String> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) if text.chars().count() > LONGEST => {
            Err(format!("a value may have {LONGEST} characters, one has {}", text.chars().count()))
        }
        Value::String(text) if text.chars().any(char::is_control) => {
            Err("a value may have no control characters".into())
        }
        Value::String(text) => Ok(Some(text.clone())),
        Value::Bool(_) | Value::Number(_) => Ok(Some(value.to_string())),
        Value::Array(_) | Value::Object(_) => Err("a value must be a text".into()),
    }
}

fn check(key: &str) -> Result<String, String> {
    let length = key.chars().count();
    if length == 0 || length > LONGEST || key.chars().any(char::is_control) {
        return Err(format!("a key must have 1 to {LONGEST} printable characters, one has {length}"));
    }
    Ok(key.to_owned())
}
