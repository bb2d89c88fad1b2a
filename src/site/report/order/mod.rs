//! Orders on the spot: what a person asks for, what became of it, and what stands.

mod answer;
mod standing;

pub use answer::{Before, ordered};
use serde::{Deserialize, Serialize};
pub use standing::{OrderLine, standing_orders};
pub(super) use standing::{line, spec_line};

use super::names;
use crate::engine::{self, State};
use crate::model::{ControllerId, Identity, Order, StandingOrder};

/// What a person asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "camelCase", deny_unknown_fields)]
#[expect(missing_docs, reason = "names and reasons, as typed")]
pub enum Wanted {
    /// Nothing of the rollout begins.
    Pause { rollout: String, reason: Option<String> },
    /// What was said of it on the spot stands no more; without a name: go on after the store was lost.
    Resume { rollout: Option<String> },
    /// The rollout is called off.
    Cancel { rollout: String, reason: Option<String> },
    /// Waves may open: this one, that which waits now, or all that ask for it.
    Approve { rollout: String, wave: Option<String>, all: bool },
    /// The gateway takes no new order.
    Hold { gateway: String, reason: Option<String> },
    /// It does again.
    Unhold { gateway: String },
    /// It was set right by hand.
    Repaired { gateway: String },
    /// Failed members begin again: these, or all.
    Retry { rollout: String, gateways: Vec<String> },
    /// The service's unit is restarted.
    Restart { service: String },
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ordered {
    /// Its word: `pause`.
    pub order: String,
    /// The rollout that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollout: Option<String>,
    /// The service that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// The gateways that it reached, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gateways: Vec<String>,
    /// False: it was so already, or there was nothing to do.
    pub changed: bool,
    /// Who gave it.
    pub by: String,
    /// What that means, for a person.
    pub says: Vec<String>,
}

/// The longest reason, in characters.
const LONGEST_REASON: usize = 200;

/// What is to be said to the engine, or why it cannot be.
pub fn understood(state: &State, wanted: &Wanted) -> Result<Vec<Order>, String> {
    let rollout = |name: &str| names::rollout(state, name);
    Ok(match wanted {
        Wanted::Pause { rollout: name, reason: why } => {
            vec![Order::Give(StandingOrder::Pause(rollout(name)?), reason(why.as_deref())?)]
        }
        Wanted::Cancel { rollout: name, reason: why } => {
            vec![Order::Give(StandingOrder::Cancel(rollout(name)?), reason(why.as_deref())?)]
        }
        Wanted::Resume { rollout: Some(name) } => {
            let identity = rollout(name)?;
            vec![Order::Lift(StandingOrder::Cancel(identity.clone())), Order::Lift(StandingOrder::Pause(identity))]
        }
        Wanted::Resume { rollout: None } if state.site.lost => vec![Order::Resume],
        Wanted::Resume { rollout: None } => vec![],
        Wanted::Hold { gateway, reason: why } => {
            vec![Order::Give(StandingOrder::Hold(id(state, gateway)?), reason(why.as_deref())?)]
        }
        Wanted::Repaired { gateway } => vec![Order::Repaired(id(state, gateway)?)],
        Wanted::Unhold { gateway } => vec![Order::Lift(StandingOrder::Hold(id(state, gateway)?))],
        Wanted::Approve { rollout: name, wave, all } => {
            let identity = rollout(name)?;
            let waves = waves(state, &identity, wave.as_deref(), *all)?;
            vec![Order::Approve(identity, waves)]
        }
        Wanted::Retry { rollout: name, gateways } => {
            let identity = rollout(name)?;
            let gateways: Vec<_> =
                gateways.iter().map(|who| member(state, &identity, who)).collect::<Result<_, _>>()?;
            vec![Order::Retry(identity, gateways)]
        }
        Wanted::Restart { service } => vec![Order::Restart(names::service(state, service)?)],
    })
}

/// The waves that are meant.
fn waves(state: &State, identity: &Identity, wave: Option<&str>, all: bool) -> Result<Vec<String>, String> {
    let rollout = engine::current(state, identity).and_then(|id| state.rollouts.get(&id));
    let rollout = rollout.ok_or_else(|| format!("{identity} is not there to be approved; give its manifest first"))?;
    let (waiting, now) = engine::unapproved(state, rollout);
    let list = if waiting.is_empty() { "none".into() } else { waiting.join(", ") };
    match wave {
        Some(name) if waiting.iter().chain(&rollout.approved).any(|wave| wave == name) => Ok(vec![name.to_owned()]),
        Some(name) => Err(format!("no wave {name:?} of {identity} waits to be approved; those that do: {list}")),
        None if all && waiting.is_empty() => Err(format!("no wave of {identity} waits to be approved")),
        None if all => Ok(waiting),
        None => now.map(|wave| vec![wave]).ok_or_else(|| {
            format!(
                "no wave of {identity} waits to be approved now; those that will: {list}, by their names or `--all`"
            )
        }),
    }
}

fn id(state: &State, who: &str) -> Result<ControllerId, String> {
    let found = names::gateway(state, who).map(|(id, _)| id.clone());
    found.ok_or_else(|| names::no_such_gateway(state, who))
}

fn member(state: &State, identity: &Identity, who: &str) -> Result<ControllerId, String> {
    let id = id(state, who)?;
    let rollout = engine::current(state, identity).and_then(|id| state.rollouts.get(&id));
    if rollout.is_some_and(|rollout| rollout.members.contains_key(&id)) {
        return Ok(id);
    }
    Err(format!("{who} does not belong to {identity}; `lamplighter plan {identity}` lists who does"))
}

fn reason(text: Option<&str>) -> Result<Option<String>, String> {
    let text = text.map(|text| text.trim().replace(char::is_control, " "));
    match text {
        Some(text) if text.chars().count() > LONGEST_REASON => {
            Err(format!("the reason has more than {LONGEST_REASON} characters; say it shorter"))
        }
        text => Ok(text.filter(|text| !text.is_empty())),
    }
}
