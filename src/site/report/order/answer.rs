//! What is said to a person about an order once it is on disk.

use super::super::service;
use super::Ordered;
use super::standing::line;
use crate::engine::{self, Member, Rollout, State, Step};
use crate::model::{ControllerId, Given, Identity, Order, SiteTime, StandingOrder, Verdict};

/// What stood before the order, and which members had failed.
#[derive(Debug, Clone)]
pub struct Before {
    standing: Vec<(StandingOrder, Given)>,
    failed: Vec<ControllerId>,
}

/// Names are listed as long as there are no more.
const MOST_NAMED: usize = 8;

impl Before {
    /// What these orders may change.
    pub fn of(state: &State, orders: &[Order]) -> Self {
        let standing = |order: &Order| match order {
            Order::Give(order, _) | Order::Lift(order) => {
                state.orders.get(order).map(|given| (order.clone(), given.clone()))
            }
            Order::Resume | Order::Approve(..) | Order::Retry(..) | Order::Restart(_) | Order::Repaired(_) => None,
        };
        let failed = |order: &Order| match order {
            Order::Retry(identity, named) => again(state, identity, named),
            _ => Vec::new(),
        };
        Self {
            standing: orders.iter().filter_map(standing).collect(),
            failed: orders.iter().flat_map(failed).collect(),
        }
    }

    fn given(&self, order: &StandingOrder) -> Option<&Given> {
        self.standing.iter().find(|(other, _)| other == order).map(|(_, given)| given)
    }
}

/// Members that a retry would reach.
fn again(state: &State, identity: &Identity, named: &[ControllerId]) -> Vec<ControllerId> {
    let Some(rollout) = current(state, identity) else { return Vec::new() };
    let unknown = |id: &ControllerId| state.gateways.get(id).is_some_and(|gateway| gateway.unknown_version);
    let reached = |id: &ControllerId, member: &Member| match member.step {
        Step::Failed(_) => true,
        Step::Waiting(_) => unknown(id),
        _ => false,
    };
    let members = rollout.members.iter().filter(|(id, member)| reached(id, member));
    members.map(|(id, _)| id.clone()).filter(|id| named.is_empty() || named.contains(id)).collect()
}

fn current<'s>(state: &'s State, identity: &Identity) -> Option<&'s Rollout> {
    state.rollouts.get(&engine::current(state, identity)?)
}

/// The answer to an order; `verdicts` are those on what it was understood as.
pub fn ordered(
    state: &State,
    now: SiteTime,
    orders: &[Order],
    before: &Before,
    by: &str,
    verdicts: &[Verdict],
) -> Ordered {
    let changed = verdicts.contains(&Verdict::Accepted);
    let answer = |order: &str, rollout: Option<&Identity>, gateways: Vec<String>, says: Vec<String>| Ordered {
        order: order.into(),
        rollout: rollout.map(ToString::to_string),
        service: None,
        gateways,
        changed,
        by: by.to_owned(),
        says,
    };
    let already = |order: &StandingOrder, was: &str| {
        let whose = before.given(order).map(|given| line(state, order, given, now).whose()).unwrap_or_default();
        vec![format!("{was} already, {whose}")]
    };
    match orders.first() {
        Some(Order::Give(order @ StandingOrder::Pause(identity), _)) => {
            let says = if changed { paused(state, identity) } else { already(order, &format!("{identity} is paused")) };
            answer("pause", Some(identity), vec![], says)
        }
        Some(Order::Give(order @ StandingOrder::Cancel(identity), _)) => {
            let says =
                if changed { cancelled(state, identity) } else { already(order, &format!("{identity} is cancelled")) };
            answer("cancel", Some(identity), vec![], says)
        }
        Some(Order::Give(order @ StandingOrder::Hold(id), _)) => {
            let name = name(state, id);
            let says = if changed { held(state, id, &name) } else { already(order, &format!("{name} is held")) };
            answer("hold", None, vec![name], says)
        }
        Some(Order::Lift(StandingOrder::Hold(id))) => {
            let name = name(state, id);
            let says = unheld(state, id, &name, before);
            answer("unhold", None, vec![name], says)
        }
        Some(Order::Lift(StandingOrder::Pause(identity) | StandingOrder::Cancel(identity))) => {
            answer("resume", Some(identity), vec![], resumed(state, identity, before))
        }
        Some(Order::Approve(identity, waves)) => {
            answer("approve", Some(identity), vec![], approved(state, identity, waves, changed))
        }
        Some(Order::Retry(identity, named)) => {
            let reached: Vec<_> = before.failed.iter().map(|id| name(state, id)).collect();
            let says = retried(state, identity, named.is_empty(), &reached);
            answer("retry", Some(identity), reached, says)
        }
        Some(Order::Restart(name)) => Ordered {
            service: Some(name.to_string()),
            ..answer("restart", None, vec![], service::restarted(state, name, now, changed))
        },
        Some(Order::Repaired(id)) => {
            let name = name(state, id);
            let says = repaired(state, id, &name, changed);
            answer("unhold", None, vec![name], says)
        }
        Some(Order::Resume) => answer("resume", None, vec![], vec![RESUMED.into()]),
        None => answer("resume", None, vec![], nothing_to_resume(state)),
    }
}

