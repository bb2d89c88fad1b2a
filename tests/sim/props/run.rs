//! A heart to which things happen, and that is looked at after every step.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use lamplighter::engine::{self, State, Step};
use lamplighter::model::{
    ActionId, ArtifactFact, Attributes, Bytes, Client, ControllerId, Digest, Dropped, Event, Execution, Feedback,
    Finished, GateAnswer, GateKey, Given, Identity, Intent, Listing, Now, Order, RolloutId, SiteTime, StandingOrder,
};
use lamplighter::site::Core;
use lamplighter::store::Snapshot;
use lamplighter::world;
use sha2::{Digest as _, Sha256};

use super::brakes::Judge;
use super::ops::{ARTIFACTS, GatewayTyped, Op, RolloutTyped, VERSIONS, Which};
use crate::fleet;

pub(super) const SLOTS: u32 = 3;
/// So many steps from one close look to the next; steps are many, and so are cases.
const CLOSE_LOOK: u64 = 10;

pub struct Run {
    pub(super) core: Core,
    /// The same heart, told another wall clock.
    other_wall: Core,
    pub(super) records: Snapshot,
    pub(super) now: SiteTime,
    pub(super) listing: Listing,
    pub(super) issued: BTreeMap<ActionId, (RolloutId, ControllerId)>,
    pub(super) named: BTreeSet<ActionId>,
    /// Whoever is given an order asks it.
    pub(super) judge: Judge,
    steps: u64,
}

