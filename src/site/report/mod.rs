//! What the site says about itself to people and scripts, as JSON.

mod gateways;
mod status;
mod why;

pub use gateways::{GatewayLine, GatewayList, MemberLine, gateways};
pub use status::{
    ArtifactLine, Counters, GatewayCount, RefusalLine, RolloutLine, Status, StepCounts, SummaryLine, WaveLine, status,
};
pub use why::{JournalLine, MemberWhy, Why, why};
