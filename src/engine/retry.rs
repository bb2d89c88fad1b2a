//! Failed members begin again.

use super::draft::Draft;
use super::order::current;
use super::state::{Member, Step};
use crate::model::{ControllerId, Identity, RolloutId, Verdict, WaitingReason, What};

/// Lets the failed ones among these members begin again, with all their attempts, and lets those go on of whom it is not
/// known what they run; says whom it reached. What stopped the rollout for their failures is counted anew.
pub(super) fn again(draft: &mut Draft, id: RolloutId, gateways: &[ControllerId]) -> Vec<ControllerId> {
    let Some(rollout) = draft.state.rollouts.get(&id) else { return Vec::new() };
    let unknown = |gateway: &ControllerId| draft.state.gateways.get(gateway).is_some_and(|it| it.unknown_version);
    let waits = |member: &Member| matches!(member.step, Step::Waiting(_));
    // what was taken back begins again with another version; only who did not come back may try that again
    let rolled_back = rollout.rolled_back_at.is_some();
    let concerned = gateways.iter().filter(|gateway| {
        let member = rollout.members.get(*gateway);
        member.is_some_and(|m| {
            (matches!(m.step, Step::Failed(_)) && m.reverting == rolled_back) || (waits(m) && unknown(gateway))
        })
    });
    let concerned: Vec<_> = concerned.cloned().collect();
    let mut failed = false;
    for gateway in &concerned {
        draft.edit_gateway(gateway, |gateway| gateway.unknown_version = false);
        if draft.member(id, gateway).is_some_and(|member| matches!(member.step, Step::Failed(_))) {
            failed = true;
            draft.close(id, gateway);
            draft.edit_member(id, gateway, |member| {
                // a new run: what was fetched in the one before is no reason to fail it for silence
                if let Some(order) = member.action.as_mut().filter(|order| order.ever_fetched) {
                    order.ever_fetched = false;
                    order.aliases.push(order.id);
                }
                (member.attempts, member.not_fetched, member.spent) = (0, 0, 0);
                (member.retry_at, member.message, member.reported) = (None, None, None);
            });
            // what it waits for is decided next
            draft.step(id, gateway, Step::Waiting(WaitingReason::Backoff));
        }
    }
    if failed && !rolled_back {
        draft.edit_rollout(id, |rollout| rollout.tripped = None);
    }
    concerned
}

/// The spec has another token than the one on which the rollout acted.
pub(super) fn by_token(draft: &mut Draft, id: RolloutId) {
    let Some(rollout) = draft.state.rollouts.get(&id) else { return };
    let Some(token) = rollout.spec.retry_token.clone().filter(|token| rollout.retried.as_ref() != Some(token)) else {
        return;
    };
    let gateways: Vec<_> = rollout.members.keys().cloned().collect();
    let reached = again(draft, id, &gateways).len();
    draft.note_rollout(What::Retried, id, format!("token {token}: {reached} members"));
    draft.edit_rollout(id, |rollout| rollout.retried = Some(token));
}

/// A person wants it: of these gateways, or of all if none is named.
pub(super) fn on_the_spot(draft: &mut Draft, identity: &Identity, gateways: &[ControllerId], who: &str) -> Verdict {
    let Some(id) = current(draft.state, identity) else { return Verdict::Unknown };
    let Some(rollout) = draft.state.rollouts.get(&id) else { return Verdict::Unknown };
    let all = gateways.is_empty();
    let gateways = if all { rollout.members.keys().cloned().collect() } else { gateways.to_vec() };
    let reached = again(draft, id, &gateways);
    for gateway in &reached {
        draft.note_member(What::Ordered, id, gateway, format!("retry, by {who}"));
    }
    if reached.is_empty() { Verdict::Already } else { Verdict::Accepted }
}
