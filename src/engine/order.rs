//! What a person says on the spot. It counts once, and stands until it is lifted on the spot, whatever the manifests say.

use super::draft::Draft;
use super::state::State;
use super::{approval, cancel, retry, service};
use crate::model::{ControllerId, Given, Identity, Order, RolloutId, StandingOrder, Verdict, What};

/// Takes an order, and who gave it. The same again is [`Verdict::Already`] and leaves no row; one about a name that this
/// site never knew is [`Verdict::Unknown`].
pub(super) fn apply(draft: &mut Draft, order: Order, who: &str) -> Verdict {
    match order {
        Order::Resume => resume(draft, who),
        Order::Give(order, _) if !is_known(draft.state, &order) => Verdict::Unknown,
        Order::Give(order, reason) => give(draft, order, who, reason),
        Order::Lift(order) => lift(draft, order, who),
        Order::Approve(identity, waves) => approval::on_the_spot(draft, &identity, waves, who),
        Order::Restart(name) => service::restart(draft, &name, who),
        Order::Retry(identity, gateways) => retry::on_the_spot(draft, &identity, &gateways, who),
        Order::Repaired(gateway) => repaired(draft, &gateway, who),
    }
}

/// The rollout of this name, in its newest revision.
pub fn current(state: &State, identity: &Identity) -> Option<RolloutId> {
    let current = state.rollouts.iter().find(|(_, rollout)| !rollout.replaced && rollout.identity == *identity);
    current.map(|(id, _)| *id)
}

fn resume(draft: &mut Draft, who: &str) -> Verdict {
    draft.note(What::Ordered, format!("resume, by {who}"));
    if draft.state.site.lost {
        draft.edit_site(|site| site.lost = false);
        draft.touch_all();
    }
    Verdict::Accepted
}

fn is_known(state: &State, order: &StandingOrder) -> bool {
    match order {
        StandingOrder::Pause(identity) | StandingOrder::Cancel(identity) => {
            state.orders.names(identity) || state.rollouts.values().any(|rollout| rollout.identity == *identity)
        }
        StandingOrder::Hold(gateway) => state.gateways.contains_key(gateway),
    }
}

fn give(draft: &mut Draft, order: StandingOrder, who: &str, reason: Option<String>) -> Verdict {
    let stood = draft.state.orders.get(&order).is_some();
    // said again it reaches a version that came while it stood
    let called_off = match &order {
        StandingOrder::Cancel(identity) => {
            cancel::call_off(draft, identity, What::RolloutCancelled, &format!("on the spot, by {who}"))
        }
        _ => false,
    };
    if stood && !called_off {
        return Verdict::Already;
    }
    let given = Given { by: who.to_owned(), at: draft.now.site, wall: draft.now.wall, reason };
    note(draft, &order, order.verb(), &format!(", {given}"));
    if !stood {
        draft.set_order(order, Some(given));
    }
    Verdict::Accepted
}

fn lift(draft: &mut Draft, order: StandingOrder, who: &str) -> Verdict {
    let Some(given) = draft.state.orders.get(&order) else { return Verdict::Already };
    let verb = if order.rollout().is_some() { "resume" } else { "unhold" };
    let text = format!(", by {who}; lifts {}, by {}", order.verb(), given.by);
    note(draft, &order, verb, &text);
    draft.set_order(order, None);
    Verdict::Accepted
}

/// Its last update failed, or two machines used its id: a person knows that this is over. Whatever happens from now on counts
/// as ever.
fn repaired(draft: &mut Draft, id: &ControllerId, who: &str) -> Verdict {
    let Some(gateway) = draft.state.gateways.get(id) else { return Verdict::Unknown };
    if !gateway.failed && !gateway.duplicate {
        return Verdict::Already;
    }
    draft.edit_gateway(id, |gateway| {
        (gateway.failed, gateway.duplicate) = (false, false);
        gateway.sightings.clear();
    });
    draft.note_gateway(What::Ordered, id, format!("unhold as repaired, by {who}"));
    Verdict::Accepted
}

/// A row about what the order is about, if that is there.
fn note(draft: &mut Draft, order: &StandingOrder, verb: &str, detail: &str) {
    match order {
        StandingOrder::Hold(gateway) => draft.note_gateway(What::Ordered, gateway, format!("{verb}{detail}")),
        StandingOrder::Pause(identity) | StandingOrder::Cancel(identity) => match current(draft.state, identity) {
            Some(id) => draft.note_rollout(What::Ordered, id, format!("{verb}{detail}")),
            None => draft.note(What::Ordered, format!("{verb} {identity}{detail}")),
        },
    }
}
