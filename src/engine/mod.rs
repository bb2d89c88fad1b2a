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
mod failure_limit;
mod feedback;
mod listing;
mod members;
mod needs;
mod outlook;
mod phase;
mod sequence;
mod settle;
mod state;
mod version;
mod wave;

pub use allowance::Allowance;
pub use apply::apply;
pub use draft::{Changes, Draft};
pub use dropped::MOST_DROPS;
pub use needs::{Needs, may_go, names_of, needs, wanted_artifacts};
pub use outlook::{GatewayView, OfferView, gateway_view, next_due};
pub use phase::{Phase, Steps, Summary, phase, steps, summary, wave_now};
pub use sequence::order_key;
pub use settle::{settle, settle_all};
pub use state::{Action, Api, Artifact, Frozen, Gateway, Member, Rollout, Served, Site, State, Step, Tripped, Wave};

pub use crate::model::Settings;
