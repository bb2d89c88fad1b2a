//! The custom resources as people type them, their schemas, and the conversion *as typed → model*.
//!
//! Owns every field name that a person can write, every default and every bound of it, and the one YAML reader. Must never
//! open a file, know where a manifest came from beyond its directory, or decide anything about a rollout.

mod amount;
mod bytes;
mod check;
mod convert;
mod crds;
mod document;
mod gateway;
mod labels;
mod object;
mod rollout;
mod service;
mod status;
mod typed;
mod windows;

pub use amount::IntOrPercent;
pub use bytes::{IntOrBytes, parse_bytes};
pub use check::{Schema, problems, schema_of};
pub use convert::{Setting, gateway, rollout, service};
pub use crds::{Crd, crds};
pub use document::{Document, Limits, Unreadable, documents};
pub use gateway::{Auth, EdgeGateway, EdgeGatewaySpec, SecretRef};
pub use labels::check_labels;
pub use object::{Kinds, Object, is_object_name};
pub use rollout::{
    Approval, Artifact, ConfirmBy, Deadlines, FailureAction, Gate, MatchLabels, OtaRollout, OtaRolloutSpec, Spread,
    Strategy, Variant, Wave,
};
pub use service::{ConfigSource, EdgeService, EdgeServiceSpec, RestartMethod, ServiceHealth, ServiceRestart};
pub use status::{
    ArtifactStatus, EdgeGatewayStatus, EdgeServiceStatus, EndedStatus, FailureStatus, LastRestart, OrderStatus,
    OtaRolloutStatus, Summary, UpdateStatus, WaveStatus,
};
pub use typed::typed;
pub use windows::{Day, WhenClockUnknown, Window};

/// The group of every kind.
pub const GROUP: &str = "lamplighter.dev";
/// What a manifest and a site file write as their `apiVersion`.
pub const API_VERSION: &str = "lamplighter.dev/v1alpha1";

/// A part of a document that is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {why}")]
pub struct FieldError {
    /// Where, as `spec.strategy.maxFailures`.
    pub field: String,
    /// What is wrong and what to do: a lower-case fragment.
    pub why: String,
}

impl FieldError {
    /// About one field.
    pub fn new(field: impl Into<String>, why: impl Into<String>) -> Self {
        Self { field: field.into(), why: why.into() }
    }
}
