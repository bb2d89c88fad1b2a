//! What should happen next: facts in, decisions out.
//!
//! Owns every rule about who may be offered what, and when. Pure: it must never do I/O, read a clock, draw a random number,
//! or know that Kubernetes, HTTP or a disk exist; time and randomness come in as arguments.
//!
//! [`apply`] takes one fact into a [`Draft`] (a gateway that asks for its order is decided on at once, with everything
//! before it); [`settle`] then decides, to a fixpoint, for the rollouts touched or due.
//! Nothing outside may see either before the draft's changes are committed.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod action;
mod allowance;
mod api;
mod apply;
mod attempt;
mod attributes;
mod brake;
mod cancel;
mod contact;
mod deadline;
mod declare;
mod dispute;
mod download;
mod draft;
mod dropped;
mod duplicate;
mod expected;
mod failure_limit;
mod feedback;
mod listing;
mod members;
mod needs;
mod order;
mod outlook;
mod phase;
mod preview;
mod retry;
mod sequence;
mod settle;
mod state;
mod target;
mod version;
mod wave;
mod window;

pub use allowance::Allowance;
pub use apply::apply;
pub use brake::is_held;
pub use draft::{Changes, Draft};
pub use dropped::MOST_DROPS;
pub use expected::{Awaited, Expectation, expected, expected_of};
pub use needs::{Needs, may_go, names_of, needs, wanted_artifacts};
pub use order::current;
pub use outlook::{GatewayView, OfferView, gateway_view, next_due};
pub use phase::{Phase, Steps, Summary, phase, steps, summary, wave_now};
pub use preview::{Plan, Planned, PlannedWave, declared, plan};
pub use sequence::order_key;
pub use settle::{settle, settle_all};
pub use state::{
    Action, Api, Artifact, Frozen, Gateway, Member, Orders, Rollout, Served, Site, State, Step, Tripped, Wave,
};
pub use target::files_in_use;
pub use window::{Gate, next_change};

pub use crate::model::Settings;
