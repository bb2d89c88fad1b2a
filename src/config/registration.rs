//! `devices.registration` of the site file: what becomes of a gateway that nobody declared.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::model::{Labels, Registration};
use crate::resources::{FieldError, check_labels};

/// `devices.registration` as typed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "the model says what they mean")]
pub enum TypedRegistration {
    #[default]
    Refuse,
    Pending,
    Accept,
}

impl From<TypedRegistration> for Registration {
    fn from(typed: TypedRegistration) -> Self {
        match typed {
            TypedRegistration::Refuse => Self::Refuse,
            TypedRegistration::Pending => Self::Pending,
            TypedRegistration::Accept => Self::Accept,
        }
    }
}

/// The labels that a gateway gets when it is accepted.
pub(super) fn labels(typed: Option<BTreeMap<String, String>>) -> Result<Labels, FieldError> {
    let typed = typed.unwrap_or_default();
    check_labels(&typed).map_err(|(key, why)| {
        FieldError::new(format!("devices.registrationLabels.{key}").trim_end_matches('.'), why)
    })?;
    Ok(typed.into_iter().collect())
}
