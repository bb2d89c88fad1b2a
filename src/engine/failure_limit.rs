//! The failure limit: when failed members stop their rollout.

use std::fmt;

use super::draft::Draft;
use super::state::{Step, Tripped};
use crate::model::{RolloutId, What};

/// Stops a rollout in which too many members failed, in a wave or in total. It latches.
pub(super) fn trip(draft: &mut Draft, id: RolloutId) {
    let Some(rollout) = draft.state.rollouts.get(&id) else { return };
    let (Some(frozen), None) = (&rollout.frozen, &rollout.tripped) else { return };
    let limit = rollout.spec.strategy.max_failures;
    let failed = rollout.members.values().filter(|member| matches!(member.step, Step::Failed(_)));
    let failed: Vec<Option<u16>> = failed.map(|member| member.wave).collect();
    let failures = |wave: Option<u16>| {
        let counted = failed.iter().filter(|of| wave.is_none() || **of == wave).count();
        u32::try_from(counted).unwrap_or(u32::MAX)
    };
    let waves = (0..).zip(&frozen.waves).map(|(at, wave)| (Some(at), wave.size));
    let over = waves.chain([(None, frozen.total)]).find_map(|(wave, size)| {
        let (failures, limit) = (failures(wave), limit.of(size));
        (failures >= limit).then_some(Tripped { at: draft.now.site, wave, failures, limit })
    });
    if let Some(tripped) = over {
        let detail = tripped.to_string();
        draft.edit_rollout(id, |rollout| rollout.tripped = Some(tripped));
        draft.note_rollout(What::LimitReached, id, detail);
    }
}

impl fmt::Display for Tripped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { wave, failures, limit, at: _ } = self;
        match wave {
            Some(at) => write!(f, "{failures} failed in wave {}, the limit is {limit}", at + 1),
            None => write!(f, "{failures} failed in total, the limit is {limit}"),
        }
    }
}
