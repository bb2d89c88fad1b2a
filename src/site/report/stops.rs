//! On whose word a gateway or a rollout stands still, and what lifts each: a spec and a person may both say it.

use super::order::{OrderLine, line, spec_line};
use crate::engine::{Gateway, Rollout, State};
use crate::model::{ControllerId, SiteTime, StandingOrder};

/// Who holds a gateway.
pub(super) fn holds(state: &State, id: &ControllerId, gateway: &Gateway, now: SiteTime) -> Vec<OrderLine> {
    let name = &gateway.spec.name;
    let by_spec = gateway.spec.hold.then(|| spec_line("hold", None, Some(name), "`hold: false` on its EdgeGateway"));
    let order = StandingOrder::Hold(id.clone());
    let by_person = state.orders.get(&order).map(|given| line(state, &order, given, now));
    by_spec.into_iter().chain(by_person).collect()
}

/// Who paused a rollout or called it off.
pub(super) fn stops(state: &State, rollout: &Rollout, now: SiteTime) -> Vec<OrderLine> {
    let name = rollout.identity.to_string();
    let spec = |order, lift| spec_line(order, Some(&name), None, lift);
    let pause = rollout.spec.paused.then(|| spec("pause", "`paused: false` in its spec"));
    let cancel = rollout.spec.cancelled.then(|| spec("cancel", "another version without `cancelled`"));
    let orders = [StandingOrder::Pause(rollout.identity.clone()), StandingOrder::Cancel(rollout.identity.clone())];
    let given = orders.iter().filter_map(|order| Some(line(state, order, state.orders.get(order)?, now)));
    pause.into_iter().chain(cancel).chain(given).collect()
}
