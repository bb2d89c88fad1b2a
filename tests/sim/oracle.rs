//! The judge. It knows what people declared, what was committed and what each gateway did, and nothing of the engine's mind.

use std::collections::{BTreeMap, BTreeSet};

use lamplighter::model::{ActionId, ControllerId, Event, Intent, Order, RolloutId, StandingOrder, Verdict};
use lamplighter::store::{Batch, MemberRecord, RolloutRecord, Snapshot, StepRecord};

use crate::disk;
use crate::site::InFlight;

type Rollouts = BTreeMap<RolloutId, RolloutRecord>;

#[derive(Debug, Default)]
pub struct Oracle {
    /// What is committed, by our own account.
    pub committed: Snapshot,
    /// A batch whose commit was not answered.
    uncertain: Option<Batch>,
    /// Declared and committed: held gateways, and whether a rollout is paused.
    held: BTreeSet<ControllerId>,
    paused: BTreeSet<String>,
    /// Orders whose cancellation was committed before their artifact was served whole. One that a gateway refuses to
    /// drop is not among them any more.
    pub cancelled: BTreeSet<(ControllerId, ActionId)>,
    /// Whose an id is, for ever.
    owners: BTreeMap<ActionId, (RolloutId, ControllerId)>,
    /// Orders that a gateway was given.
    granted: BTreeSet<(ControllerId, ActionId)>,
    pub slots: u32,
    /// What every gateway runs, by its own account.
    pub runs: BTreeMap<ControllerId, String>,
}

impl Oracle {
    /// A commit begins whose end nobody may learn.
    pub fn begins(&mut self, batch: &Batch) {
        self.uncertain = Some(batch.clone());
    }

    /// The store was opened again: it holds what was answered, or that and the batch under way; never anything else.
    pub fn reopened(&mut self, found: &Snapshot) {
        let before = self.committed.clone();
        if let Some(batch) = self.uncertain.take() {
            disk::apply(&mut self.committed, &batch);
            if *found == self.committed {
                return self.look_at_members(&batch);
            }
        }
        assert!(*found == before, "the store lost or invented something\nexpected {before:#?}\nfound {found:#?}");
        self.committed = before;
    }

    /// A commit was answered.
    pub fn done(&mut self, step: &InFlight) {
        self.uncertain = None;
        let before = self.committed.rollouts.clone();
        let mut standing: BTreeSet<_> = self.committed.orders.keys().cloned().collect();
        // an empty batch is not committed, nor is its time
        if !step.batch.is_empty() {
            disk::apply(&mut self.committed, &step.batch);
            self.look_at_members(&step.batch);
        }
        if !step.batch.members.is_empty() || !step.batch.rollouts.is_empty() {
            self.look_at_caps();
            self.look_at_waves(&before);
        }
        for (event, verdict) in step.events.iter().zip(&step.verdicts) {
            match event {
                Event::Listed(list) => self.declared(list.intents.iter()),
                Event::Fetched(id, action) if *verdict == Verdict::Deploy => {
                    self.granted(&before, &standing, id, *action);
                }
                Event::Order(Order::Give(order, _), _) if *verdict == Verdict::Accepted => {
                    _ = standing.insert(order.clone())
                }
                Event::Order(Order::Lift(order), _) => _ = standing.remove(order),
                _ => {}
            }
        }
    }

