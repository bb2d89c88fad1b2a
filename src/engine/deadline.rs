//! What happens when a member's time is up.

use super::attempt::Then;
use super::beside;
use super::download;
use super::draft::Draft;
use super::silence::is_excused;
use super::state::{Gateway, Member, Step};
use crate::model::{ControllerId, FailedReason, Presence, RolloutId, SiteTime, SkippedReason, WaitingReason};

/// So many offers may lie unfetched; then the member failed.
const MOST_UNFETCHED: u8 = 3;

/// Runs every deadline of a rollout's members that has passed.
pub(super) fn run(draft: &mut Draft, id: RolloutId) {
    let Some(rollout) = draft.state.rollouts.get(&id) else { return };
    let (state, now) = (&*draft.state, draft.now.site);
    if state.site.silence.is_some() {
        return;
    }
    let excused = |gateway: &Gateway, member: &Member| {
        let judged = member.may_fail_silent() && !member.is_cancelling();
        judged && is_excused(state, gateway, member.deadline(), now)
    };
    let members = beside::members(&state.gateways, rollout);
    let due = members.filter(|(_, gateway, member)| is_due(member, now) && !excused(gateway, member));
    let due: Vec<_> = due.map(|(id, _, member)| (id.clone(), member.step)).collect();
    for (gateway, step) in due {
        match step {
            Step::Offered => not_fetched(draft, id, &gateway),
            Step::Downloading | Step::Installing if download::put_off(draft, id, &gateway) => {}
            Step::Downloading => draft.lapse(id, &gateway),
            Step::Installing => draft.lapse_install(id, &gateway),
            Step::Confirming => draft.lapse_confirm(id, &gateway),
            Step::Waiting(_) if draft.member(id, &gateway).is_some_and(Member::is_cancelling) => {
                draft.cancelled(id, &gateway, "by force, the gateway did not answer");
            }
            Step::Waiting(_) => half_way(draft, id, &gateway),
            Step::Skipped(SkippedReason::Cancelled) => draft.settled(id, &gateway),
            // an order left open for a last word that did not come
            Step::Updated | Step::RolledBack | Step::Failed(_) | Step::Skipped(_) => draft.close(id, &gateway),
        }
    }
    gone_after_fetching(draft, id);
}

/// May a member's time be up?
pub(super) fn concerns(gateway: &Gateway, member: &Member, now: SiteTime) -> bool {
    is_due(member, now) || is_gone(gateway, member)
}

fn is_due(member: &Member, now: SiteTime) -> bool {
    member.deadline().is_some_and(|at| at <= now)
}

/// An offer lay for two intervals although the gateway polls.
fn not_fetched(draft: &mut Draft, id: RolloutId, gateway: &ControllerId) {
    if !draft.is_polling(gateway) {
        return draft.withdraw(id, gateway, WaitingReason::Offline);
    }
    let times = draft.member(id, gateway).map_or(0, |member| member.not_fetched.saturating_add(1));
    draft.edit_member(id, gateway, |member| member.not_fetched = times);
    if times >= MOST_UNFETCHED {
        return draft.fail_attempt(id, gateway, FailedReason::NotFetched, None, Then::Stop);
    }
    let Some(interval) = draft.state.gateways.get(gateway).map(|gateway| draft.state.interval(gateway)) else { return };
    let retry_at = Some(draft.now.site.plus(interval));
    draft.withdraw(id, gateway, WaitingReason::NotFetched);
    draft.edit_member(id, gateway, |member| member.retry_at = retry_at);
}

/// An order was hidden half-way, nobody stops it any more, and its time is up.
fn half_way(draft: &mut Draft, id: RolloutId, gateway: &ControllerId) {
    if !draft.is_polling(gateway) {
        return draft.fail_attempt(id, gateway, FailedReason::NoFeedback, None, Then::Stop);
    }
    draft.edit_action(id, gateway, |action| action.deadline = None);
}

/// Offline excuses only members that never fetched their order: one that did, failed or lapsed, and then went away for good
/// would otherwise be waited for for ever and count for nothing.
fn gone_after_fetching(draft: &mut Draft, id: RolloutId) {
    let Some(rollout) = draft.state.rollouts.get(&id) else { return };
    let (state, now) = (&*draft.state, draft.now.site);
    // hidden half-way on somebody's word, or with a deadline since
    let excused = |member: &Member| {
        let order = member.open_action();
        matches!(member.step, Step::Waiting(_)) && order.is_some_and(|order| order.hidden || order.deadline.is_some())
    };
    let gone = beside::members(&state.gateways, rollout).filter(|(_, gateway, member)| {
        is_gone(gateway, member) && !excused(member) && !is_excused(state, gateway, None, now)
    });
    let gone = gone.map(|(id, _, member)| (id.clone(), member.message.clone()));
    for (gateway, message) in gone.collect::<Vec<_>>() {
        draft.fail_attempt(id, &gateway, FailedReason::NoFeedback, message, Then::Stop);
    }
}

fn is_gone(gateway: &Gateway, member: &Member) -> bool {
    let waits = matches!(member.step, Step::Waiting(_) | Step::Offered);
    waits && member.ever_fetched() && gateway.presence == Presence::Offline
}
