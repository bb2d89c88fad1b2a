//! The downgrade guard: who runs a newer version is left alone, and one whose version cannot be compared is held.

use std::cmp::Ordering;

use super::draft::Draft;
use super::state::{Member, Rollout, State, Step};
use crate::model::{ControllerId, RolloutId, SkippedReason, Version, WaitingReason};

/// Does it matter which version a member's gateway runs? Until its update has begun, unless somebody allowed a downgrade.
fn matters(rollout: &Rollout, member: &Member) -> bool {
    !(rollout.spec.allow_downgrade || member.reverting || member.ever_fetched())
}

/// Is what a gateway runs newer than this?
fn is_newer(runs: &str, target: &Version) -> bool {
    runs != target.as_str() && target.compare(runs) == Some(Ordering::Less)
}

/// What a frozen member's gateway runs and what it would get, where that matters. Of a gateway that never said what it runs
/// there is nothing to compare.
fn guarded<'s>(
    state: &'s State,
    rollout: &'s Rollout,
    id: &ControllerId,
    member: &Member,
) -> Option<(&'s str, &'s Version)> {
    if rollout.frozen.is_none() || !matters(rollout, member) {
        return None;
    }
    let gateway = state.gateways.get(id)?;
    let runs = state.settings.version_text(&gateway.attributes, &rollout.spec.artifact.key.name)?;
    Some((runs, &rollout.file_for(member).key.version))
}

/// Would a member be skipped whose gateway reports this version?
pub(super) fn refuses(rollout: &Rollout, member: &Member, runs: Option<&str>) -> bool {
    let newer = |runs| is_newer(runs, &rollout.file_for(member).key.version);
    matters(rollout, member) && runs.is_some_and(newer)
}

/// Can it not be told whether the update would be a downgrade?
pub(super) fn is_in_doubt(state: &State, rollout: &Rollout, id: &ControllerId, member: &Member) -> bool {
    guarded(state, rollout, id, member)
        .is_some_and(|(runs, target)| runs != target.as_str() && !target.is_comparable(runs))
}

/// Skips who would be taken back to an older version, and takes those up again for whom that was allowed since.
pub(super) fn run(draft: &mut Draft, id: RolloutId) {
    let Some(rollout) = draft.state.rollouts.get(&id) else { return };
    let refused = Step::Skipped(SkippedReason::DowngradeRefused);
    // most gateways run the same: what was found last is not worked out again
    let mut last = None;
    let mut back = Vec::new();
    for (gateway, member) in &rollout.members {
        if !matches!(member.step, Step::Waiting(_) | Step::Offered) {
            continue;
        }
        let Some((runs, target)) = guarded(draft.state, rollout, gateway, member) else { continue };
        let newer = match last {
            Some((of, against, newer)) if of == runs && against == target => newer,
            _ => is_newer(runs, target),
        };
        last = Some((runs, target, newer));
        if newer {
            back.push(gateway.clone());
        }
    }
    let allowed = rollout.spec.allow_downgrade && !rollout.replaced;
    let again = rollout.members.iter().filter(|(_, member)| allowed && member.step == refused);
    let again: Vec<_> = again.map(|(gateway, _)| gateway.clone()).collect();
    for gateway in back {
        draft.skip(id, &gateway, SkippedReason::DowngradeRefused);
    }
    for gateway in again {
        // what it waits for is decided next
        draft.step(id, &gateway, Step::Waiting(WaitingReason::WaveNotOpen));
    }
}
