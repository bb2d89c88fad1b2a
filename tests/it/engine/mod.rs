//! The engine's rules, one test each, named after the rule. What happens to a site is said through the heart's one step.
#![allow(clippy::unchecked_time_subtraction, reason = "of constants")]

mod api;
mod attempts;
mod brakes;
mod budget;
mod cancelling;
mod confirming;
mod dropped;
mod feedback;
mod listing;
mod lost;
mod needs;
mod offline;
mod ordered;
mod pacing;
mod planned;
mod registered;
pub(crate) mod site;
mod variants;
mod waves;
mod windows;
