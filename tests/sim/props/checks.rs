//! What must hold after every step.

use std::collections::{BTreeMap, BTreeSet};

use lamplighter::engine::{self, Draft, State, Step, settle, settle_all};
use lamplighter::model::{
    ActionId, ControllerId, Event, Execution, Finished, Now, RolloutId, SiteTime, Verdict, WaitingReason,
};

use super::run::{Run, SLOTS, core, word};

impl Run {
    /// Looking at all rollouts again, and not only at those touched, finds nothing to do.
    pub(super) fn is_settled(&self) {
        let mut again = self.core.state().clone();
        let mut draft = Draft::new(&mut again, Now { site: self.now, wall: None });
        settle_all(&mut draft);
        let changes = draft.finish();
        assert_eq!(changes.journal, [], "settling again decided something");
        assert!(changes.members.is_empty() && changes.rollouts.is_empty() && changes.gateways.is_empty());
        assert_eq!(&again, self.core.state(), "settling again changed something");
    }

    pub(super) fn keeps_its_caps(&self, before: &State) {
        let state = self.core.state();
        let offered = |state: &State, rollout: RolloutId, id: &ControllerId| {
            let step = state.rollouts.get(&rollout).and_then(|rollout| rollout.members.get(id)).map(|m| m.step);
            step == Some(Step::Offered)
        };
        let mut downloads = 0;
        let mut any_new = false;
        let mut open = BTreeSet::new();
        for (rollout_id, rollout) in &state.rollouts {
            let total = rollout.frozen.as_ref().map_or(0, |frozen| frozen.total);
            let most = rollout.spec.strategy.max_in_flight.of(total);
            let flying = rollout.members.values().filter(|member| member.step.is_in_flight()).count();
            let new = rollout
                .members
                .iter()
                .any(|(id, member)| member.step == Step::Offered && !offered(before, *rollout_id, id));
            any_new |= new;
            assert!(!new || flying <= usize::try_from(most).unwrap(), "{flying} under way, {most} may be");
            for (id, member) in &rollout.members {
                downloads += u32::from(matches!(member.step, Step::Offered | Step::Downloading));
                assert!(member.open_action().is_none() || open.insert(id.clone()), "{id} has two open orders");
                let busy = state.gateways[id].busy == Some(*rollout_id);
                assert_eq!(busy, member.open_action().is_some(), "{id} is busy with an order, and with no other");
                assert!(!member.step.is_in_flight() || member.action.is_some());
            }
        }
        assert!(!any_new || downloads <= SLOTS, "{downloads} downloads, {SLOTS} may be");
    }

    /// Nobody is offered anything against an order that stands, and no offer outlives one that was not fetched.
    pub(super) fn stands_still_where_people_say_so(&self, before: &State, ordered: bool) {
        let state = self.core.state();
        for (rollout_id, rollout) in &state.rollouts {
            let stopped = state.orders.names(&rollout.identity);
            for (id, member) in &rollout.members {
                let stands = stopped || engine::is_held(state, &state.gateways[id]);
                assert!(!stands || member.step != Step::Offered, "{id} is offered {} all the same", rollout.identity);
            }
            let opened = |state: &State| {
                let frozen = state.rollouts.get(rollout_id).and_then(|rollout| rollout.frozen.as_ref());
                frozen.map_or(0, |frozen| frozen.waves.iter().filter(|wave| wave.opened_at.is_some()).count())
            };
            // an order may come in the same step, after the wave opened
            assert!(
                ordered || !stopped || opened(state) == opened(before),
                "a wave of {} opened all the same",
                rollout.identity
            );
        }
    }

    pub(super) fn uses_no_id_twice(&mut self) {
        for (rollout_id, rollout) in &self.core.state().rollouts {
            for (id, member) in &rollout.members {
                let Some(order) = &member.action else { continue };
                assert!(order.id < self.core.state().site.action_next);
                let key = (*rollout_id, id.clone());
                let new = !self.issued.contains_key(&order.id);
                let owner = self.issued.entry(order.id).or_insert_with(|| key.clone());
                assert_eq!(*owner, key, "{} was issued twice", order.id);
                assert!(!new || !self.remembered().contains(&order.id), "{} was named before it was issued", order.id);
            }
        }
    }

