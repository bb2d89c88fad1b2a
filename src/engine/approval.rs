//! Approvals: whether a person has let a wave open that asks for it. Nothing else decides this.

use super::state::{Rollout, Wave};
use crate::model::{Approval, WaitingReason};

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
