//! Approvals: whether a person has let a wave open that asks for it. Nothing else decides this.

use super::draft::Draft;
use super::order::current;
use super::state::{Rollout, State, Wave};
use super::{deal, wave};
use crate::model::{Approval, Identity, Verdict, WaitingReason, What};

/// May this wave open, as far as persons are asked? An approval is one for this revision: that of the spec names the
/// version, and one that was given on the spot went with the revision that it was given to.
pub fn is_approved(rollout: &Rollout, wave: &Wave) -> bool {
    is_given(rollout, wave.approval, &wave.name)
}

fn is_given(rollout: &Rollout, approval: Approval, name: &str) -> bool {
    let named = || rollout.spec.approved_waves.contains(name) || rollout.approved.contains(name);
    approval == Approval::Automatic || named()
}

/// Why members of a wave that has not opened wait.
pub(super) fn gate(rollout: &Rollout, waves: &[Wave], at: usize) -> WaitingReason {
    let before = waves.iter().take(at).all(|wave| wave.proven_at.is_some());
    match waves.get(at) {
        Some(wave) if before && !is_approved(rollout, wave) => WaitingReason::NotApproved,
        _ => WaitingReason::WaveNotOpen,
    }
}

/// Why all members wait before they are frozen: whichever wave is the first, it takes somebody.
pub(super) fn first_gate(rollout: &Rollout) -> WaitingReason {
    let first = rollout.spec.strategy.waves.first().map(|wave| (wave.approval, wave.name_at(0)));
    let waits = first.is_some_and(|(approval, name)| !is_given(rollout, approval, &name));
    if waits { WaitingReason::NotApproved } else { WaitingReason::WaveNotOpen }
}

/// What a person writes into `spec.approvedWaves` to approve a wave.
pub fn approval(rollout: &Rollout, wave: &Wave) -> String {
    format!("{}@{}", wave.name, rollout.spec.artifact.key.version)
}

/// The waves that a person has yet to approve, in their order; and the one of them that waits for it now.
pub fn unapproved(state: &State, rollout: &Rollout) -> (Vec<String>, Option<String>) {
    let (waves, next) = match &rollout.frozen {
        Some(frozen) => (frozen.waves.clone(), wave::current(state, rollout).filter(|(_, proof)| proof.is_none())),
        None => (deal::draw_up(state, rollout).0.waves, Some((0, None))),
    };
    let waits = |wave: &&Wave| wave.opened_at.is_none() && !is_approved(rollout, wave);
    let now = next.and_then(|(at, _)| waves.get(at)).filter(waits).map(|wave| wave.name.clone());
    (waves.iter().filter(waits).map(|wave| wave.name.clone()).collect(), now)
}

/// A person lets waves open, in the revision that is in force.
pub(super) fn on_the_spot(draft: &mut Draft, identity: &Identity, mut waves: Vec<String>, who: &str) -> Verdict {
    let Some(id) = current(draft.state, identity) else { return Verdict::Unknown };
    let Some(rollout) = draft.state.rollouts.get(&id) else { return Verdict::Unknown };
    waves.retain(|wave| !rollout.approved.contains(wave));
    if waves.is_empty() {
        return Verdict::Already;
    }
    for wave in &waves {
        draft.note_rollout(What::Ordered, id, format!("approve wave {wave}, by {who}"));
    }
    draft.edit_rollout(id, |rollout| rollout.approved.extend(waves));
    Verdict::Accepted
}
