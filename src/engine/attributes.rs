//! What gateways report of themselves, and what it says about their updates.

use super::allowance::ATTRIBUTE_CHANGES;
use super::attempt::{self, Then};
use super::draft::Draft;
use super::duplicate;
use super::needs;
use super::state::Step;
use super::watch::is_taken_further;
use crate::model::{Attributes, AttributesMode, ConfirmBy, ControllerId, FailedReason, SkippedReason, Texts, Verdict};

/// A gateway may report so many bytes of attributes; the keys that it once reported are kept up to the same size.
const MOST_ATTRIBUTE_BYTES: usize = 2_048;

/// Merges reported attributes, and looks at what they say about the gateway's updates.
pub(super) fn report(draft: &mut Draft, id: &ControllerId, report: Attributes) -> Verdict {
    let Some(gateway) = draft.state.gateways.get(id) else { return Verdict::Unknown };
    let before = gateway.attributes.clone();
    let mut after = if report.mode == AttributesMode::Replace { Default::default() } else { before.clone() };
    for (key, value) in report.data {
        match value.filter(|_| report.mode != AttributesMode::Remove) {
            Some(value) => after.insert(key, value),
            None => after.remove(&key),
        }
    }
    if after.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>() > MOST_ATTRIBUTE_BYTES {
        return Verdict::OverQuota;
    }
    if after != before && !draft.allows(id, ATTRIBUTE_CHANGES, |gateway| &mut gateway.attribute_changes) {
        return Verdict::OverQuota;
    }
    if let Some(from) = report.from {
        duplicate::sighted(draft, id, from, &after);
    }
    let versioned: Vec<_> =
        draft.state.rollouts.values().map(|rollout| rollout.spec.artifact.key.name.clone()).collect();
    let former: Vec<_> = before.keys().filter(|key| !after.contains_key(key)).map(str::to_owned).collect();
    draft.edit_gateway(id, |gateway| {
        gateway.attributes = after;
        gateway.attributes_due = false;
        gateway.former_keys.retain(|key| !gateway.attributes.contains_key(key));
        let mut room = MOST_ATTRIBUTE_BYTES.saturating_sub(gateway.former_keys.iter().map(String::len).sum());
        for key in former {
            if let Some(left) = room.checked_sub(key.len()) {
                room = left;
                gateway.former_keys.insert(key);
            }
        }
    });
    let known = draft.state.gateways.get(id).is_some_and(|gateway| {
        versioned.iter().any(|artifact| draft.state.settings.version_of(gateway, artifact).is_some())
    });
    if known {
        draft.edit_gateway(id, |gateway| gateway.unknown_version = false);
    }
    remember_version(draft, id, &before);
    observe(draft, id, &before);
    Verdict::Accepted
}

/// What a gateway ran until now is what it may have to go back to.
fn remember_version(draft: &mut Draft, id: &ControllerId, before: &Texts) {
    let Some(gateway) = draft.state.gateways.get(id) else { return };
    let settings = &draft.state.settings;
    let mut previous = gateway.previous.clone();
    let names = needs::all_names(draft.state);
    previous.retain(|name, _| names.contains(name.as_str()));
    for name in names {
        let (was, now) = (settings.version_in(before, name), settings.version_of(gateway, name));
        if let (Some(was), Some(now)) = (was, now)
            && was != now
        {
            previous.insert(name.to_owned(), was);
        }
    }
    draft.edit_gateway(id, |gateway| gateway.previous = previous);
}

/// A reported version may end an update either way.
fn observe(draft: &mut Draft, id: &ControllerId, before: &Texts) {
    let rollouts: Vec<_> = draft.state.rollouts.keys().copied().collect();
    for rollout_id in rollouts {
        let Some(rollout) = draft.state.rollouts.get(&rollout_id) else { continue };
        let Some((member, gateway)) = rollout.members.get(id).zip(draft.state.gateways.get(id)) else { continue };
        let name = &rollout.spec.artifact.key.name;
        let Some(version) = draft.state.settings.version_of(gateway, name) else { continue };
        let changed = draft.state.settings.keys_of(name).find_map(|key| before.get(key)) != Some(version.as_str());
        let arrived = rollout.has_target(member, Some(version.as_str()));
        let overdue = member.action.as_ref().is_some_and(|action| action.overdue);
        let soaking = rollout.is_soaking(member) && !is_taken_further(draft.state, rollout, id);
        match member.step {
            Step::Downloading | Step::Installing | Step::Confirming | Step::Failed(FailedReason::NoFeedback)
                if arrived =>
            {
                draft.updated(rollout_id, id, "the gateway reports the version");
            }
            Step::Confirming if overdue => {
                let message = Some(format!("it reports {version}"));
                draft.edit_member(rollout_id, id, |member| member.reported = Some(version));
                draft.fail_attempt(rollout_id, id, FailedReason::WrongVersion, message, Then::RetryLater);
            }
            Step::Installing | Step::Confirming if !arrived => {
                let by_version = attempt::proof(draft.state, rollout, gateway) == ConfirmBy::ReportedVersion;
                draft.edit_member(rollout_id, id, |member| {
                    member.reported = Some(version);
                    // under `Auto` a first report makes the version the proof: a poll proves nothing any more
                    if let Some(order) = member.action.as_mut().filter(|_| by_version) {
                        order.confirm_from = None;
                    }
                });
            }
            Step::Skipped(SkippedReason::Cancelled) if member.is_unsettled() => {
                draft.settled(rollout_id, id);
                if arrived {
                    draft.updated(rollout_id, id, "the gateway reports the version although it was cancelled");
                }
            }
            Step::Updated if !arrived && changed && soaking => {
                let message = Some(format!("it fell back to {version}"));
                draft.fail_attempt(rollout_id, id, FailedReason::Regressed, message, Then::Stop);
            }
            _ => {}
        }
    }
}