    fn declared<'i>(&mut self, intents: impl Iterator<Item = &'i Intent>) {
        self.held.clear();
        self.paused.clear();
        for intent in intents {
            match intent {
                Intent::Gateway(spec) if spec.hold => _ = self.held.insert(spec.controller_id.clone()),
                Intent::Rollout(identity, spec) if spec.paused => _ = self.paused.insert(identity.0.clone()),
                _ => {}
            }
        }
    }

    /// A gateway is given an order: was it allowed to have it?
    fn granted(&mut self, before: &Rollouts, standing: &BTreeSet<StandingOrder>, id: &ControllerId, action: ActionId) {
        let who = format!("{id}, action {action}");
        let first = self.granted.insert((id.clone(), action));
        let (rollout_id, member) = self.offer(id).unwrap_or_else(|| panic!("{who}: no durable offer"));
        let order = member.action.as_ref().unwrap();
        assert!(order.id == action && order.ever_fetched, "{who}: another order is durable: {order:?}");
        let rollout = &self.committed.rollouts[&rollout_id];
        let was_stopped = before.get(&rollout_id).is_some_and(|rollout| rollout.tripped.is_some());
        if first {
            assert!(!self.held.contains(id), "{who}: given while held");
            assert!(!self.paused.contains(&rollout.identity.0), "{who}: given while paused");
            let name = &rollout.identity;
            let orders = [
                StandingOrder::Pause(name.clone()),
                StandingOrder::Cancel(name.clone()),
                StandingOrder::Hold(id.clone()),
            ];
            assert!(orders.iter().all(|order| !standing.contains(order)), "{who}: given against an order on the spot");
            assert!(!was_stopped, "{who}: given after the limit was committed");
            assert!(wave_is_open(rollout, member), "{who}: given before its wave opened");
        }
    }

    /// The root resource shows an order's link: is it durable?
    pub fn shown(&self, id: &ControllerId, action: ActionId) {
        let offer = self.offer(id).map(|(_, member)| member.action.as_ref().unwrap().id);
        assert_eq!(offer, Some(action), "{id} sees an order that is not committed");
    }

    /// The one open order of a gateway.
    fn offer(&self, id: &ControllerId) -> Option<(RolloutId, &MemberRecord)> {
        let members = self.committed.members.iter();
        let mut open = members.filter(|((_, of), m)| of == id && m.action.as_ref().is_some_and(|action| action.open));
        let ((rollout, _), member) = open.next()?;
        assert!(open.next().is_none(), "{id} has two open orders");
        Some((*rollout, member))
    }

    /// Ids are never used twice.
    fn look_at_members(&mut self, batch: &Batch) {
        let next = self.committed.site.as_ref().expect("the first commit has the site's record").action_next;
        for (key, member) in &batch.members {
            let Some(member) = member else { continue };
            let Some(order) = member.action.as_ref() else { continue };
            match (order.cancelling, member.step) {
                (true, _) => _ = self.cancelled.insert((key.1.clone(), order.id)),
                (false, StepRecord::Installing) => _ = self.cancelled.remove(&(key.1.clone(), order.id)),
                _ => {}
            }
            assert!(order.id < next, "{} may be issued again", order.id);
            for id in order.aliases.iter().chain([&order.id]) {
                let owner = self.owners.entry(*id).or_insert_with(|| key.clone());
                assert_eq!(owner, key, "{id} was issued twice");
            }
        }
    }

    fn look_at_caps(&self) {
        let mut downloads = 0;
        let mut in_flight: BTreeMap<RolloutId, u32> = BTreeMap::new();
        let mut open: BTreeSet<&ControllerId> = BTreeSet::new();
        for ((rollout, id), member) in &self.committed.members {
            downloads += u32::from(matches!(member.step, StepRecord::Offered | StepRecord::Downloading));
            *in_flight.entry(*rollout).or_default() += u32::from(is_in_flight(member));
            let is_open = member.action.as_ref().is_some_and(|action| action.open);
            assert!(!is_open || open.insert(id), "{id} has two open orders");
        }
        assert!(downloads <= self.slots, "{downloads} gateways download, {} may", self.slots);
        for (id, flying) in in_flight {
            let rollout = &self.committed.rollouts[&id];
            let total = rollout.frozen.as_ref().map_or(0, |frozen| frozen.total);
            let most = rollout.spec.strategy.max_in_flight.of(total);
            assert!(flying <= most, "{flying} members of {} are under way, {most} may", rollout.identity);
        }
    }

    /// A wave opens only when half of those before it run the new version, whatever the engine believes.
    fn look_at_waves(&self, before: &Rollouts) {
        for (id, rollout) in &self.committed.rollouts {
            let Some(frozen) = &rollout.frozen else { continue };
            let was_open = |at: usize| {
                let frozen = before.get(id).and_then(|rollout| rollout.frozen.as_ref());
                frozen.is_some_and(|frozen| frozen.waves[at].opened_at.is_some())
            };
            for at in 1..frozen.waves.len() {
                if frozen.waves[at].opened_at.is_none() || was_open(at) {
                    continue;
                }
                let wave = frozen.waves[at - 1].clone();
                let (Some(opened), Some(proven)) = (wave.opened_at, wave.proven_at) else {
                    panic!("wave {at} opened before the one before it was proven");
                };
                assert!(proven >= opened.plus(wave.soak), "wave {at} opened without a soak before it");
                let earlier = usize::from(u16::try_from(at - 1).unwrap());
                let members =
                    self.committed.members.iter().filter(|((of, _), m)| {
                        of == id && m.wave.map(usize::from) == Some(earlier) && counts_for_proof(m)
                    });
                let version = rollout.spec.artifact.key.version.as_str();
                let (mut all, mut good) = (0, 0);
                for ((_, gateway), _) in members {
                    all += 1;
                    good += usize::from(self.runs.get(gateway).is_some_and(|runs| runs == version));
                }
                assert!(good * 2 >= all, "wave {at} opened when {good} of {all} before it had arrived");
            }
        }
    }
}

fn counts_for_proof(member: &MemberRecord) -> bool {
    !matches!(member.step, StepRecord::Skipped(_)) && !matches!(member.step, StepRecord::Waiting)
}

fn is_in_flight(member: &MemberRecord) -> bool {
    use StepRecord::{Confirming, Downloading, Installing, Offered};
    matches!(member.step, Offered | Downloading | Installing | Confirming)
}

fn wave_is_open(rollout: &RolloutRecord, member: &MemberRecord) -> bool {
    let Some(frozen) = &rollout.frozen else { return false };
    match member.wave {
        Some(at) => frozen.waves[usize::from(at)].opened_at.is_some(),
        None => member.joiner && rollout.ready_at.is_some(),
    }
}
