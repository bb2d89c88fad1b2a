//! The engine's rules, one test each, named after the rule. What happens to a site is said through the heart's one step.
#![allow(clippy::unchecked_time_subtraction, reason = "of constants")]

mod api;
mod approvals;
mod attempts;
mod bench_first;
mod brakes;
mod budget;
mod cancelling;
mod confirming;
mod conflict;
mod dropped;
mod effort;
mod feedback;
mod gates;
mod guard;
mod healthy;
mod limits;
mod listing;
mod lost;
mod needs;
mod offline;
mod ordered;
mod pacing;
mod planned;
mod power_back;
mod registered;
mod retrying;
mod rollback;
mod silence;
pub(crate) mod site;
mod spread;
mod superseding;
mod variants;
mod wave_edits;
mod waves;
mod windows;
