//! The engine's rules, one test each, named after the rule. What happens to a site is said through the heart's one step.
#![allow(clippy::unchecked_time_subtraction, reason = "of constants")]

mod approvals;
mod attempts;
mod bench_first;
mod brakes;
mod budget;
mod cancelling;
mod confirming;
mod dropped;
mod feedback;
mod limits;
mod listing;
mod lost;
mod needs;
mod offline;
mod ordered;
mod pacing;
mod planned;
mod registered;
mod silence;
pub(crate) mod site;
mod variants;
mod wave_edits;
mod waves;
mod windows;
