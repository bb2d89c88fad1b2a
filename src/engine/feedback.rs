//! A gateway's word on an order.

use super::allowance::LATE_WORDS;

use super::attempt::Then;
use super::download::begin_install;
use super::draft::Draft;
use super::state::{Action, Gateway, Member};
use crate::model::{
    ActionId, Client, ControllerId, Digest, Execution, FailedReason, Feedback, Finished, RolloutId, Verdict, What,
};

/// Strange ids are remembered up to so many per gateway.
const MOST_STRANGE: usize = 4;

/// What a word means for the order it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Success,
    Failure(FailedReason),
    UnderWay,
}

fn meaning(word: &Feedback) -> Meaning {
    match (word.execution, word.finished) {
        (Execution::Closed, Finished::Failure) => Meaning::Failure(FailedReason::Reported),
        (Execution::Closed, _) => Meaning::Success,
        (Execution::Rejected, _) => Meaning::Failure(FailedReason::Rejected),
        _ => Meaning::UnderWay,
    }
}

/// Takes a gateway's word. Any word is fine: one on a closed or strange id is noted and moves nothing.
pub(super) fn apply(draft: &mut Draft, id: &ControllerId, action: ActionId, word: Feedback) -> Verdict {
    if !draft.state.gateways.contains_key(id) {
        return Verdict::Unknown;
    }
    if !draft.state.issued(action) {
        return strange(draft, id, action);
    }
    let Some(rollout) = owner(draft, id, action) else { return late(draft, None, id, action, &word) };
    match draft.member(rollout, id) {
        Some(member) if counts(member, action, meaning(&word)) => {}
        _ => return late(draft, Some(rollout), id, action, &word),
    }
    match meaning(&word) {
        Meaning::UnderWay if streams(draft, rollout, id) => begin_install(draft, rollout, id),
        Meaning::UnderWay => {}
        Meaning::Success => success(draft, rollout, id),
        Meaning::Failure(reason) => failure(draft, rollout, id, reason, word),
    }
    Verdict::Accepted
}

/// The rollout that gave a gateway this order.
pub(super) fn owner(draft: &Draft, id: &ControllerId, action: ActionId) -> Option<RolloutId> {
    let is_of = |order: &Action| order.answers_to(action);
    let mut rollouts = draft.state.rollouts.iter();
    let found = rollouts.find(|(_, r)| r.members.get(id).and_then(|m| m.action.as_ref()).is_some_and(is_of));
    found.map(|(rollout, _)| *rollout)
}

/// Does a word on this id still move the member?
fn counts(member: &Member, action: ActionId, meaning: Meaning) -> bool {
    let Some(order) = member.open_action() else { return false };
    match meaning {
        Meaning::Failure(_) if order.id != action => !order.fetched && !member.step.is_terminal(),
        _ => order.id == action || meaning == Meaning::Success,
    }
}

/// Success counts if there was a download, or if the version matches.
fn success(draft: &mut Draft, rollout_id: RolloutId, id: &ControllerId) {
    let state = &*draft.state;
    let Some((rollout, gateway)) = state.rollouts.get(&rollout_id).zip(state.gateways.get(id)) else { return };
    let Some(member) = rollout.members.get(id) else { return };
    let key = &rollout.file_for(member).key;
    let has_version = rollout.has_target(member, state.settings.version_text(&gateway.attributes, &key.name));
    let requested = member.action.as_ref().is_some_and(|order| order.requested);
    let downloaded = requested && (gateway.fully_served(&key.digest) || streamed(gateway, &key.digest));
    let step = member.step;
    // asked for even if it was reported already: the gateway knows best what it runs now
    draft.edit_gateway(id, |gateway| gateway.attributes_due = true);
    if step.is_terminal() {
        draft.close(rollout_id, id);
    } else if has_version {
        draft.close(rollout_id, id);
        draft.updated(rollout_id, id, "the gateway reports success and the version");
    } else if downloaded {
        draft.reported_success(rollout_id, id);
    } else {
        let reason = FailedReason::SuccessWithoutDownload;
        draft.fail_attempt(rollout_id, id, reason, None, Then::RetryNow);
    }
}

/// Is this word progress of an install that reads the artifact as it goes?
fn streams(draft: &Draft, rollout_id: RolloutId, id: &ControllerId) -> bool {
    let Some((rollout, gateway)) = draft.state.rollouts.get(&rollout_id).zip(draft.state.gateways.get(id)) else {
        return false;
    };
    let Some(member) = rollout.members.get(id) else { return false };
    let in_hand = member.open_action().is_some_and(|order| order.fetched && order.requested);
    in_hand && streamed(gateway, &rollout.file_for(member).key.digest)
}

/// rhu can let RAUC read just the parts of the artifact that it installs (b.8.11), so for it any byte is a download. If it
/// downloads first it says nothing before it has all of it and has checked it (b.8.8).
pub(super) fn streamed(gateway: &Gateway, digest: &Digest) -> bool {
    gateway.client == Client::Rauc && gateway.served.iter().any(|served| served.digest == *digest)
}

fn failure(draft: &mut Draft, rollout: RolloutId, id: &ControllerId, reason: FailedReason, word: Feedback) {
    let terminal = draft.member(rollout, id).is_some_and(|member| member.step.is_terminal());
    if terminal {
        draft.note_member(What::LateFeedback, rollout, id, describe(&word));
        return draft.close(rollout, id);
    }
    if draft.member(rollout, id).is_some_and(Member::is_cancelling) {
        return draft.cancelled(rollout, id, &format!("it failed: {}", describe(&word)));
    }
    if word.excused {
        draft.edit_action(rollout, id, |order| order.excused = true);
    }
    draft.fail_attempt(rollout, id, reason, word.message, Then::RetryLater);
}

/// A word on an order that is closed.
pub(super) fn late(
    draft: &mut Draft,
    rollout: Option<RolloutId>,
    id: &ControllerId,
    action: ActionId,
    word: &Feedback,
) -> Verdict {
    if !draft.allows(id, LATE_WORDS, |gateway| &mut gateway.late_words) {
        return Verdict::AlreadyClosed;
    }
    let detail = format!("action {action}: {}", describe(word));
    match rollout {
        Some(rollout) => draft.note_member(What::LateFeedback, rollout, id, detail),
        None => draft.note_gateway(What::LateFeedback, id, detail),
    }
    Verdict::AlreadyClosed
}

/// A word on an order that this site never gave: whatever the gateway installed, it was not from us.
pub(super) fn strange(draft: &mut Draft, id: &ControllerId, action: ActionId) -> Verdict {
    let Some(gateway) = draft.state.gateways.get(id) else { return Verdict::Unknown };
    if gateway.strange_ids.contains(&action) || gateway.strange_ids.len() >= MOST_STRANGE {
        return Verdict::Unknown;
    }
    let artifacts: Vec<_> = draft.state.rollouts.values().map(|r| r.spec.artifact.key.name.as_str()).collect();
    let reports = artifacts.iter().any(|name| draft.state.settings.version_of(gateway, name).is_some());
    draft.state.strange_ids.insert(action);
    draft.edit_gateway(id, |gateway| {
        gateway.strange_ids.push(action);
        gateway.unknown_version |= !reports;
    });
    draft.note_gateway(What::StrangeId, id, format!("action {action}"));
    Verdict::Unknown
}

pub(super) fn describe(word: &Feedback) -> String {
    let said = format!("{:?}/{:?}", word.execution, word.finished).to_lowercase();
    match &word.message {
        Some(message) => format!("{said}: {message}"),
        None => said,
    }
}
