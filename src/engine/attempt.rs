//! How attempts end: with success, with another try, or for good.

use std::time::Duration;

use super::draft::Draft;
use super::state::{Gateway, Member, Rollout, State, Step};
use crate::model::{
    Client, ConfirmBy, ControllerId, FailedReason, Presence, RolloutId, SiteTime, SkippedReason, WaitingReason, What,
};

/// What follows a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// Another try under a new id after a while, as long as attempts are left.
    RetryLater,
    /// Another try under a new id at once, as long as attempts are left.
    RetryNow,
    /// Nothing.
    Stop,
}

const FIRST_BACKOFF: Duration = Duration::from_secs(60);
/// A failure that is ours uses no attempt so often; with the backoff that is more than a day of trouble of ours. Then it
/// does: whatever always fails must not be tried for ever.
const MOST_EXCUSES: u8 = 32;
const LONGEST_BACKOFF: Duration = Duration::from_secs(3600);

/// One minute after the first failed attempt, doubling to an hour.
fn backoff(attempts: u8) -> Duration {
    let doublings = u32::from(attempts.saturating_sub(1)).min(6);
    (FIRST_BACKOFF * 2_u32.pow(doublings)).min(LONGEST_BACKOFF)
}

/// Which proof a gateway's update needs.
pub(super) fn proof(state: &State, rollout: &Rollout, gateway: &Gateway) -> ConfirmBy {
    match rollout.spec.confirm_by {
        ConfirmBy::Auto if state.settings.ever_reported(gateway, &rollout.spec.artifact.key.name) => {
            ConfirmBy::ReportedVersion
        }
        ConfirmBy::Auto => ConfirmBy::Feedback,
        said => said,
    }
}

