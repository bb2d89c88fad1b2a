//! A rollout of which too many members failed is taken back: each that has its version goes back to what it ran before.
//!
//! A member on its way back is waited for, offered, served and confirmed as any other, only that its file is another one.
//! Waves do not hold it, nor the downgrade guard, nor the limit that sends it back; everything else does.

use super::draft::Draft;
use super::needs;
use super::state::{Member, Rollout, State, Step};
use crate::model::{ControllerId, FailureAction, RolloutId, WaitingReason, What};

/// Sends those back that have to go, whenever that becomes known of one.
pub(super) fn run(draft: &mut Draft, id: RolloutId) {
    begin(draft, id);
    let Some(rollout) = draft.state.rollouts.get(&id) else { return };
    if rollout.rolled_back_at.is_none() || rollout.cancelled || rollout.replaced {
        return;
    }
    let goes = |(gateway, member): &(&ControllerId, &Member)| goes_back(draft.state, rollout, gateway, member);
    let back: Vec<_> = rollout.members.iter().filter(goes).map(|(gateway, _)| gateway.clone()).collect();
    for gateway in back {
        draft.send_back(id, &gateway);
    }
    let Some(rollout) = draft.state.rollouts.get(&id) else { return };
    let failed = rollout.members.values().filter(|member| member.reverting && matches!(member.step, Step::Failed(_)));
    let failed = u32::try_from(failed.count()).unwrap_or(u32::MAX);
    let total = rollout.frozen.as_ref().map_or(0, |frozen| frozen.total);
    let stalled = failed >= rollout.spec.strategy.max_failures.of(total);
    if let Some(rollout) = draft.state.rollouts.get_mut(&id).filter(|rollout| rollout.rollback_stalled != stalled) {
        rollout.rollback_stalled = stalled;
        draft.edits += 1;
    }
}

/// The limit is reached. What was proven to its end is not taken back by what becomes of latecomers.
fn begin(draft: &mut Draft, id: RolloutId) {
    let Some(rollout) = draft.state.rollouts.get(&id) else { return };
    let wanted = rollout.spec.strategy.failure_action == FailureAction::Rollback;
    let possible = rollout.frozen.as_ref().is_some_and(|frozen| frozen.rollback);
    let over = rollout.cancelled || rollout.replaced || rollout.ready_at.is_some();
    let Some(tripped) = rollout.tripped.as_ref().filter(|_| wanted && possible && !over) else { return };
    if rollout.rolled_back_at.is_none() {
        let (now, detail) = (draft.now.site, tripped.to_string());
        draft.edit_rollout(id, |rollout| rollout.rolled_back_at = Some(now));
        draft.note_rollout(What::RollingBack, id, detail);
    }
}

/// It has the rollout's version, or may have it: one that failed and says nothing of its version, if it got the whole file.
/// What is under way ends first; who is silent is asked what it runs, and goes back once it says that it has it.
fn goes_back(state: &State, rollout: &Rollout, id: &ControllerId, member: &Member) -> bool {
    let Some(back) = member.back.and_then(|at| rollout.backs.get(usize::from(at))) else { return false };
    if member.reverting || needs::is_taken_over_by_newer(state, rollout, id) {
        return false;
    }
    let Some(gateway) = state.gateways.get(id) else { return false };
    let runs = state.settings.version_of(gateway, &back.key.name);
    match member.step {
        Step::Updated => runs.as_ref() != Some(&back.key.version),
        Step::Failed(_) if member.ever_fetched() => match runs {
            Some(version) => version != back.key.version,
            None => gateway.fully_served(&rollout.file_for(member).key.digest),
        },
        _ => false,
    }
}

/// The brake that holds all that are on their way back: everything that holds the rollout but its own limit.
pub(super) fn halt(state: &State, rollout: &Rollout) -> Option<WaitingReason> {
    let stopped = rollout.spec.paused || rollout.cancelled || state.orders.names(&rollout.identity);
    match () {
        () if state.site.lost => Some(WaitingReason::StoreLost),
        () if !state.listed || !rollout.listed => Some(WaitingReason::Unlisted),
        () if state.site.silence.is_some() => Some(WaitingReason::SiteSilent),
        () => (stopped || rollout.rollback_stalled).then_some(WaitingReason::Paused),
    }
}

impl Draft<'_> {
    /// A member begins its way back, as if it had never had an order of this rollout: no late word on one counts.
    fn send_back(&mut self, rollout: RolloutId, id: &ControllerId) {
        self.close(rollout, id);
        self.edit_member(rollout, id, |member| {
            (member.reverting, member.action) = (true, None);
            (member.attempts, member.not_fetched, member.spent) = (0, 0, 0);
            (member.retry_at, member.reported) = (None, None);
        });
        // what it waits for is decided next
        self.step(rollout, id, Step::Waiting(WaitingReason::Backoff));
        let to =
            self.state.rollouts.get(&rollout).and_then(|rollout| rollout.file_of(id)).map(|file| file.key.to_string());
        self.note_member(What::RollingBack, rollout, id, format!("to {}", to.unwrap_or_default()));
    }
}
