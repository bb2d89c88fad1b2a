//! Members for whom a rollout has nothing to do any more: a newer one took them over, or they have the version already.

use super::beside;
use super::draft::Draft;
use super::guard::Guard;
use super::state::{Gateway, Member, Rollout, State, Step};
use crate::model::{RolloutId, SkippedReason};

/// How the wait of a member ends that needs nothing more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// It was on its way, and is there.
    Arrived,
    Skipped(SkippedReason),
}

/// Who takes a rollout's members over.
#[derive(Debug)]
pub(super) struct Takeover<'s> {
    rollout: &'s Rollout,
    newer: Vec<&'s Rollout>,
}

impl<'s> Takeover<'s> {
    pub fn of(state: &'s State, rollout: &'s Rollout) -> Self {
        let name = &rollout.spec.artifact.key.name;
        let newer = |other: &&Rollout| other.arrival > rollout.arrival && other.spec.artifact.key.name == *name;
        Self { rollout, newer: state.rollouts.values().filter(newer).collect() }
    }

    /// Whether a member's wait is over, and how. One that is under way goes on.
    pub fn ends(&self, guard: &Guard<'s>, gateway: &'s Gateway, member: &Member) -> Option<End> {
        if !matches!(member.step, Step::Waiting(_) | Step::Offered) {
            return None;
        }
        if self.rollout.frozen.is_some() && self.rollout.has_target(member, guard.runs(gateway)) {
            let arrived = member.took_an_order() || member.reverting;
            return Some(if arrived { End::Arrived } else { End::Skipped(SkippedReason::AlreadyInstalled) });
        }
        let taken = self.is_taken(gateway) && !member.is_cancelling();
        taken.then_some(End::Skipped(SkippedReason::Superseded))
    }

    fn is_taken(&self, gateway: &Gateway) -> bool {
        let id = &gateway.spec.controller_id;
        let takes = |member: &Member| member.step != Step::Skipped(SkippedReason::NotSelected);
        self.rollout.replaced || self.newer.iter().any(|newer| newer.members.get(id).is_some_and(takes))
    }
}

/// Ends members that a newer rollout took over, and frozen ones that have the version already.
pub(super) fn run(draft: &mut Draft, id: RolloutId) {
    let Some(rollout) = draft.state.rollouts.get(&id) else { return };
    let takeover = Takeover::of(draft.state, rollout);
    let guard = Guard::of(draft.state, rollout);
    let members = beside::members(&draft.state.gateways, rollout);
    let ends = members.filter_map(|(id, gateway, member)| Some((id.clone(), takeover.ends(&guard, gateway, member)?)));
    let ends: Vec<_> = ends.collect();
    for (gateway, end) in &ends {
        if let End::Skipped(reason) = end {
            draft.skip(id, gateway, *reason);
        }
    }
    for (gateway, _) in ends.iter().filter(|(_, end)| *end == End::Arrived) {
        draft.updated(id, gateway, "the gateway reports the version");
    }
}
