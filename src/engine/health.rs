//! Healthy: may others be touched because this gateway is there?

use super::brake;
use super::state::{Gateway, Member, State, Step};
use crate::model::{ControllerId, Presence};

/// Why a gateway does not count as healthy, whatever is under way; completes "gw-1 …".
///
/// Not what it says of itself: only what was seen. One that nobody declares any more is nobody's other half.
pub(super) fn unfit(state: &State, gateway: &Gateway) -> Option<&'static str> {
    match () {
        () if !gateway.listed => Some("is no longer declared"),
        () if brake::is_held(state, gateway) => Some("is held"),
        () if gateway.duplicate => Some("shares its id with another machine"),
        () if gateway.failed => Some("failed its last update"),
        () if gateway.unsettled => Some("may be installing a cancelled update"),
        () if gateway.presence != Presence::Polling => Some("is not polling"),
        () => None,
    }
}

/// From the offer on until its order is closed for good, a gateway is at work; one that ever fetched an order may be
/// installing it as long as that is open.
pub(super) fn is_at_work(member: &Member) -> bool {
    member.step.is_in_flight() || member.open_action().is_some_and(|order| order.ever_fetched)
}

/// What a gateway is at, if it is at work; completes "gw-1 …".
pub(super) fn work(state: &State, id: &ControllerId) -> Option<&'static str> {
    let members = state.rollouts.values().filter_map(|rollout| rollout.members.get(id));
    let mut work = members.filter(|member| is_at_work(member));
    work.next().map(|member| if member.step == Step::Offered { "is offered its update" } else { "is being updated" })
}