const RESUMED: &str = "resumed: gateways that report a version go on, the others wait as UnknownVersion until they do, or until `lamplighter retry`";

fn nothing_to_resume(state: &State) -> Vec<String> {
    let mut says = vec!["nothing to resume: the store was not lost, or somebody resumed before".to_owned()];
    let rollouts = state.orders.iter().filter(|(order, _)| order.rollout().is_some()).take(MOST_NAMED);
    says.extend(rollouts.map(|(order, given)| {
        let word = if matches!(order, StandingOrder::Pause(_)) { "paused" } else { "cancelled" };
        format!("{0} is {word} by {1}: `lamplighter resume {0}` lifts that", order.name(), given.by)
    }));
    says
}

fn name(state: &State, id: &ControllerId) -> String {
    state.gateways.get(id).map_or_else(|| id.to_string(), |gateway| gateway.spec.name.clone())
}

fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

fn paused(state: &State, identity: &Identity) -> Vec<String> {
    let mut says = vec![format!(
        "{identity} is paused: nothing of it is offered and no wave opens until `lamplighter resume {identity}`, whatever its manifest says"
    )];
    let Some(rollout) = current(state, identity) else { return says };
    let in_hand = rollout.members.values().filter(|member| member.fetched() && member.step.is_in_flight()).count();
    if in_hand > 0 {
        says.push(format!(
            "{} took the order before and may finish it; one that idles half-way does not see it meanwhile",
            count(in_hand, "gateway")
        ));
    }
    if rollout.spec.paused {
        says.push("its spec pauses it too".into());
    }
    says
}

fn cancelled(state: &State, identity: &Identity) -> Vec<String> {
    let mut says = Vec::new();
    let Some(rollout) = current(state, identity) else {
        return vec![format!("nothing under the name {identity} begins until `lamplighter resume {identity}`")];
    };
    let key = &rollout.spec.artifact.key;
    says.push(format!(
        "{identity} ({} {}) is called off for good, and no later version begins under this name until `lamplighter resume {identity}`",
        key.name, key.version
    ));
    let told = rollout.members.values().filter(|member| member.is_cancelling()).count();
    if told > 0 {
        says.push(format!("{} told to drop the order", were(told)));
    }
    let on = rollout.members.values().filter(|member| member.step.is_in_flight()).count();
    if on > 0 {
        says.push(format!("{} beyond stopping and goes on to its end", are(on)));
    }
    says
}

fn were(gateways: usize) -> String {
    format!("{} {}", count(gateways, "gateway"), if gateways == 1 { "was" } else { "were" })
}

fn are(gateways: usize) -> String {
    format!("{} {}", count(gateways, "gateway"), if gateways == 1 { "is" } else { "are each" })
}

fn held(state: &State, id: &ControllerId, name: &str) -> Vec<String> {
    let mut says = vec![format!(
        "{name} is held: it takes no new order until `lamplighter unhold {name}`, whatever its manifest says"
    )];
    let in_hand = |rollout: &Rollout| {
        rollout.members.get(id).is_some_and(|member| member.fetched() && member.step.is_in_flight())
    };
    if let Some(rollout) = state.rollouts.values().find(|rollout| in_hand(rollout)) {
        says.push(format!("it took the order of {} before and may finish it", rollout.identity));
    }
    if state.gateways.get(id).is_some_and(|gateway| gateway.spec.hold) {
        says.push("its EdgeGateway holds it too".into());
    }
    says
}