impl Draft<'_> {
    /// An attempt failed. One that failed through our own fault uses none up.
    pub(super) fn fail_attempt(
        &mut self,
        rollout: RolloutId,
        id: &ControllerId,
        reason: FailedReason,
        message: Option<String>,
        then: Then,
    ) {
        let Some(allowed) = self.state.rollouts.get(&rollout).map(|rollout| rollout.spec.attempts) else { return };
        let Some(member) = self.member(rollout, id) else { return };
        let excused = then != Then::Stop && member.is_excused();
        let (attempts, free) = member.after_failure(excused);
        // fault or no fault: whatever stands in the way is not asked every minute for ever
        let tries = attempts.saturating_add(free);
        let detail = match &message {
            Some(message) => format!("{reason}: {message}"),
            None => reason.to_string(),
        };
        self.close(rollout, id);
        self.edit_gateway(id, |gateway| gateway.failed = true);
        let retry_at = (then == Then::RetryLater).then(|| self.now.site.plus(backoff(tries.max(1))));
        self.edit_member(rollout, id, |member| {
            (member.attempts, member.excuses) = (attempts, free);
            member.not_fetched = 0;
            member.message = message;
            member.retry_at = None;
        });
        if then == Then::Stop || attempts >= allowed {
            self.step(rollout, id, Step::Failed(reason));
            self.note_member(What::Failed, rollout, id, detail);
        } else {
            self.edit_member(rollout, id, |member| member.retry_at = retry_at);
            self.step(rollout, id, Step::Waiting(WaitingReason::Backoff));
            let excuse = if excused { "; it uses no attempt, the fault was ours" } else { "" };
            self.note_member(What::AttemptFailed, rollout, id, detail + excuse);
        }
    }

    /// The download deadline passed before the artifact was fully served: the same order is offered again while attempts
    /// are left and the gateway still polls.
    pub(super) fn lapse(&mut self, rollout: RolloutId, id: &ControllerId) {
        let Some(allowed) = self.state.rollouts.get(&rollout).map(|rollout| rollout.spec.attempts) else { return };
        let Some(member) = self.member(rollout, id) else { return };
        let (attempts, excuses) = member.after_failure(member.is_excused());
        if !self.is_polling(id) || attempts >= allowed {
            return self.fail_attempt(rollout, id, FailedReason::NoFeedback, None, Then::Stop);
        }
        self.edit_member(rollout, id, |member| {
            (member.attempts, member.excuses) = (attempts, excuses);
            if let Some(action) = &mut member.action {
                action.fetched = false;
                action.deadline = None;
            }
        });
        self.edit_gateway(id, |gateway| gateway.failed = true);
        self.step(rollout, id, Step::Waiting(WaitingReason::Backoff));
        self.note_member(What::AttemptFailed, rollout, id, "the download deadline passed");
    }

    /// The gateway reported success and there was a download: wait for the proof, if it has not been given already.
    pub(super) fn reported_success(&mut self, rollout: RolloutId, id: &ControllerId) {
        let Some((spec, proof, gateway)) = self.state.rollouts.get(&rollout).and_then(|r| {
            let gateway = self.state.gateways.get(id)?;
            Some((r.spec.clone(), proof(self.state, r, gateway), gateway))
        }) else {
            return;
        };
        let after_reboot = matches!(gateway.client, Client::SwUpdate | Client::Zephyr);
        let (interval, patience) = (self.state.interval(gateway), self.state.patience(gateway));
        self.close(rollout, id);
        if proof == ConfirmBy::Feedback && after_reboot {
            return self.updated(rollout, id, "the gateway reported it after its reboot");
        }
        let now = self.now.site;
        let mut deadline = now.plus(spec.deadlines.confirm);
        let mut confirm_from = None;
        if proof == ConfirmBy::Feedback {
            let from = now.plus((interval * 2).max(STILL_THERE));
            deadline = deadline.max(from.plus(patience));
            confirm_from = Some(from);
        }
        self.edit_action(rollout, id, |action| {
            // said only now, so it may reboot only now
            action.overdue = false;
            action.confirm_from = confirm_from;
            action.deadline = Some(deadline);
        });
        self.step(rollout, id, Step::Confirming);
        self.note_member(What::Reported, rollout, id, "success");
    }

    /// The install deadline passed without a word. Only a version can tell now, so one is waited for.
    pub(super) fn lapse_install(&mut self, rollout: RolloutId, id: &ControllerId) {
        if !self.is_polling(id) {
            return self.fail_attempt(rollout, id, FailedReason::NoFeedback, None, Then::Stop);
        }
        let Some(confirm) = self.state.rollouts.get(&rollout).map(|r| r.spec.deadlines.confirm) else { return };
        let deadline = self.now.site.plus(confirm);
        self.edit_action(rollout, id, |action| action.deadline = Some(deadline));
        self.step(rollout, id, Step::Confirming);
    }

    /// The confirm deadline passed. A version reported from now on decides; without one the update failed.
    pub(super) fn lapse_confirm(&mut self, rollout: RolloutId, id: &ControllerId) {
        let overdue = self.member(rollout, id).is_some_and(|m| m.action.as_ref().is_some_and(|action| action.overdue));
        if overdue || !self.is_polling(id) {
            return self.fail_attempt(rollout, id, FailedReason::NoFeedback, None, Then::Stop);
        }
        let Some(gateway) = self.state.gateways.get(id) else { return };
        let deadline = self.now.site.plus(self.state.patience(gateway));
        self.edit_action(rollout, id, |action| {
            action.overdue = true;
            action.deadline = Some(deadline);
        });
    }

    /// A member is updated. An order that is still open stays so for a while: the gateway may yet want to report on it.
    pub(super) fn updated(&mut self, rollout: RolloutId, id: &ControllerId, proof: &str) {
        let Some(confirm) = self.state.rollouts.get(&rollout).map(|r| r.spec.deadlines.confirm) else { return };
        let until = self.now.site.plus(confirm);
        if self.member(rollout, id).is_some_and(Member::is_cancelling) {
            self.close(rollout, id);
        }
        self.edit_member(rollout, id, |member| {
            member.message = None;
            member.reported = None;
            if let Some(action) = &mut member.action {
                (action.overdue, action.hidden) = (false, false);
                action.confirm_from = None;
                action.deadline = action.open.then_some(until);
            }
        });
        self.edit_gateway(id, |gateway| gateway.failed = false);
        let back = self.member(rollout, id).is_some_and(|member| member.reverting);
        let (step, what) = if back { (Step::RolledBack, What::RolledBack) } else { (Step::Updated, What::Updated) };
        self.step(rollout, id, step);
        self.note_member(what, rollout, id, proof);
    }

    /// A member needs nothing from this rollout.
    pub(super) fn skip(&mut self, rollout: RolloutId, id: &ControllerId, reason: SkippedReason) {
        self.close(rollout, id);
        if reason == SkippedReason::AlreadyInstalled {
            // somebody set it right by hand
            self.edit_gateway(id, |gateway| gateway.failed = false);
        }
        self.step(rollout, id, Step::Skipped(reason));
        self.note_member(What::Skipped, rollout, id, reason.to_string());
    }

    pub(super) fn is_polling(&self, id: &ControllerId) -> bool {
        self.state.gateways.get(id).is_some_and(|gateway| gateway.presence == Presence::Polling)
    }
}

/// Under `Feedback` a gateway must still be there so long after it reported success: it may yet have to reboot.
const STILL_THERE: Duration = Duration::from_secs(300);

impl Member {
    /// The failure of its attempt would be ours, and it has not been excused too often.
    fn is_excused(&self) -> bool {
        self.excuses < MOST_EXCUSES && self.action.as_ref().is_some_and(|action| action.excused)
    }

    /// Attempts and excuses used once this attempt has failed.
    fn after_failure(&self, excused: bool) -> (u8, u8) {
        let plus = |count: u8, one: bool| count.saturating_add(u8::from(one));
        (plus(self.attempts, !excused), plus(self.excuses, excused))
    }

    /// It took an order, and is not at an end: silence may be held against it.
    pub(super) fn may_fail_silent(&self) -> bool {
        self.ever_fetched() && !self.step.is_terminal() && self.step != Step::Offered
    }

    /// When its order's time is up.
    pub(super) fn deadline(&self) -> Option<SiteTime> {
        self.action.as_ref().and_then(|action| action.deadline)
    }

    /// When something is due for it: its order's time is up, and its next try begins.
    pub(super) fn due(&self) -> [Option<SiteTime>; 2] {
        [self.deadline(), self.retry_at.filter(|_| matches!(self.step, Step::Waiting(_)))]
    }
}
