//! Orders: how they are opened, taken back and closed. One gateway has at most one open.

use super::draft::Draft;
use super::state::{Action, Step};
use crate::model::{ControllerId, RolloutId, WaitingReason, What};

/// So many ids of earlier attempts still count, more than a gateway has attempts.
const MOST_ALIASES: usize = 16;

impl Draft<'_> {
    /// Offers a waiting member its update. An order that was not fully served keeps its id, so that the gateway resumes.
    pub(super) fn offer(&mut self, rollout: RolloutId, id: &ControllerId) {
        // of another rollout, and waiting half-way: it goes on later under a new id
        if let Some(other) =
            self.state.gateways.get(id).and_then(|gateway| gateway.busy).filter(|busy| *busy != rollout)
        {
            self.close(other, id);
        }
        let Some(member) = self.member(rollout, id) else { return };
        let Some(gateway) = self.state.gateways.get(id) else { return };
        let deadline = Some(self.now.site.plus(self.state.patience(gateway)));
        let again = member.open_action().cloned();
        let before = member.action.clone();
        let action = match again {
            Some(action) => Action { deadline, ..action },
            None => Action { deadline, ..self.new_action(before) },
        };
        let detail = format!("action {}", action.id);
        self.edit_member(rollout, id, |member| {
            member.action = Some(action);
            member.retry_at = None;
        });
        self.edit_gateway_volatile(id, |gateway| gateway.busy = Some(rollout));
        self.step(rollout, id, Step::Offered);
        self.note_member(What::Offered, rollout, id, detail);
    }

    fn new_action(&mut self, before: Option<Action>) -> Action {
        let mut aliases = Vec::new();
        let (mut ever_fetched, mut requested) = (false, false);
        if let Some(before) = before {
            aliases = before.aliases;
            // an order that was never fetched leaves nothing behind that a gateway could still answer to
            if before.ever_fetched {
                aliases.push(before.id);
            }
            // attempts that failed through our fault are not counted, so that only this bounds them
            aliases.drain(..aliases.len().saturating_sub(MOST_ALIASES));
            (ever_fetched, requested) = (before.ever_fetched, before.requested);
        }
        Action {
            id: self.next_action_id(),
            aliases,
            open: true,
            fetched: false,
            ever_fetched,
            requested,
            excused: false,
            overdue: false,
            hidden: false,
            cancelling: false,
            confirm_from: None,
            deadline: None,
        }
    }

    /// Takes back an offer that was not fetched in this attempt.
    pub(super) fn withdraw(&mut self, rollout: RolloutId, id: &ControllerId, reason: WaitingReason) {
        if self.member(rollout, id).is_none_or(|member| member.step != Step::Offered) {
            return;
        }
        let keeps_id = self.member(rollout, id).is_some_and(super::state::Member::ever_fetched);
        if keeps_id {
            self.edit_action(rollout, id, |action| action.deadline = None);
        } else {
            self.close(rollout, id);
        }
        self.step(rollout, id, Step::Waiting(reason));
        self.note_member(What::Withdrawn, rollout, id, reason.to_string());
    }

    /// Hides a half-served order. It keeps its id, and whatever the gateway says of it still counts.
    pub(super) fn park(&mut self, rollout: RolloutId, id: &ControllerId, reason: WaitingReason) {
        self.edit_action(rollout, id, |action| {
            (action.fetched, action.hidden, action.deadline) = (false, true, None);
        });
        self.step(rollout, id, Step::Waiting(reason));
        self.note_member(What::Withdrawn, rollout, id, reason.to_string());
    }

    /// Closes a member's order: the link goes, and the gateway is free for another.
    pub(super) fn close(&mut self, rollout: RolloutId, id: &ControllerId) {
        self.edit_action(rollout, id, |action| {
            action.open = false;
            action.fetched = false;
            action.hidden = false;
            action.cancelling = false;
            action.deadline = None;
        });
        if self.state.gateways.get(id).is_some_and(|gateway| gateway.busy == Some(rollout)) {
            self.edit_gateway_volatile(id, |gateway| gateway.busy = None);
        }
    }
}
