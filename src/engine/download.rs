//! A gateway takes its update: the order, the artifact's bytes, and the last of them.

use std::time::Duration;

use super::attempt::Then;
use super::brake::{Brakes, Load};
use super::conflict;
use super::draft::Draft;
use super::room::Room;
use super::settle::settle;
use super::state::{Rollout, Served, Step};
use crate::model::{ActionId, Bytes, ControllerId, Digest, FailedReason, RolloutId, Verdict, What};

/// What was served is remembered for so many artifacts per gateway.
const MOST_SERVED: usize = 4;

/// The gateway asks for its order: the brakes are decided again, with everything that happened before.
pub(super) fn fetched(draft: &mut Draft, id: &ControllerId, action: ActionId) -> Verdict {
    settle(draft);
    let Some((rollout_id, rollout)) = busy(draft, id) else { return Verdict::Withdrawn };
    let Some(member) = rollout.members.get(id) else { return Verdict::Withdrawn };
    let Some(order) = member.open_action().filter(|order| order.id == action && !order.hidden) else {
        return Verdict::Withdrawn;
    };
    if order.fetched {
        return Verdict::Deploy;
    }
    if member.step != Step::Offered {
        return Verdict::Withdrawn;
    }
    let now = draft.now.site;
    let brakes = Brakes::of(draft.state, now, (rollout_id, rollout));
    let Some(gateway) = draft.state.gateways.get(id) else { return Verdict::Withdrawn };
    let load = || Load::of(draft.state, rollout_id);
    let room = || Room::of(draft.state, rollout, load()).brake(now, gateway, true);
    if let Some(reason) = brakes.standing(gateway, member).or_else(room) {
        draft.withdraw(rollout_id, id, reason);
        return Verdict::Withdrawn;
    }
    let deadline = draft.now.site.plus(rollout.spec.deadlines.download);
    draft.edit_member(rollout_id, id, |member| {
        member.not_fetched = 0;
        member.reported = None;
        if let Some(order) = &mut member.action {
            (order.fetched, order.ever_fetched, order.deadline) = (true, true, Some(deadline));
            // what cut an earlier download does not excuse this one
            order.excused = false;
        }
    });
    let now = draft.now.site;
    draft.edit_gateway(id, |gateway| (gateway.paced, gateway.acted_at) = (Duration::ZERO, Some(now)));
    draft.step(rollout_id, id, Step::Downloading);
    draft.note_member(What::Fetched, rollout_id, id, format!("action {action}"));
    Verdict::Deploy
}

/// The gateway asks for bytes; they may leave only under an order that it has in hand.
pub(super) fn requested(draft: &mut Draft, id: &ControllerId, digest: Digest, bytes: Bytes) -> Verdict {
    let Some(rollout) = in_hand(draft, id, &digest) else { return Verdict::Withdrawn };
    if draft.state.rollouts.get(&rollout).is_some_and(|rollout| rollout.conflict) {
        return Verdict::Withdrawn;
    }
    if bytes == Bytes::Some
        && let Some(spent) = over_budget(draft, rollout, id)
    {
        // one whose update has ended loses its order and nothing else
        if draft.member(rollout, id).is_some_and(|member| member.step.is_terminal()) {
            draft.close(rollout, id);
        } else {
            draft.fail_attempt(rollout, id, FailedReason::BytesSpent, Some(spent), Then::Stop);
        }
        return Verdict::Withdrawn;
    }
    draft.edit_action(rollout, id, |order| order.requested = true);
    match bytes {
        Bytes::Some => {
            remember(draft, id, digest, false);
            draft.edit_gateway_volatile(id, |gateway| gateway.bodies = gateway.bodies.saturating_add(1));
        }
        // it has the whole file from an earlier attempt
        Bytes::None if draft.state.gateways.get(id).is_some_and(|gateway| gateway.fully_served(&digest)) => {
            begin_install(draft, rollout, id);
        }
        Bytes::None => {}
    }
    Verdict::Deploy
}

/// The last byte is about to leave: the gateway can install from now on.
pub(super) fn served(draft: &mut Draft, id: &ControllerId, digest: Digest) -> Verdict {
    if in_hand(draft, id, &digest).is_none() {
        take_again(draft, id, &digest);
    }
    let Some(rollout_id) = in_hand(draft, id, &digest) else { return Verdict::Withdrawn };
    remember(draft, id, digest, true);
    let now = draft.now.site;
    draft.edit_gateway(id, |gateway| gateway.acted_at = Some(now));
    begin_install(draft, rollout_id, id);
    Verdict::Deploy
}

