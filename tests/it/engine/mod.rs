//! The engine's rules, one test each, named after the rule. What happens to a site is said through the heart's one step.
#![allow(clippy::unchecked_time_subtraction, reason = "of constants")]

mod attempts;
mod brakes;
mod confirming;
mod feedback;
mod listing;
mod lost;
mod offline;
mod pacing;
mod registered;
mod site;
mod waves;
