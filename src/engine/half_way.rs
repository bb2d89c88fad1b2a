//! A gateway that idles half-way while somebody or something stops it: its link is hidden, so that it waits in nobody's way,
//! and it keeps its order.

use super::draft::Draft;
use super::state::{Gateway, Member, Rollout, State, Step};
use super::{brake, rollback};
use crate::model::{ControllerId, RolloutId, SiteTime, WaitingReason};

/// May its link have to be hidden, or shown again?
pub(super) fn concerns(member: &Member) -> bool {
    match member.step {
        Step::Downloading => true,
        Step::Waiting(_) => is_hidden(member),
        _ => false,
    }
}

fn is_hidden(member: &Member) -> bool {
    member.open_action().is_some_and(|action| action.hidden)
}

/// Takes the link from those of these gateways that idle half-way while they are held, their rollout stands still or no
/// window is open. Once nobody stops one any more its deadline runs again.
pub(super) fn park(draft: &mut Draft, id: RolloutId, gateways: &[ControllerId]) {
    let Some(rollout) = draft.state.rollouts.get(&id) else { return };
    let (state, now) = (&*draft.state, draft.now.site);
    let download = rollout.spec.deadlines.download;
    let (mut parked, mut released) = (Vec::new(), Vec::new());
    for id in gateways {
        let Some((gateway, member)) = state.gateways.get(id).zip(rollout.members.get(id)) else { continue };
        let stopped = || stopped(state, rollout, gateway, member);
        match member.step {
            Step::Downloading if hide_at(state, rollout, gateway, member).is_some_and(|at| at <= now) => {
                parked.extend(stopped().map(|reason| (id, reason)));
            }
            Step::Waiting(_) if is_hidden(member) && stopped().is_none() => released.push(id),
            _ => {}
        }
    }
    for (gateway, reason) in parked {
        draft.park(id, gateway, reason);
    }
    for gateway in released {
        draft.edit_action(id, gateway, |action| {
            (action.hidden, action.deadline) = (false, Some(now.plus(download)));
        });
    }
}

/// When a downloading member's link is to be hidden, if it stands still on somebody's word.
pub(super) fn hide_at(state: &State, rollout: &Rollout, gateway: &Gateway, member: &Member) -> Option<SiteTime> {
    let idles = member.step == Step::Downloading && gateway.bodies == 0;
    let stands = idles && stopped(state, rollout, gateway, member).is_some();
    stands.then(|| member.since.max(gateway.idle_since).plus(state.interval(gateway) * 2))
}

/// On whose word a member stands still, or for which hour.
fn stopped(state: &State, rollout: &Rollout, gateway: &Gateway, member: &Member) -> Option<WaitingReason> {
    match () {
        () if brake::is_held(state, gateway) => Some(WaitingReason::Held),
        () if gateway.duplicate => Some(WaitingReason::DuplicateIdentity),
        () if member.reverting => rollback::halt(state, rollout).or_else(|| rollout.shut()),
        () if rollout.conflict => Some(WaitingReason::DigestConflict),
        () if brake::is_stopped(state, rollout) => Some(WaitingReason::Paused),
        () => rollout.shut(),
    }
}
