//! `services` of the site file: what services may read and restart, and on which machine.

use schemars::JsonSchema;
use serde::Deserialize;

use super::gates::all;
use crate::model::{ControllerId, Invalid, ServiceAllowance};
use crate::resources::FieldError;

/// `services` as typed.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the checked struct says what they mean")]
pub struct TypedServices {
    #[schemars(length(max = 256), inner(length(min = 1, max = 255)))]
    pub allow_units: Option<Vec<String>>,
    #[schemars(length(max = 64), inner(length(min = 1, max = 1024)))]
    pub allow_paths: Option<Vec<String>>,
    #[schemars(length(min = 1, max = 256))]
    pub gateway: Option<String>,
}

/// What services may do, and on which machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Services {
    /// The units and paths.
    pub allowance: ServiceAllowance,
    /// The gateway that is the machine on which the units run: nothing is restarted while firmware is installed on it.
    pub node: Option<ControllerId>,
}

impl TypedServices {
    pub(super) fn check(self) -> Result<Services, FieldError> {
        let node =
            self.gateway.map(|id| id.parse().map_err(|error: Invalid| FieldError::new("services.gateway", error.0)));
        Ok(Services {
            allowance: ServiceAllowance {
                units: all("services.allowUnits", self.allow_units)?,
                paths: all("services.allowPaths", self.allow_paths)?,
            },
            node: node.transpose()?,
        })
    }
}
