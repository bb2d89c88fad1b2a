//! `gates` of the site file: what the gates of rollouts may ask.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::model::{GateAllowance, Invalid};
use crate::resources::FieldError;

/// `gates` as typed.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the checked struct says what they mean")]
pub struct TypedGates {
    #[schemars(length(max = 64), inner(length(min = 1, max = 1024)))]
    pub allow_paths: Option<Vec<String>>,
    #[schemars(length(max = 64), inner(length(min = 1, max = 256)))]
    pub allow_hosts: Option<Vec<String>>,
}

impl TypedGates {
    pub(super) fn check(self) -> Result<GateAllowance, FieldError> {
        Ok(GateAllowance {
            paths: all("gates.allowPaths", self.allow_paths)?,
            hosts: all("gates.allowHosts", self.allow_hosts)?,
        })
    }
}

pub(super) fn all<T: std::str::FromStr<Err = Invalid>>(
    field: &str,
    typed: Option<Vec<String>>,
) -> Result<Vec<T>, FieldError> {
    let one = |(index, text): (usize, String)| {
        text.parse().map_err(|error: Invalid| FieldError::new(format!("{field}[{index}]"), error.0))
    };
    typed.unwrap_or_default().into_iter().enumerate().map(one).collect()
}
