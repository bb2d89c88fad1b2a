//! The downgrade guard: who runs a newer version is left alone, and one whose version cannot be compared is held.

use std::cmp::Ordering;

use super::draft::Draft;
use super::state::{Member, Rollout, State, Step};
use crate::model::{ControllerId, RolloutId, SkippedReason, Version, WaitingReason};

/// How a gateway's version stands to what a member would get, as long as that matters: it has not begun, and nobody allowed
/// a downgrade.
fn compared(rollout: &Rollout, member: &Member, runs: &Version) -> Option<Option<Ordering>> {
    if rollout.spec.allow_downgrade || member.reverting || member.ever_fetched() {
        return None;
    }
    let target = &rollout.file_for(member).key.version;
    Some(if runs == target { Some(Ordering::Equal) } else { runs.compare(target) })
}

/// The same once the members are frozen. Of a gateway that never said what it runs there is nothing to compare.
fn guarded(state: &State, rollout: &Rollout, id: &ControllerId, member: &Member) -> Option<Option<Ordering>> {
    rollout.frozen.as_ref()?;
    let runs = state.settings.version_of(state.gateways.get(id)?, &rollout.spec.artifact.key.name)?;
    compared(rollout, member, &runs)
}

/// Would a member be skipped whose gateway reports this version?
pub(super) fn refuses(rollout: &Rollout, member: &Member, runs: Option<&Version>) -> bool {
    runs.is_some_and(|runs| compared(rollout, member, runs) == Some(Some(Ordering::Greater)))
}

/// Can it not be told whether the update would be a downgrade?
pub(super) fn is_in_doubt(state: &State, rollout: &Rollout, id: &ControllerId, member: &Member) -> bool {
    guarded(state, rollout, id, member) == Some(None)
}

/// Skips who would be taken back to an older version, and takes those up again for whom that was allowed since.
pub(super) fn run(draft: &mut Draft, id: RolloutId) {
    let Some(rollout) = draft.state.rollouts.get(&id) else { return };
    let refused = Step::Skipped(SkippedReason::DowngradeRefused);
    let would_go_back = |(gateway, member): &(&ControllerId, &Member)| {
        matches!(member.step, Step::Waiting(_) | Step::Offered)
            && guarded(draft.state, rollout, gateway, member) == Some(Some(Ordering::Greater))
    };
    let back: Vec<_> = rollout.members.iter().filter(would_go_back).map(|(gateway, _)| gateway.clone()).collect();
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
