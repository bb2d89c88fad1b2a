//! A heart that is looked at after every step.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use lamplighter::engine::{self, Draft, State, Step, settle, settle_all};
use lamplighter::model::{
    ActionId, ArtifactFact, Attributes, Bytes, Client, ControllerId, Digest, Event, Execution, Feedback, Finished,
    Identity, Intent, Listing, Now, Order, RolloutId, SiteTime, Verdict, WaitingReason,
};
use lamplighter::site::Core;
use lamplighter::store::Snapshot;

use super::ops::{ARTIFACTS, Op, VERSIONS, Which};
use crate::disk;
use crate::fleet;

const SLOTS: u32 = 3;

pub struct Run {
    core: Core,
    /// The same heart, told another wall clock.
    other_wall: Core,
    records: Snapshot,
    now: SiteTime,
    listing: Listing,
    issued: BTreeMap<ActionId, (RolloutId, ControllerId)>,
    named: BTreeSet<ActionId>,
    steps: u64,
}

fn core(records: Snapshot) -> Core {
    Core::rebuild(records, fleet::settings(SLOTS), ActionId::base(7))
}

fn file(index: u8) -> Digest {
    let artifact = index / VERSIONS;
    fleet::digest(&format!("{artifact} {}.0.0", index % VERSIONS + 1))
}

fn gateway(n: u8) -> ControllerId {
    fleet::id(usize::from(n))
}

fn member<'s>(state: &'s State, id: &ControllerId) -> Option<(&'s engine::Rollout, &'s engine::Member)> {
    let rollout = state.rollouts.get(&state.gateways.get(id)?.busy?)?;
    Some((rollout, rollout.members.get(id)?))
}

impl Run {
    pub fn new() -> Self {
        let mut run = Self {
            core: core(Snapshot::default()),
            other_wall: core(Snapshot::default()),
            records: Snapshot::default(),
            now: SiteTime(1),
            listing: Listing::default(),
            issued: BTreeMap::new(),
            named: BTreeSet::new(),
            steps: 0,
        };
        run.step(vec![Event::Started]);
        run
    }

    pub fn take(&mut self, op: &Op) {
        match op {
            Op::Wait(ms) => self.wait_until(self.now.plus(Duration::from_millis(*ms))),
            Op::UntilDue => {
                let due = engine::next_due(self.core.state());
                self.wait_until(due.unwrap_or(self.now));
            }
            Op::Restart => {
                self.core = core(self.records.clone());
                self.other_wall = core(self.records.clone());
                let mut events = vec![Event::Started, Event::Listed(self.listing.clone())];
                events.extend(self.artifacts());
                self.step(events);
            }
            Op::Together(ops) => {
                let events = ops.iter().filter_map(|op| self.event(op)).collect();
                self.step(events);
            }
            op => {
                let events = self.event(op).into_iter().collect();
                self.step(events);
            }
        }
    }

    /// The loop wakes whenever something is due.
    fn wait_until(&mut self, until: SiteTime) {
        for _ in 0..200 {
            match engine::next_due(self.core.state()).filter(|due| *due <= until) {
                Some(due) => self.now = due.max(self.now),
                None => break,
            }
            self.step(Vec::new());
        }
        self.now = until.max(self.now);
        self.step(Vec::new());
    }

    fn artifacts(&self) -> Vec<Event> {
        let known = self.core.state().artifacts.keys();
        known.map(|digest| Event::Artifact(*digest, ArtifactFact::Verified(fleet::sums()))).collect()
    }