fn unheld(state: &State, id: &ControllerId, name: &str, before: &Before) -> Vec<String> {
    let mut says = vec![match before.given(&StandingOrder::Hold(id.clone())) {
        Some(given) => format!("{name} is no longer held on the spot; {} held it", given.by),
        None => format!("nothing to lift: nobody holds {name} on the spot"),
    }];
    if state.gateways.get(id).is_some_and(|gateway| gateway.spec.hold) {
        says.push("its EdgeGateway still holds it: set `hold: false` there".into());
    }
    says
}

fn repaired(state: &State, id: &ControllerId, name: &str, changed: bool) -> Vec<String> {
    if !changed {
        return vec![format!("nothing to forget: the last update of {name} did not fail, and one machine uses its id")];
    }
    let mut says = vec![format!(
        "{name} counts as set right: that its last update failed, or two machines used its id, is forgotten"
    )];
    let failed = |rollout: &&Rollout| rollout.members.get(id).is_some_and(|m| matches!(m.step, Step::Failed(_)));
    if let Some(rollout) = state.rollouts.values().find(failed) {
        says.push(format!(
            "it stays failed in {0}; `lamplighter retry {0} {name}` brings it to its update again",
            rollout.identity
        ));
    }
    says
}

fn resumed(state: &State, identity: &Identity, before: &Before) -> Vec<String> {
    let mut says = Vec::new();
    if let Some(given) = before.given(&StandingOrder::Pause(identity.clone())) {
        says.push(format!("{identity} is no longer paused on the spot; {} paused it", given.by));
    }
    if let Some(given) = before.given(&StandingOrder::Cancel(identity.clone())) {
        says.push(format!(
            "{identity} is no longer cancelled on the spot, so later versions begin; {} cancelled it",
            given.by
        ));
    }
    if says.is_empty() {
        says.push(format!("nothing to lift: {identity} is neither paused nor cancelled on the spot"));
    }
    let Some(rollout) = current(state, identity) else { return says };
    let key = &rollout.spec.artifact.key;
    if rollout.cancelled {
        says.push(format!("{} {} stays called off: give it another version", key.name, key.version));
    } else if rollout.spec.paused {
        says.push("its spec still pauses it: set `spec.paused` to false there".into());
    } else if rollout.tripped.is_some() {
        says.push(still_stopped(rollout));
    }
    says
}

fn approved(state: &State, identity: &Identity, waves: &[String], changed: bool) -> Vec<String> {
    let Some(rollout) = current(state, identity) else { return Vec::new() };
    let (key, what) = (&rollout.spec.artifact.key, if waves.len() == 1 { "wave" } else { "waves" });
    let list = waves.join(", ");
    if !changed {
        return vec![format!("{what} {list} of {identity} ({} {}) was approved already", key.name, key.version)];
    }
    vec![format!(
        "{what} {list} of {identity} ({} {}) may open; another version needs another approval",
        key.name, key.version
    )]
}

fn still_stopped(rollout: &Rollout) -> String {
    let why = rollout.tripped.as_ref().map(ToString::to_string).unwrap_or_default();
    format!("it is stopped by its failures: {why}; `lamplighter retry {}` lets them all begin again", rollout.identity)
}

fn retried(state: &State, identity: &Identity, all: bool, reached: &[String]) -> Vec<String> {
    let mut says = Vec::new();
    if reached.is_empty() {
        says.push(format!("nothing to retry: no gateway of {identity} failed"));
        if !all {
            says = vec![format!("nothing to retry: none of these failed in {identity}")];
        }
    } else {
        let more = reached.len().saturating_sub(MOST_NAMED);
        let mut list = reached.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join(", ");
        if more > 0 {
            list.extend([" and ", &more.to_string(), " more"]);
        }
        let begin = if reached.len() == 1 { "begins" } else { "begin" };
        says.push(format!("{} of {identity} {begin} again: {list}", count(reached.len(), "gateway")));
    }
    if let Some(rollout) = current(state, identity).filter(|rollout| rollout.tripped.is_some()) {
        says.push(still_stopped(rollout));
    }
    says
}
