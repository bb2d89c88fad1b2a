//! What the site says about itself to people and scripts, as JSON.

mod artifacts;
mod gateways;
mod journal;
mod names;
mod objects;
mod opens;
mod order;
mod plan;
mod registration;
mod rollout;
mod service;
mod status;
mod stops;
mod why;

pub use artifacts::{FreedFile, FreedFiles, KnownArtifact, KnownArtifacts, ProgressLine, artifacts, freed};
pub use gateways::{GatewayLine, GatewayList, MemberLine, gateways};
pub use journal::{JournalFilter, JournalRowLine, JournalRows, journal};
pub use names::no_such_gateway;
pub use objects::{object, unshown};
pub use opens::OpensLine;
pub use order::{Before, OrderLine, Ordered, Wanted, ordered, standing_orders, understood};
pub use plan::{LimitLine, PlanLine, PlannedLine, PlannedWaveLine, Plans, TakenLine, plans, plans_with};
pub use registration::{Acceptance, Accepted, GuesserLine, NotAccepted, PendingLine, guessers, pending};
pub use rollout::{RolloutWhy, rollout_why};
pub use service::{ServiceLine, ServiceWhy, service_why};
pub use status::{
    ArtifactLine, ClockLine, Counters, GatewayCount, RefusalLine, RolloutLine, SiteFileLine, Status, WaveLine, status,
};
pub use why::{ExpectedLine, JournalLine, MemberWhy, ROWS_FOR_WHY, Why, why};

/// Whoever answers runs, also one of a version that does not say so.
fn yes() -> bool {
    true
}
