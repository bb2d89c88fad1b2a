//! The judge of windows: nobody is offered an update, sees its link or takes it outside of them.

use super::{InFlight, Oracle};
use crate::model::{ActionId, ControllerId, Event, RolloutId, Verdict, WhenClockUnknown, WindowState};
use crate::store::StepRecord;

/// So long after a window's end its link may be in sight: the loop wakes, commits, and may have had a commit in flight. In
/// milliseconds.
const GRACE: i64 = 30_000;

impl Oracle {
    /// Outside a rollout's windows nobody is offered anything, not even for a moment, and nobody starts.
    pub(super) fn look_at_windows(&mut self, step: &InFlight) {
        let mut wrong = Vec::new();
        for ((rollout, id), member) in &step.batch.members {
            let Some(order) = member.as_ref().filter(|m| m.step == StepRecord::Offered).and_then(|m| m.action.as_ref())
            else {
                continue;
            };
            if !self.may_start(*rollout, step.wall, order.ever_fetched) {
                wrong.push(format!("{id} is offered action {} outside a window", order.id));
            }
        }
        for (event, verdict) in step.events.iter().zip(&step.verdicts) {
            let Event::Fetched(id, action) = event else { continue };
            let is_new = *verdict == Verdict::Deploy && !self.granted.contains(&(id.clone(), *action));
            let offers = self.offers(id).into_iter().map(|(rollout, _)| rollout);
            if is_new && !offers.into_iter().any(|rollout| self.may_start(rollout, step.wall, false)) {
                wrong.push(format!("{id} was given action {action} outside a window"));
            }
        }
        for what in wrong {
            self.found(what);
        }
    }

    /// May a gateway start, or go on half-way, at a time by the wall clock?
    fn may_start(&self, rollout: RolloutId, wall: Option<i64>, half_way: bool) -> bool {
        let Some(windows) = self.committed.rollouts.get(&rollout).map(|rollout| &rollout.spec.windows) else {
            return true;
        };
        windows.is_empty()
            || match wall.map(|wall| windows.at(wall, &self.zone).state) {
                Some(WindowState::Open) => true,
                Some(WindowState::Closing) => half_way,
                Some(WindowState::Closed) => false,
                None => windows.when_clock_unknown == WhenClockUnknown::Allow,
            }
    }

    /// A gateway that has not taken its order sees the link to it, at a time by a wall clock that was not set just now.
    pub(in crate::world) fn shown_by_the_clock(&mut self, id: &ControllerId, action: ActionId, wall: Option<i64>) {
        let offered = self.offers(id).into_iter().find_map(|(rollout, member)| {
            let order = member.action.as_ref().filter(|order| order.id == action)?;
            (member.step == StepRecord::Offered).then_some((rollout, order.ever_fetched))
        });
        let Some((rollout, half_way)) = offered else { return };
        let before = wall.map(|wall| wall - GRACE);
        let may = [wall, before].into_iter().any(|wall| self.may_start(rollout, wall, half_way));
        self.must(may, || format!("{id} sees action {action} outside a window"));
    }
}
