//! The downgrade guard: who runs a newer version is left alone, and one whose version cannot be compared is held.

use std::cell::Cell;
use std::cmp::Ordering;

use super::beside;
use super::draft::Draft;
use super::state::{Gateway, Member, Rollout, State, Step};
use crate::model::{RolloutId, SkippedReason, Version, WaitingReason};

/// Does it matter which version a member's gateway runs? Until its update has begun, unless somebody allowed a downgrade.
fn matters(rollout: &Rollout, member: &Member) -> bool {
    !(rollout.spec.allow_downgrade || member.reverting || member.ever_fetched())
}

/// Is what a gateway runs newer than this?
fn is_newer(runs: &str, target: &Version) -> bool {
    runs != target.as_str() && target.compare(runs) == Some(Ordering::Less)
}

/// Would a member be skipped whose gateway reports this version?
pub(super) fn refuses(rollout: &Rollout, member: &Member, runs: Option<&str>) -> bool {
    let newer = |runs| is_newer(runs, &rollout.file_for(member).key.version);
    matters(rollout, member) && runs.is_some_and(newer)
}

/// Compares what gateways run with what a rollout would give them. Most run the same: what was found last is not worked out
/// again.
#[derive(Debug)]
pub(super) struct Guard<'s> {
    state: &'s State,
    rollout: &'s Rollout,
    /// What was asked last about one gateway.
    runs: Cell<Option<(&'s Gateway, Option<&'s str>)>>,
    last: Cell<Option<(&'s str, &'s Version, Compared)>>,
}

/// How what a gateway runs stands to what it would get.
#[derive(Debug, Clone, Copy)]
struct Compared {
    newer: bool,
    in_doubt: bool,
}

impl<'s> Guard<'s> {
    pub fn of(state: &'s State, rollout: &'s Rollout) -> Self {
        Self { state, rollout, runs: Cell::new(None), last: Cell::new(None) }
    }

    /// What a gateway runs of the artifact.
    pub fn runs(&self, gateway: &'s Gateway) -> Option<&'s str> {
        if let Some((of, runs)) = self.runs.get()
            && std::ptr::eq(of, gateway)
        {
            return runs;
        }
        let runs = self.state.settings.version_text(&gateway.attributes, &self.rollout.spec.artifact.key.name);
        self.runs.set(Some((gateway, runs)));
        runs
    }

    /// Would the update be a downgrade?
    pub fn is_downgrade(&self, gateway: &'s Gateway, member: &Member) -> bool {
        self.compare(gateway, member).is_some_and(|compared| compared.newer)
    }

    /// Can it not be told whether it would be one?
    pub fn is_in_doubt(&self, gateway: &'s Gateway, member: &Member) -> bool {
        self.compare(gateway, member).is_some_and(|compared| compared.in_doubt)
    }

    /// Of a frozen member, where that matters. Of a gateway that never said what it runs there is nothing to compare.
    fn compare(&self, gateway: &'s Gateway, member: &Member) -> Option<Compared> {
        if self.rollout.frozen.is_none() || !matters(self.rollout, member) {
            return None;
        }
        let runs = self.runs(gateway)?;
        let target = &self.rollout.file_for(member).key.version;
        if let Some((of, against, compared)) = self.last.get()
            && of == runs
            && against == target
        {
            return Some(compared);
        }
        let in_doubt = runs != target.as_str() && !target.is_comparable(runs);
        let compared = Compared { newer: is_newer(runs, target), in_doubt };
        self.last.set(Some((runs, target, compared)));
        Some(compared)
    }
}

/// Has the guard something to do with a member?
pub(super) fn concerns<'s>(guard: &Guard<'s>, gateway: &'s Gateway, member: &Member) -> bool {
    match member.step {
        Step::Waiting(_) | Step::Offered => guard.is_downgrade(gateway, member),
        step => step == REFUSED && allows_again(guard.rollout),
    }
}

const REFUSED: Step = Step::Skipped(SkippedReason::DowngradeRefused);

fn allows_again(rollout: &Rollout) -> bool {
    rollout.spec.allow_downgrade && !rollout.replaced
}

/// Skips who would be taken back to an older version, and takes those up again for whom that was allowed since.
pub(super) fn run(draft: &mut Draft, id: RolloutId) {
    let Some(rollout) = draft.state.rollouts.get(&id) else { return };
    let guard = Guard::of(draft.state, rollout);
    let concerned =
        beside::members(&draft.state.gateways, rollout).filter(|(_, gateway, m)| concerns(&guard, gateway, m));
    let concerned = concerned.map(|(id, _, member)| (id.clone(), member.step));
    let (again, back): (Vec<_>, Vec<_>) = concerned.partition(|(_, step)| *step == REFUSED);
    for (gateway, _) in back {
        draft.skip(id, &gateway, SkippedReason::DowngradeRefused);
    }
    for (gateway, _) in again {
        // what it waits for is decided next
        draft.step(id, &gateway, Step::Waiting(WaitingReason::WaveNotOpen));
    }
}