/// A download outlived its deadline, and its order is offered again: while it goes on no gateway fetches anything, so its
/// end counts as the fetch. The brakes are decided again all the same.
fn take_again(draft: &mut Draft, id: &ControllerId, digest: &Digest) {
    let member = busy(draft, id).and_then(|(_, rollout)| Some((rollout, rollout.members.get(id)?)));
    let lapsed = member.filter(|(rollout, member)| rollout.file_for(member).key.digest == *digest);
    let order = lapsed.and_then(|(_, member)| member.open_action());
    if let Some(action) = order.filter(|order| order.ever_fetched).map(|order| order.id) {
        fetched(draft, id, action);
    }
}

/// The gateway has all it needs, or installs while it reads.
pub(super) fn begin_install(draft: &mut Draft, rollout_id: RolloutId, id: &ControllerId) {
    let Some(rollout) = draft.state.rollouts.get(&rollout_id) else { return };
    let Some(member) = rollout.members.get(id).filter(|member| member.step == Step::Downloading) else { return };
    let digest = rollout.file_for(member).key.digest;
    let deadline = draft.now.site.plus(rollout.spec.deadlines.install);
    let served = draft.state.gateways.get(id).is_some_and(|g| g.fully_served(&digest));
    draft.edit_action(rollout_id, id, |order| {
        // who reads on while it installs keeps the time it had for the download
        order.deadline = order.deadline.filter(|_| !served).max(Some(deadline));
        order.excused = false;
    });
    if served {
        draft.edit_gateway_unseen(id, |gateway| gateway.paced = Duration::ZERO);
    }
    draft.step(rollout_id, id, Step::Installing);
    draft.note_member(What::Served, rollout_id, id, if served { "" } else { "so far; it installs as it reads" });
}

/// What its bodies waited for us is added to the gateway's deadline once that has passed; nothing is looked at before.
pub(super) fn paced(draft: &mut Draft, id: &ControllerId, time: Duration) {
    draft.edit_gateway_unseen(id, |gateway| gateway.paced = gateway.paced.saturating_add(time));
}

/// The deadline of a gateway that takes its update has passed: it is put off for as long as we kept it waiting.
pub(super) fn put_off(draft: &mut Draft, rollout: RolloutId, id: &ControllerId) -> bool {
    let mut paced = Duration::ZERO;
    draft.edit_gateway_unseen(id, |gateway| paced = std::mem::take(&mut gateway.paced));
    draft.edit_action(rollout, id, |order| order.deadline = order.deadline.map(|at| at.plus(paced)));
    !paced.is_zero()
}

/// What was sent to a gateway, if that is all that it may be sent.
fn over_budget(draft: &Draft, rollout: RolloutId, id: &ControllerId) -> Option<String> {
    let rollout = draft.state.rollouts.get(&rollout)?;
    let member = rollout.members.get(id)?;
    let size = rollout.file_for(member).size;
    (member.spent >= rollout.spec.budget(size)).then(|| format!("{} was sent to it", member.sent(size)))
}

pub(super) fn body_ended(draft: &mut Draft, id: &ControllerId, digest: &Digest, bytes: u64) {
    // the order may be closed by now
    let has = |rollout: &Rollout| {
        let member = rollout.members.get(id).filter(|member| member.action.is_some());
        member.is_some_and(|member| rollout.file_for(member).key.digest == *digest)
    };
    let rollouts = draft.state.rollouts.iter().filter(|(_, rollout)| has(rollout));
    if let Some(rollout) = rollouts.max_by_key(|(_, rollout)| rollout.arrival).map(|(rollout, _)| *rollout) {
        draft.spend(rollout, id, bytes);
    }
    let now = draft.now.site;
    draft.edit_gateway_volatile(id, |gateway| {
        gateway.bodies = gateway.bodies.saturating_sub(1);
        gateway.idle_since = now;
    });
}

fn remember(draft: &mut Draft, id: &ControllerId, digest: Digest, fully: bool) {
    if draft.state.gateways.get(id).is_some_and(|it| !it.served.iter().any(|served| served.digest == digest)) {
        conflict::first_byte(draft, &digest);
    }
    draft.edit_gateway(id, |gateway| match gateway.served.iter_mut().find(|served| served.digest == digest) {
        Some(served) => served.fully |= fully,
        None => {
            if gateway.served.len() >= MOST_SERVED {
                gateway.served.remove(0);
            }
            gateway.served.push(Served { digest, fully });
        }
    });
}

/// The rollout whose order a gateway has open.
fn busy<'d>(draft: &'d Draft, id: &ControllerId) -> Option<(RolloutId, &'d Rollout)> {
    let rollout = draft.state.gateways.get(id)?.busy?;
    Some((rollout, draft.state.rollouts.get(&rollout)?))
}

/// The rollout whose order for this artifact a gateway has fetched and not ended.
fn in_hand(draft: &Draft, id: &ControllerId, digest: &Digest) -> Option<RolloutId> {
    let (rollout_id, rollout) = busy(draft, id)?;
    let member = rollout.members.get(id)?;
    let order = member.open_action()?;
    (order.fetched && !order.hidden && rollout.file_for(member).key.digest == *digest).then_some(rollout_id)
}
