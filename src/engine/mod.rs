//! What should happen next: facts in, decisions out.
//!
//! Owns every rule about who may be offered what, and when. Pure: it must never do I/O, read a clock, draw a random number,
//! or know that Kubernetes, HTTP or a disk exist; time and randomness come in as arguments.
//!
//! [`apply`] takes one fact into a [`Draft`]; [`settle`] then decides, to a fixpoint, for the rollouts touched or due.
//! Nothing outside may see either before the draft's changes are committed.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod action;
mod allowance;
mod apply;
mod attempt;
mod brake;
mod deadline;
mod draft;
mod feedback;
mod listing;
mod order;
mod outlook;
mod phase;
mod settle;
mod state;
mod version;
mod wave;

pub use allowance::Allowance;
pub use apply::apply;
pub use draft::{Changes, Draft};
pub use order::order_key;
pub use outlook::{GatewayView, OfferView, gateway_view, next_due, wanted_artifacts};
pub use phase::{Phase, Steps, Summary, phase, steps, summary};
pub use settle::{settle, settle_all};
pub use state::{Action, Artifact, Frozen, Gateway, Member, Rollout, Served, Site, State, Step, Tripped, Wave};

pub use crate::model::Settings;
