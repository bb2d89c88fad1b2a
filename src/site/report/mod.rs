//! What the site says about itself to people and scripts, as JSON.

mod artifacts;
mod gateways;
mod journal;
mod registration;
mod status;
mod why;

pub use artifacts::{KnownArtifact, KnownArtifacts, artifacts};
pub use gateways::{GatewayLine, GatewayList, MemberLine, gateways};
pub use journal::{JournalFilter, JournalRowLine, JournalRows, journal};
pub use registration::{Acceptance, Accepted, GuesserLine, NotAccepted, PendingLine, guessers, pending};
pub use status::{ArtifactLine, Counters, GatewayCount, RefusalLine, RolloutLine, Status, WaveLine, status};
pub use why::{JournalLine, MemberWhy, Why, why};