    fn event(&mut self, op: &Op) -> Option<Event> {
        let state = self.core.state();
        Some(match op {
            Op::Wait(_) | Op::UntilDue | Op::Restart | Op::Together(_) => return None,
            Op::Declare(gateways, rollouts) => {
                let gateways = gateways.iter().map(|typed| Intent::Gateway(typed.spec()));
                let rollouts = rollouts
                    .iter()
                    .map(|typed| Intent::Rollout(Identity(format!("r{}", typed.name)), Box::new(typed.spec())));
                self.listing = Listing { intents: gateways.chain(rollouts).collect(), refused: Vec::new() };
                Event::Listed(self.listing.clone())
            }
            Op::Artifact(index, true) => Event::Artifact(file(*index), ArtifactFact::Verified(fleet::sums())),
            Op::Artifact(index, false) => Event::Artifact(file(*index), ArtifactFact::Failed("gone".into())),
            Op::Seen(n) => Event::Seen(gateway(*n)),
            Op::Quiet(n) => Event::Quiet(gateway(*n)),
            Op::Offline(n) => Event::Offline(gateway(*n)),
            Op::Pace(n, seconds) => Event::Pace(gateway(*n), Duration::from_secs(u64::from(*seconds))),
            Op::Polled(n) => Event::Polled(gateway(*n)),
            Op::Client(n, client) => {
                let client = [Client::Generic, Client::SwUpdate, Client::Rauc, Client::Zephyr][usize::from(*client)];
                Event::Client(gateway(*n), client)
            }
            Op::Reports(n, artifact, version) => {
                let version = version.map(|version| format!("{version}.0.0"));
                let data = [(ARTIFACTS[usize::from(*artifact)].to_owned(), version)].into();
                Event::Attributes(gateway(*n), Attributes { data, ..Attributes::default() })
            }
            Op::Fetched(n, which) => Event::Fetched(gateway(*n), self.id(*n, *which)?),
            Op::Requested(n, index, some) => {
                let bytes = if *some { Bytes::Some } else { Bytes::None };
                Event::Requested(gateway(*n), file(*index), bytes)
            }
            Op::Served(n, index) => Event::Served(gateway(*n), file(*index)),
            Op::BodyEnded(n) => Event::BodyEnded(gateway(*n)),
            Op::Says(n, which, execution, finished, excused) => {
                let action = self.id(*n, *which)?;
                Event::Feedback(gateway(*n), action, word(*execution, *finished, *excused))
            }
            Op::GoesOn(n) => goes_on(state, gateway(*n))?,
            Op::Ends(n, finished) => {
                let (_, member) = member(state, &gateway(*n))?;
                if member.step != Step::Installing {
                    return None;
                }
                let action = member.open_action()?.id;
                Event::Feedback(gateway(*n), action, word(Execution::Closed, *finished, false))
            }
            Op::StoreLost => Event::StoreLost("test".into()),
            Op::Resume => Event::Order(Order::Resume, "root".into()),
        })
    }

    fn id(&mut self, n: u8, which: Which) -> Option<ActionId> {
        let state = self.core.state();
        let of = |n: u8| {
            let members = state.rollouts.values().rev().filter_map(|rollout| rollout.members.get(&gateway(n)));
            members.filter_map(|member| member.action.as_ref()).next()
        };
        match which {
            Which::Own => of(n).map(|order| order.id),
            Which::Alias => of(n).and_then(|order| order.aliases.last().copied()),
            Which::Of(other) => of(other).map(|order| order.id),
            Which::Issued(at) => self.issued.keys().nth(usize::from(at)).copied(),
            // right ahead of what will be issued, or anywhere
            Which::Strange(ahead @ 0..2) => {
                let mut id = state.site.action_next;
                (0..=ahead).for_each(|_| id = id.next());
                Some(id)
            }
            Which::Strange(id) => ActionId::try_from(i64::from(id)).ok(),
        }
    }

    /// One step, and everything that must hold after it.
    fn step(&mut self, events: Vec<Event>) {
        self.steps += 1;
        let before = self.core.state().clone();
        for event in &events {
            if let Event::Feedback(id, action, _) = event
                && before.gateways.contains_key(id)
                && !before.issued(*action)
            {
                self.named.insert(*action);
            }
        }
        let now = Now { site: self.now, wall: Some(1_700_000_000_000) };
        let stepped = self.core.step(now, events.clone());
        assert!(stepped.outlook.next_due.is_none_or(|due| due > self.now), "a busy loop");
        let other = Now { site: self.now, wall: self.steps.is_multiple_of(2).then_some(-7) };
        let elsewhere = self.other_wall.step(other, events.clone());
        assert_eq!(elsewhere.verdicts, stepped.verdicts, "the wall clock decided something");
        assert_eq!(self.other_wall.state(), self.core.state(), "the wall clock changed something");

        disk::apply(&mut self.records, &stepped.batch);
        self.is_settled();
        self.keeps_its_caps(&before);
        self.uses_no_id_twice(&before);
        self.late_words_are_inert();
        self.records_rebuild_it();
    }

