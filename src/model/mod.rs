//! The domain's validated types. Everything here is a value: parsed once at the edge, correct ever after.
//!
//! It must never import another room, do I/O, read a clock or hold a value that was not checked.

mod action_id;
mod amount;
mod api;
mod artifact;
mod ask;
mod config_fact;
mod config_source;
mod controller_id;
mod digest;
mod drop;
mod duration;
mod durations;
mod event;
mod gate;
mod gate_allowance;
mod gateway;
mod http_url;
mod journal;
mod oci_reference;
mod order;
pub mod poll_interval;
mod presence;
mod reason;
mod registration;
mod rollout;
mod secret;
mod selector;
mod service;
mod settings;
mod source;
mod spread;
mod texts;
mod time;
mod variants;
mod version;
mod version_order;
mod wave;
mod window;
mod zone;

pub use action_id::ActionId;
pub use amount::{Amount, Percent};
pub use api::{ApiFact, ApiListing, Dispute, ObjectName, Uid};
pub use artifact::{ArtifactKey, ArtifactSpec, Sums};
pub use ask::Ask;
pub use config_fact::{
    Config, ConfigFact, ConfigSeen, Mark, RestartResult, RestartWhy, UnitFact, UnitJob, UnitTask, Watched,
};
pub use config_source::{ConfigMapSeen, ConfigMaps, ConfigSource};
pub use controller_id::ControllerId;
pub use digest::Digest;
pub(crate) use digest::hex;
pub use drop::{Against, Contradiction, DeclaredBy, Dropped, is_object_of_drop, object_of_drop};
pub use duration::{format_duration, parse_duration};
pub use durations::Durations;
pub use event::{
    ArtifactFact, Attributes, AttributesMode, Bytes, Client, Event, Execution, Feedback, Finished, Intent, Listing,
    Refusal, Verdict,
};
pub use gate::{FileTemplate, GateAnswer, GateKey, GateQuestion, GateSpec, HttpTemplate};
pub use gate_allowance::{AllowedHost, AllowedPath, GateAllowance};
pub use gateway::{GatewaySpec, TokenHash};
pub use http_url::{HttpUrl, Origin};
pub use journal::{JournalEntry, What};
pub use oci_reference::{OciReference, OciVersion};
pub use order::{Given, Order, StandingOrder};
pub use presence::Presence;
pub use reason::{FailedReason, ReconcilingReason, ServiceReason, SkippedReason, StalledReason, WaitingReason};
pub use registration::{Newcomer, Registration};
pub use rollout::{Bounds, ConfirmBy, Deadlines, FailureAction, Identity, RolloutId, RolloutSpec, Strategy};
pub use secret::{SiteSecret, secret_line};
pub use selector::{Labels, Selector};
pub use service::{
    AllowedUnit, Check, ConfigPath, Health, Method, ServiceAllowance, ServiceName, ServiceSpec, UnitName, matches,
};
pub use settings::Settings;
pub use source::Source;
pub use spread::Spread;
pub use texts::Texts;
pub use time::{Now, SiteTime};
pub use variants::{Variant, Variants};
pub use version::Version;
pub use wave::{Approval, WaveSpec};
pub use window::{ClockTime, Day, Look, NoWindow, Opening, WhenClockUnknown, Window, WindowState, Windows};
pub use zone::Zone;

/// Why a text is not the value it should be: a lower-case fragment that completes "field X: …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Invalid(pub String);

impl Invalid {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

/// Serde for a type that is a string outside: `FromStr` in, `Display` out.
macro_rules! serde_as_text {
    ($type:ty) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use serde_as_text;

/// An enum of unit variants that knows them all.
macro_rules! kinds {
    ($(#[$outer:meta])* $visible:vis $name:ident { $($(#[$doc:meta])* $variant:ident,)+ }) => {
        $(#[$outer])*
        $visible enum $name { $($(#[$doc])* $variant,)+ }

        impl $name {
            /// Every kind.
            $visible const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Its name, as it is stored and printed.
            $visible fn name(self) -> &'static str {
                match self { $(Self::$variant => stringify!($variant),)+ }
            }
        }
    };
}
pub(crate) use kinds;
