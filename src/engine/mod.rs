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
mod approval;
mod attempt;
mod attributes;
mod beside;
mod brake;
mod cancel;
mod conflict;
mod contact;
mod deadline;
mod deal;
mod declare;
mod dispute;
mod download;
mod draft;
mod dropped;
mod duplicate;
mod expected;
mod explain;
mod failure_limit;
mod feedback;
mod gate;
mod guard;
mod half_way;
mod health;
mod listing;
mod members;
mod needs;
mod offer;
mod order;
mod outlook;
mod phase;
mod preview;
mod progress;
mod retry;
mod rollback;
mod room;
mod sequence;
mod service;
mod settle;
mod shown;
mod silence;
mod spread;
mod state;
mod survey;
mod takeover;
mod target;
mod version;
mod watch;
mod wave;
mod way_back;
mod window;

pub use allowance::Allowance;
pub use apply::apply;
pub use approval::{approval, is_approved, unapproved};
pub use brake::is_held;
pub use deal::ignored;
pub use draft::{Changes, Draft};
pub use dropped::MOST_DROPS;
pub use expected::{Awaited, Expectation, expected, expected_of};
pub use explain::because;
pub use gate::wanted_gates;
pub use needs::{Needs, may_go, names_of, needs, wanted_artifacts};
pub use order::current;
pub use outlook::{GatewayView, OfferView, gateway_view, next_due};
pub use phase::{Phase, Steps, Summary, phase, steps, summary, wave_now};
pub use preview::{Plan, Planned, PlannedWave, declared, plan};
pub use progress::{Standing, WaveView, waves};
pub use sequence::order_key;
pub use service::{ServicePhase, service_phase, unit_jobs, watched};
pub use settle::{settle, settle_all};
pub use shown::unshown;
pub use state::Standing as ServiceStanding;
pub use state::{
    Action, Api, Artifact, Begun, Frozen, GateSaid, Gateway, LastRestart, Member, Orders, Rollout, Served, Service,
    Site, State, Step, Tripped, Wave,
};
pub use target::files_in_use;
pub use window::{WindowsSaid, next_change};

pub use crate::model::Settings;