    /// Looking at all rollouts again, and not only at those touched, finds nothing to do.
    fn is_settled(&self) {
        let mut again = self.core.state().clone();
        let mut draft = Draft::new(&mut again, Now { site: self.now, wall: None });
        settle_all(&mut draft);
        let changes = draft.finish();
        assert_eq!(changes.journal, [], "settling again decided something");
        assert!(changes.members.is_empty() && changes.rollouts.is_empty() && changes.gateways.is_empty());
        assert_eq!(&again, self.core.state(), "settling again changed something");
    }

    fn keeps_its_caps(&self, before: &State) {
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

    fn uses_no_id_twice(&mut self, before: &State) {
        for (rollout_id, rollout) in &self.core.state().rollouts {
            for (id, member) in &rollout.members {
                let Some(order) = &member.action else { continue };
                assert!(order.id < self.core.state().site.action_next);
                let key = (*rollout_id, id.clone());
                let new = !self.issued.contains_key(&order.id);
                let owner = self.issued.entry(order.id).or_insert_with(|| key.clone());
                assert_eq!(*owner, key, "{} was issued twice", order.id);
                let _ = before;
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
    fn late_words_are_inert(&self) {
        let mut state = self.core.state().clone();
        let steps = |state: &State| -> Vec<_> {
            let members = state.rollouts.values().flat_map(|rollout| rollout.members.values());
            members.map(|member| (member.step, member.attempts, member.since)).collect()
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
        for (before, after) in before.iter().zip(steps(&state)) {
            assert!(*before == after || (waits(before) && waits(&after)), "{before:?} became {after:?} by a late word");
        }
    }

    /// The records say everything but what is decided or told again after a start.
    fn records_rebuild_it(&mut self) {
        let mut rebuilt = core(self.records.clone());
        let mut expected = self.core.state().clone();
        for gateway in expected.gateways.values_mut() {
            (gateway.bodies, gateway.idle_since) = (0, SiteTime::default());
        }
        for rollout in expected.rollouts.values_mut() {
            rollout.next_due = Some(SiteTime::default());
            for member in rollout.members.values_mut() {
                if let Step::Waiting(reason) = &mut member.step {
                    *reason = WaitingReason::Unlisted;
                }
            }
        }
        (expected.listed, expected.refused) = (false, Vec::new());
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
        events.into_iter().for_each(|event| _ = engine::apply(&mut draft, event));
        settle(&mut draft);
        drop(draft.finish());
        assert_eq!(rebuilt.state(), &lived, "a restart changed what is decided");
    }
}

const WORDS: [(Execution, Finished); 4] = [
    (Execution::Proceeding, Finished::None),
    (Execution::Closed, Finished::Failure),
    (Execution::Rejected, Finished::None),
    (Execution::Closed, Finished::Success),
];

fn word(execution: Execution, finished: Finished, excused: bool) -> Feedback {
    Feedback { execution, finished, message: None, excused }
}

/// The next thing that a gateway does with its order.
fn goes_on(state: &State, id: ControllerId) -> Option<Event> {
    let (rollout, member) = member(state, &id)?;
    let (order, key) = (member.open_action()?, &rollout.spec.artifact.key);
    let served = state.gateways[&id].fully_served(&key.digest);
    Some(match member.step {
        Step::Offered => Event::Fetched(id, order.id),
        Step::Downloading if served && order.requested => Event::Requested(id, key.digest, Bytes::None),
        Step::Downloading if order.requested => Event::Served(id, key.digest),
        Step::Downloading => Event::Requested(id, key.digest, Bytes::Some),
        Step::Installing if state.gateways[&id].bodies > 0 => Event::BodyEnded(id),
        Step::Installing => Event::Feedback(id, order.id, word(Execution::Closed, Finished::Success, false)),
        Step::Confirming => {
            let data = [(key.name.clone(), Some(key.version.to_string()))].into();
            Event::Attributes(id, Attributes { data, ..Attributes::default() })
        }
        _ => return None,
    })
}
