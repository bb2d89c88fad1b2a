//! A count or a percentage, as typed: one schema type for all fields that take either.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::model::{Amount, Invalid};

/// `5` or `"10%"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IntOrPercent {
    /// A count.
    Int(i64),
    /// A text that should be a percentage.
    Text(String),
}

impl IntOrPercent {
    /// The most gateways that a count may name.
    const MOST: i64 = 100_000;

    /// Checked. A count in quotes is refused, as the API server does: one way to write it.
    pub fn amount(&self) -> Result<Amount, Invalid> {
        match self {
            Self::Int(0) => Err(Invalid("is 0, and then nothing could ever happen; use at least 1".into())),
            Self::Int(count) => match u32::try_from(*count) {
                Ok(count) if i64::from(count) <= Self::MOST => Ok(Amount::Count(count)),
                _ => Err(Invalid(format!("is {count}; use a count from 1 to {}", Self::MOST))),
            },
            Self::Text(text) if text.ends_with('%') => text.parse(),
            Self::Text(text) => Err(Invalid(format!(
                "{text:?} is neither a count such as 5 (without quotes) nor a percentage such as \"10%\""
            ))),
        }
    }
}

impl Serialize for IntOrPercent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Int(count) => serializer.serialize_i64(*count),
            Self::Text(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for IntOrPercent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = IntOrPercent;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a count such as 5 or a percentage such as \"10%\"")
            }
            fn visit_i64<E: Error>(self, count: i64) -> Result<Self::Value, E> {
                Ok(IntOrPercent::Int(count))
            }
            fn visit_u64<E: Error>(self, count: u64) -> Result<Self::Value, E> {
                Ok(IntOrPercent::Int(i64::try_from(count).unwrap_or(i64::MAX)))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(IntOrPercent::Text(text.to_owned()))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl JsonSchema for IntOrPercent {
    fn schema_name() -> Cow<'static, str> {
        "IntOrPercent".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "x-kubernetes-int-or-string": true,
            "minimum": 1,
            "maximum": Self::MOST,
            "maxLength": 4,
            "pattern": "^([1-9][0-9]?|100)%$",
        })
    }
}
