//! Sizes in bytes, as typed: `256Mi`, `1G` or a plain number.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::model::Invalid;

const UNITS: [(&str, u64); 8] = [
    ("Ki", 1 << 10),
    ("Mi", 1 << 20),
    ("Gi", 1 << 30),
    ("Ti", 1 << 40),
    ("k", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("T", 1_000_000_000_000),
];

/// Reads a size: a whole number with one of Kubernetes' units, or without one for bytes.
pub fn parse_bytes(text: &str) -> Result<u64, Invalid> {
    let bad = || Invalid(format!("{text:?} is not a size such as 256Mi, 1G or 1048576"));
    let (digits, factor) = UNITS
        .iter()
        .find_map(|(unit, factor)| text.strip_suffix(unit).map(|digits| (digits, *factor)))
        .unwrap_or((text, 1));
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(bad());
    }
    digits.parse::<u64>().ok().and_then(|number| number.checked_mul(factor)).ok_or_else(bad)
}

/// A size as it stands in a file, not yet checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct IntOrBytes(pub String);

impl<'de> Deserialize<'de> for IntOrBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = IntOrBytes;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size such as 256Mi or a number of bytes")
            }
            fn visit_i64<E: Error>(self, bytes: i64) -> Result<Self::Value, E> {
                Ok(IntOrBytes(bytes.to_string()))
            }
            fn visit_u64<E: Error>(self, bytes: u64) -> Result<Self::Value, E> {
                Ok(IntOrBytes(bytes.to_string()))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(IntOrBytes(text.to_owned()))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl JsonSchema for IntOrBytes {
    fn schema_name() -> Cow<'static, str> {
        "IntOrBytes".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "x-kubernetes-int-or-string": true,
            "minimum": 0,
            "maxLength": 24,
            "pattern": "^[0-9]+(Ki|Mi|Gi|Ti|k|M|G|T)?$",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_nonsense_and_overflow_are_not() {
        assert_eq!(parse_bytes("256Mi"), Ok(256 << 20));
        assert_eq!(parse_bytes("1G"), Ok(1_000_000_000));
        assert_eq!(parse_bytes("17"), Ok(17));
        for bad in ["", "Mi", "1.5Gi", "-1", "1 Mi", "5mi", "99999999999999999999", "99999999999Ti"] {
            assert!(parse_bytes(bad).is_err(), "{bad}");
        }
    }
}
