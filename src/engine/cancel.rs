//! A rollout is called off: what is only offered is taken back, what a gateway took it is told to drop, and what it has
//! whole it installs.

use super::draft::Draft;
use super::feedback::{describe, late, owner, strange, streamed};
use super::state::{Member, Step};
use crate::model::{
    ActionId, ControllerId, Execution, Feedback, Finished, Identity, RolloutId, SkippedReason, Verdict, WaitingReason,
    What,
};

/// Calls off a rollout and what is left of its earlier revisions, and says so as `what`; says whether there was any. It
/// latches: taking the word back revives nothing.
pub(super) fn call_off(draft: &mut Draft, identity: &Identity, what: What, how: &str) -> bool {
    let rollouts = draft.state.rollouts.iter();
    let concerned = rollouts.filter(|(_, rollout)| rollout.identity == *identity && !rollout.cancelled);
    let concerned: Vec<_> = concerned.map(|(id, _)| *id).collect();
    for id in &concerned {
        draft.edit_rollout(*id, |rollout| rollout.cancelled = true);
        draft.note_rollout(what, *id, how);
    }
    !concerned.is_empty()
}

/// Ends the members of a rollout that was called off, or has their gateways told.
pub(super) fn run(draft: &mut Draft, id: RolloutId) {
    let Some(rollout) = draft.state.rollouts.get(&id).filter(|rollout| rollout.cancelled) else { return };
    let concerned = rollout.members.iter().filter(|(_, member)| {
        matches!(member.step, Step::Waiting(_) | Step::Offered | Step::Downloading) && !member.is_cancelling()
    });
    // it may still be at work on an order that it ever fetched, if nobody closed it
    let has_order = |member: &Member| member.open_action().is_some_and(|order| order.ever_fetched);
    let concerned: Vec<_> = concerned.map(|(gateway, member)| (gateway.clone(), has_order(member))).collect();
    for (gateway, has_order) in concerned {
        if has_order {
            draft.cancel(id, &gateway);
        } else {
            draft.skip(id, &gateway, SkippedReason::Cancelled);
        }
    }
}

/// Takes a gateway's answer to the cancellation of its order (b.4). As with any word, one that is late moves nothing.
pub(super) fn answered(draft: &mut Draft, id: &ControllerId, action: ActionId, word: &Feedback) -> Verdict {
    if !draft.state.gateways.contains_key(id) {
        return Verdict::Unknown;
    }
    if !draft.state.issued(action) {
        return strange(draft, id, action);
    }
    let rollout = owner(draft, id, action);
    let Some(rollout_id) = rollout.filter(|rollout| draft.member(*rollout, id).is_some_and(Member::is_cancelling))
    else {
        return late(draft, rollout, id, action, word);
    };
    match (word.execution, word.finished) {
        (Execution::Closed, Finished::Failure) | (Execution::Rejected, _) if may_install(draft, rollout_id, id) => {
            draft.goes_on(rollout_id, id, word);
        }
        // some refuse whatever they are at
        (Execution::Closed, Finished::Failure) | (Execution::Rejected, _) => {
            draft.cancelled(rollout_id, id, "the gateway refuses, but never got the whole artifact");
        }
        (Execution::Closed, _) => draft.cancelled(rollout_id, id, "the gateway dropped it"),
        _ => {}
    }
    Verdict::Accepted
}

/// Can it be true that the gateway installs?
fn may_install(draft: &Draft, rollout: RolloutId, id: &ControllerId) -> bool {
    let file = draft.state.rollouts.get(&rollout).and_then(|rollout| rollout.file_of(id));
    let Some((file, gateway)) = file.zip(draft.state.gateways.get(id)) else { return false };
    gateway.fully_served(&file.key.digest) || streamed(gateway, &file.key.digest)
}

impl Draft<'_> {
    /// Has a gateway told to drop its order; from now on it gets no byte under it.
    fn cancel(&mut self, rollout: RolloutId, id: &ControllerId) {
        let Some(patience) = self.state.rollouts.get(&rollout).map(|r| r.spec.deadlines.cancel) else { return };
        let until = self.now.site.plus(patience);
        self.edit_action(rollout, id, |order| {
            (order.cancelling, order.fetched, order.hidden) = (true, false, false);
            order.deadline = Some(until);
        });
        self.step(rollout, id, Step::Waiting(WaitingReason::Cancelling));
        self.note_member(What::Withdrawn, rollout, id, "Cancelling");
    }

    /// A cancelled order is over. If bytes of it were served that proves nothing: the gateway takes no other order until it
    /// says what it runs, or had the time to install them all the same.
    pub(super) fn cancelled(&mut self, rollout: RolloutId, id: &ControllerId, how: &str) {
        let Some(of) = self.state.rollouts.get(&rollout) else { return };
        let Some(digest) = of.file_of(id).map(|file| file.key.digest) else { return };
        let spec = of.spec.clone();
        let served = |gateway: &super::state::Gateway| gateway.served.iter().any(|served| served.digest == digest);
        let unsettled = self.state.gateways.get(id).is_some_and(served);
        let until = self.now.site.plus(spec.deadlines.confirm);
        self.close(rollout, id);
        self.step(rollout, id, Step::Skipped(SkippedReason::Cancelled));
        self.note_member(What::Skipped, rollout, id, format!("{}: {how}", SkippedReason::Cancelled));
        if unsettled {
            self.edit_action(rollout, id, |order| order.deadline = Some(until));
            self.edit_gateway_volatile(id, |gateway| gateway.unsettled = true);
        }
    }

    /// It is known what became of a cancelled order, or will never be: the gateway may have another.
    pub(super) fn settled(&mut self, rollout: RolloutId, id: &ControllerId) {
        self.close(rollout, id);
        self.edit_gateway_volatile(id, |gateway| gateway.unsettled = false);
    }

    /// The gateway is beyond stopping: it installs, and its word on that counts (b.8.9).
    fn goes_on(&mut self, rollout: RolloutId, id: &ControllerId, word: &Feedback) {
        let Some(install) = self.state.rollouts.get(&rollout).map(|r| r.spec.deadlines.install) else { return };
        let until = self.now.site.plus(install);
        self.edit_action(rollout, id, |order| {
            (order.cancelling, order.fetched) = (false, true);
            order.deadline = Some(until);
        });
        self.step(rollout, id, Step::Installing);
        self.note_member(What::Reported, rollout, id, format!("it is installing already: {}", describe(word)));
    }
}
