//! The engine's rules, one test each, named after the rule. What happens to a site is said through the heart's one step.
#![allow(clippy::unchecked_time_subtraction, reason = "of constants")]

mod attempts;
mod brakes;
mod budget;
mod cancelling;
mod confirming;
mod conflict;
mod dropped;
mod feedback;
mod guard;
mod listing;
mod lost;
mod needs;
mod offline;
mod ordered;
mod pacing;
mod planned;
mod registered;
mod retrying;
mod rollback;
pub(crate) mod site;
mod superseding;
mod variants;
mod waves;
mod windows;
