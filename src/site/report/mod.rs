//! What the site says about itself to people and scripts, as JSON.

mod artifacts;
mod gateways;
mod journal;
mod objects;
mod registration;
mod status;
mod why;

pub use artifacts::{FreedFile, FreedFiles, KnownArtifact, KnownArtifacts, ProgressLine, artifacts, freed};
pub use gateways::{GatewayLine, GatewayList, MemberLine, gateways};
pub use journal::{JournalFilter, JournalRowLine, JournalRows, journal};
pub use objects::object;
pub use registration::{Acceptance, Accepted, GuesserLine, NotAccepted, PendingLine, guessers, pending};
pub use status::{
    ArtifactLine, Counters, GatewayCount, RefusalLine, RolloutLine, SiteFileLine, Status, WaveLine, status,
};
pub use why::{JournalLine, MemberWhy, ROWS_FOR_WHY, Why, no_such_gateway, why};

/// Whoever answers runs, also one of a version that does not say so.
fn yes() -> bool {
    true
}
