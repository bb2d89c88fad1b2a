//! The facts behind a waiting reason, for a person who asks about one gateway.

use super::brake::Load;
use super::gate;
use super::spread::Groups;
use super::state::{State, Step};
use crate::model::{ControllerId, RolloutId, SiteTime, WaitingReason};

/// What a member waits for just now: which cap, which line, which gate. Nothing where the reason says it all.
pub fn because(state: &State, now: SiteTime, rollout_id: RolloutId, id: &ControllerId) -> Option<String> {
    let rollout = state.rollouts.get(&rollout_id)?;
    let Step::Waiting(reason) = rollout.members.get(id)?.step else { return None };
    match reason {
        WaitingReason::MaxInFlight => {
            let load = Load::of(state, rollout_id);
            let most = rollout.spec.strategy.max_in_flight.of(rollout.frozen.as_ref().map_or(0, |frozen| frozen.total));
            Some(if load.in_flight >= most {
                format!("of this rollout {} are under way, {most} may be (strategy.maxInFlight)", load.in_flight)
            } else {
                let most = state.settings.max_in_flight;
                format!(
                    "of all rollouts {} are under way, {most} may be (limits.maxInFlight of the site file)",
                    load.site
                )
            })
        }
        WaitingReason::Spread | WaitingReason::MinHealthy => Groups::of(state, rollout)?.numbers(id, reason),
        WaitingReason::Gate => gate::explained(state, now, rollout, id),
        _ => None,
    }
}