    /// Ids that gateways named by themselves, as far as they are remembered.
    fn remembered(&self) -> BTreeSet<ActionId> {
        let gateways = self.core.state().gateways.values();
        gateways.flat_map(|gateway| gateway.strange_ids.iter().copied()).filter(|id| self.named.contains(id)).collect()
    }

    /// A word on a closed order, or by somebody who is at an end, moves nobody.
    pub(super) fn late_words_are_inert(&self) {
        let mut state = self.core.state().clone();
        let steps = |state: &State| -> BTreeMap<_, _> {
            let members = state.rollouts.iter().flat_map(|(rollout, r)| r.members.iter().map(move |m| (*rollout, m)));
            members.map(|(rollout, (id, m))| ((rollout, id.clone()), (m.step, m.attempts, m.since))).collect()
        };
        let before = steps(&state);
        let members = self.core.state().rollouts.values().flat_map(|rollout| &rollout.members);
        let late = members.filter(|(_, member)| member.step.is_terminal() || member.open_action().is_none());
        let mut draft = Draft::new(&mut state, Now { site: self.now, wall: None });
        for (id, member) in late {
            let orders = member.action.iter().flat_map(|order| order.aliases.iter().chain([&order.id]));
            for action in orders {
                for (execution, finished) in WORDS {
                    let event = Event::Feedback(id.clone(), *action, word(execution, finished, false));
                    let verdict = engine::apply(&mut draft, event);
                    assert!(matches!(verdict, Verdict::AlreadyClosed | Verdict::Accepted));
                }
            }
        }
        settle(&mut draft);
        drop(draft.finish());
        // an order that is closed by a late word may free its gateway for another rollout
        let waits = |step: &(Step, u8, SiteTime)| matches!(step.0, Step::Waiting(_) | Step::Offered);
        // and a replaced rollout that waited only for such a word is gone with it
        for (who, after) in steps(&state) {
            let before = &before[&who];
            assert!(*before == after || (waits(before) && waits(&after)), "{before:?} became {after:?} by a late word");
        }
    }

    /// The records say everything but what is decided or told again after a start.
    pub(super) fn records_rebuild_it(&mut self) {
        let mut rebuilt = core(self.records.clone());
        let mut expected = self.core.state().clone();
        for gateway in expected.gateways.values_mut() {
            (gateway.bodies, gateway.idle_since, gateway.heard) = (0, SiteTime::default(), false);
        }
        forget_allowances(&mut expected);
        for rollout in expected.rollouts.values_mut() {
            rollout.next_due = Some(SiteTime::default());
            (rollout.conflict, rollout.rollback_stalled) = (false, false);
            for member in rollout.members.values_mut() {
                if let Step::Waiting(reason) = &mut member.step {
                    *reason = WaitingReason::Unlisted;
                }
            }
        }
        (expected.listed, expected.refused) = (false, Vec::new());
        (expected.gates, expected.awake_since) = Default::default();
        expected.artifacts.retain(|_, artifact| artifact.sums.is_some());
        expected.artifacts.values_mut().for_each(|artifact| artifact.failed = None);
        assert_eq!(rebuilt.state(), &expected, "the records do not say it all");

        // and once both heard the same, they are the same
        if !self.core.state().listed {
            return;
        }
        let mut events = vec![Event::Started, Event::Listed(self.listing.clone())];
        events.extend(self.artifacts());
        let now = Now { site: self.now, wall: None };
        rebuilt.step(now, events.clone());
        let mut lived = self.core.state().clone();
        let mut draft = Draft::new(&mut lived, now);
        for event in events {
            engine::apply(&mut draft, event);
        }
        settle(&mut draft);
        drop(draft.finish());
        forget_allowances(&mut lived);
        assert_eq!(rebuilt.state(), &lived, "a restart changed what is decided");
    }
}

/// What a gateway may still cause to be written: not on disk, and no decision rests on it.
fn forget_allowances(state: &mut State) {
    for gateway in state.gateways.values_mut() {
        (gateway.late_words, gateway.attribute_changes) = Default::default();
    }
}

const WORDS: [(Execution, Finished); 4] = [
    (Execution::Proceeding, Finished::None),
    (Execution::Closed, Finished::Failure),
    (Execution::Rejected, Finished::None),
    (Execution::Closed, Finished::Success),
];