pub(super) fn core(records: Snapshot) -> Core {
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

fn intents(gateways: &[GatewayTyped], rollouts: &[RolloutTyped]) -> Vec<Intent> {
    let gateways = gateways.iter().map(|typed| Intent::Gateway(typed.spec()));
    let rollouts =
        rollouts.iter().map(|typed| Intent::Rollout(Identity(format!("r{}", typed.name)), Box::new(typed.spec())));
    gateways.chain(rollouts).collect()
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
            judge: Judge::default(),
            steps: 0,
        };
        run.step(&[Event::Started]);
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
                self.step(&events);
            }
            Op::Together(ops) => {
                let events: Vec<_> = ops.iter().filter_map(|op| self.event(op)).collect();
                self.step(&events);
            }
            op => {
                let events: Vec<_> = self.event(op).into_iter().collect();
                self.step(&events);
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
            self.step(&[]);
        }
        self.now = until.max(self.now);
        self.step(&[]);
    }

    /// All that the cache would have by now: one that made room comes again when it is wanted again.
    pub(super) fn artifacts(&self) -> Vec<Event> {
        let state = self.core.state();
        let wanted = engine::wanted_artifacts(state).into_iter().map(|spec| spec.key.digest);
        let known: BTreeSet<_> = state.artifacts.keys().copied().chain(wanted).collect();
        known.into_iter().map(|digest| Event::Artifact(digest, ArtifactFact::Verified(fleet::sums()))).collect()
    }

    fn event(&mut self, op: &Op) -> Option<Event> {
        let state = self.core.state();
        Some(match op {
            Op::Wait(_) | Op::UntilDue | Op::Restart | Op::Together(_) => return None,
            Op::Declare(gateways, rollouts) => {
                self.listing = Listing { intents: intents(gateways, rollouts), refused: Vec::new() };
                Event::Listed(self.listing.clone())
            }
            Op::Drop(gateways, rollouts) => {
                let intents = intents(gateways, rollouts);
                let digest = Digest::new(Sha256::digest(format!("{intents:?}")).into());
                Event::Dropped(Dropped { file: "a.yaml".into(), digest: Some(digest), content: Ok(intents) })
            }
            Op::Artifact(index, true) => Event::Artifact(file(*index), ArtifactFact::Verified(fleet::sums())),
            Op::Artifact(index, false) => Event::Artifact(file(*index), ArtifactFact::Failed("gone".into())),
            Op::Collect(index) => Event::Collect(file(*index), 1, "it is in the way".into()),
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
            Op::BodyEnded(n) => Event::BodyEnded(gateway(*n), file(0), 0),
            Op::Says(n, which, execution, finished, excused) => {
                let action = self.id(*n, *which)?;
                Event::Feedback(gateway(*n), action, word(*execution, *finished, *excused))
            }
            Op::Drops(n, which, execution, finished) => {
                let action = self.id(*n, *which)?;
                Event::CancelFeedback(gateway(*n), action, word(*execution, *finished, false))
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
            Op::Gate(line, answer) => {
                let answer = match answer {
                    0 => GateAnswer::Open,
                    1 => GateAnswer::Closed("no".into()),
                    _ => GateAnswer::Unknown("silence".into()),
                };
                Event::Gate(GateKey::File(format!("/permits/{line}")), answer, self.now)
            }
            Op::StoodStill => Event::StoodStill,
            Op::StoreLost => Event::StoreLost("test".into()),
            Op::Resume => Event::Order(Order::Resume, "root".into()),
            Op::Ordered(what, about, lift) => Event::Order(ordered(*what, *about, *lift), "root".into()),
        })
    }

    fn id(&mut self, n: u8, which: Which) -> Option<ActionId> {
        let state = self.core.state();
        let of = |n: u8| {
            let mut members = state.rollouts.values().rev().filter_map(|rollout| rollout.members.get(&gateway(n)));
            members.find_map(|member| member.action.as_ref())
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
    fn step(&mut self, events: &[Event]) {
        self.steps += 1;
        let before = self.core.state().clone();
        for event in events {
            if let Event::Feedback(id, action, _) = event
                && before.gateways.contains_key(id)
                && !before.issued(*action)
            {
                self.named.insert(*action);
            }
        }
        self.judge.hears(events, self.now);
        let now = Now { site: self.now, wall: Some(1_700_000_000_000) };
        let stepped = self.core.step(now, events.to_vec());
        assert!(stepped.outlook.next_due.is_none_or(|due| due > self.now), "a busy loop");
        let other = Now { site: self.now, wall: self.steps.is_multiple_of(2).then_some(-7) };
        let elsewhere = self.other_wall.step(other, events.to_vec());
        assert_eq!(elsewhere.verdicts, stepped.verdicts, "the wall clock decided something");
        let (one, other) = (without_walls(self.core.state()), without_walls(self.other_wall.state()));
        assert_eq!(one, other, "the wall clock changed something");

        self.judge.looks(&before, events, &stepped.verdicts, self.now);
        self.judge.reads(&stepped.batch.journal);
        world::apply(&mut self.records, &stepped.batch);
        self.is_settled();
        self.keeps_its_caps(&before);
        let ordered = events.iter().any(|event| matches!(event, Event::Order(..)));
        self.stands_still_where_people_say_so(&before, ordered);
        self.uses_no_id_twice();
        if self.steps.is_multiple_of(CLOSE_LOOK) {
            self.looks_closely();
        }
    }

    /// What takes longer than all the rest.
    pub fn looks_closely(&mut self) {
        self.late_words_are_inert();
        self.records_rebuild_it();
    }
}

/// About a rollout or, where it is about a gateway, that.
fn ordered(what: u8, about: u8, lift: bool) -> Order {
    let name = Identity(format!("r{}", about % 3));
    let order = match what {
        0 => StandingOrder::Pause(name),
        1 => StandingOrder::Cancel(name),
        2 => StandingOrder::Hold(gateway(about)),
        _ => return Order::Retry(name, if lift { vec![gateway(about)] } else { vec![] }),
    };
    if lift { Order::Lift(order) } else { Order::Give(order, None) }
}

/// When an order was given, and when a rollout began and ended, is for people only.
fn without_walls(state: &State) -> Cow<'_, State> {
    let no_time = state.rollouts.values().all(|rollout| rollout.began.is_none() && rollout.ended.is_none());
    if no_time && state.orders.iter().next().is_none() {
        return Cow::Borrowed(state);
    }
    let mut state = state.clone();
    state.rollouts.values_mut().for_each(|rollout| (rollout.began, rollout.ended) = (None, None));
    state.orders = state.orders.iter().map(|(order, given)| (order, Given { wall: None, ..given.clone() })).collect();
    Cow::Owned(state)
}

pub(super) fn word(execution: Execution, finished: Finished, excused: bool) -> Feedback {
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
        Step::Installing if state.gateways[&id].bodies > 0 => Event::BodyEnded(id, key.digest, 0),
        Step::Installing => Event::Feedback(id, order.id, word(Execution::Closed, Finished::Success, false)),
        Step::Confirming => {
            let data = [(key.name.clone(), Some(key.version.to_string()))].into();
            Event::Attributes(id, Attributes { data, ..Attributes::default() })
        }
        _ => return None,
    })
}
