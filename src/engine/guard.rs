//! The downgrade guard: who runs a newer version is left alone, and one whose version cannot be compared is held.

use std::cmp::Ordering;

use super::draft::Draft;
use super::state::{Member, Rollout, State, Step};
use crate::model::{ControllerId, RolloutId, SkippedReason, Version, WaitingReason};

/// What the version that a gateway runs says against its update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Judged {
    /// Nothing.
    Fine,
    /// It is newer.
    Newer,
    /// It cannot be compared.
    Doubtful,
}

/// How a gateway's version stands to what a member would get. It matters until that has begun, unless somebody allowed a
/// downgrade.
fn judged(rollout: &Rollout, member: &Member, runs: &Version) -> Judged {
    if rollout.spec.allow_downgrade || member.reverting || member.ever_fetched() {
        return Judged::Fine;
    }
    let target = &rollout.file_for(member).key.version;
    match runs.compare(target) {
        _ if runs == target => Judged::Fine,
        Some(Ordering::Greater) => Judged::Newer,
        Some(_) => Judged::Fine,
        None => Judged::Doubtful,
    }
}

/// The same once the members are frozen. Of a gateway that never said what it runs there is nothing to compare.
fn guarded(state: &State, rollout: &Rollout, id: &ControllerId, member: &Member) -> Option<Judged> {
    rollout.frozen.as_ref()?;
    let runs = state.settings.version_of(state.gateways.get(id)?, &rollout.spec.artifact.key.name)?;
    Some(judged(rollout, member, &runs))
}

/// Would a member be skipped whose gateway reports this version?
pub(super) fn refuses(rollout: &Rollout, member: &Member, runs: Option<&Version>) -> bool {
    runs.is_some_and(|runs| judged(rollout, member, runs) == Judged::Newer)
}

/// Can it not be told whether the update would be a downgrade?
pub(super) fn is_in_doubt(state: &State, rollout: &Rollout, id: &ControllerId, member: &Member) -> bool {
    guarded(state, rollout, id, member) == Some(Judged::Doubtful)
}

/// Skips who would be taken back to an older version, and takes those up again for whom that was allowed since.
pub(super) fn run(draft: &mut Draft, id: RolloutId) {
    let Some(rollout) = draft.state.rollouts.get(&id) else { return };
    let refused = Step::Skipped(SkippedReason::DowngradeRefused);
    let would_go_back = |(gateway, member): &(&ControllerId, &Member)| {
        matches!(member.step, Step::Waiting(_) | Step::Offered)
            && guarded(draft.state, rollout, gateway, member) == Some(Judged::Newer)
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
