//! The judge. It knows what people declared, what was committed and what each gateway did, and nothing of the engine's mind.

mod field;
mod windows;

use std::collections::{BTreeMap, BTreeSet};

use super::disk;
use super::site::InFlight;
use crate::model::{
    ActionId, ApiFact, ControllerId, Event, Identity, Intent, Order, RolloutId, StandingOrder, Verdict, Zone,
};
use crate::store::{Batch, FrozenRecord, MemberRecord, RolloutRecord, Snapshot, StepRecord};
use field::Field;

type Rollouts = BTreeMap<RolloutId, RolloutRecord>;

/// The judge of a world.
#[derive(Debug)]
pub struct Oracle {
    /// What is committed, by our own account.
    pub committed: Snapshot,
    /// Orders whose cancellation was committed before their artifact was served whole. One that a gateway refuses to
    /// drop is not among them any more.
    pub cancelled: BTreeSet<(ControllerId, ActionId)>,
    /// What must never happen, and did.
    pub wrong: Vec<String>,
    /// What every gateway runs, by its own account.
    pub(super) runs: BTreeMap<ControllerId, String>,
    /// How it really is out there.
    pub(super) field: Field,
    /// How many gateways may download at once.
    slots: u32,
    /// The site's.
    zone: Zone,
    /// A batch whose commit was not answered.
    uncertain: Option<Batch>,
    /// Declared and committed: held gateways, and whether a rollout is paused.
    held: BTreeSet<ControllerId>,
    paused: BTreeSet<String>,
    /// The same of what the hub declares.
    paused_by_hub: BTreeSet<String>,
    /// Whose an id is, for ever.
    owners: BTreeMap<ActionId, (RolloutId, ControllerId)>,
    /// Orders that a gateway was given.
    granted: BTreeSet<(ControllerId, ActionId)>,
}

/// More of them help nobody.
const MOST_WRONG: usize = 20;

impl Oracle {
    pub(super) fn new(slots: u32, zone: Zone) -> Self {
        Self {
            slots,
            zone,
            committed: Snapshot::default(),
            cancelled: BTreeSet::new(),
            wrong: Vec::new(),
            runs: BTreeMap::new(),
            field: Field::default(),
            uncertain: None,
            held: BTreeSet::new(),
            paused: BTreeSet::new(),
            paused_by_hub: BTreeSet::new(),
            owners: BTreeMap::new(),
            granted: BTreeSet::new(),
        }
    }

    /// Something must never happen, and did.
    pub(super) fn found(&mut self, what: String) {
        if self.wrong.len() < MOST_WRONG {
            self.wrong.push(what);
        }
    }

    /// Something must be true.
    fn must(&mut self, holds: bool, else_: impl FnOnce() -> String) {
        if !holds {
            self.found(else_());
        }
    }

    /// A commit begins whose end nobody may learn.
    pub(super) fn begins(&mut self, batch: &Batch) {
        self.uncertain = Some(batch.clone());
    }

    /// The store was opened again: it holds what was answered, or that and the batch under way; never anything else.
    pub(super) fn reopened(&mut self, found: &Snapshot) {
        let before = self.committed.clone();
        if let Some(batch) = self.uncertain.take() {
            disk::apply(&mut self.committed, &batch);
            if *found == self.committed {
                return self.look_at_members(&batch);
            }
        }
        self.must(*found == before, || "the store lost or invented something".into());
        self.committed = before;
    }

    /// A commit was answered.
    pub(super) fn done(&mut self, step: &InFlight) {
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
        self.look_at_windows(step);
        for (event, verdict) in step.events.iter().zip(&step.verdicts) {
            match event {
                Event::Listed(list) => self.declared(list.intents.iter()),
                Event::ApiListed(list) => list.objects.iter().for_each(|(_, intent)| self.hub_declared(intent)),
                Event::Api(_, fact) => {
                    if let ApiFact::Declared(_, intent) = &**fact {
                        self.hub_declared(intent);
                    }
                }
                Event::Fetched(id, action) if *verdict == Verdict::Deploy => {
                    self.granted(&before, &standing, id, *action);
                }
                Event::Order(Order::Give(order, _), _) if *verdict == Verdict::Accepted => {
                    standing.insert(order.clone());
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

    fn hub_declared(&mut self, intent: &Intent) {
        match intent {
            Intent::Rollout(identity, spec) if spec.paused => _ = self.paused_by_hub.insert(identity.0.clone()),
            Intent::Rollout(identity, _) => _ = self.paused_by_hub.remove(&identity.0),
            Intent::Gateway(_) | Intent::Service(..) => {}
        }
    }

    /// A gateway is given an order: was it allowed to have it?
    fn granted(&mut self, before: &Rollouts, standing: &BTreeSet<StandingOrder>, id: &ControllerId, action: ActionId) {
        let first = self.granted.insert((id.clone(), action));
        let durable = self.offers(id).into_iter().find_map(|(rollout_id, member)| {
            member.action.as_ref().filter(|order| order.id == action && order.ever_fetched)?;
            let rollout = self.committed.rollouts.get(&rollout_id)?;
            Some((rollout_id, member.reverting, rollout.identity.0.clone(), wave_is_open(rollout, member)))
        });
        let Some((rollout_id, goes_back, identity, wave_is_open)) = durable else {
            return self.found(format!("{id} was given action {action}, which is not durable"));
        };
        if !first {
            return;
        }
        if let Some(how) = self.against_spread(rollout_id, id) {
            self.found(format!("{id} was given action {action} {how}"));
        }
        if let Some(gate) = self.against_a_gate(rollout_id, id) {
            self.found(format!("{id} was given action {action} although {gate}"));
        }
        let was_called_off = before.get(&rollout_id).is_some_and(|rollout| rollout.cancelled);
        let was_stopped = before.get(&rollout_id).is_some_and(|rollout| rollout.tripped.is_some());
        let name = Identity(identity.clone());
        let orders = [StandingOrder::Pause(name.clone()), StandingOrder::Cancel(name), StandingOrder::Hold(id.clone())];
        for (fault, when) in [
            (orders.iter().any(|order| standing.contains(order)), "against an order on the spot"),
            (self.held.contains(id), "while it is held"),
            (self.paused.contains(&identity), "while its rollout is paused"),
            (self.paused_by_hub.contains(&identity), "while its rollout is paused at the hub"),
            (was_called_off, "after its rollout was called off"),
            (was_stopped && !goes_back, "after the limit was committed"),
            (goes_back && !was_stopped, "to go back before the limit was committed"),
            (!wave_is_open && !goes_back, "before its wave opened"),
        ] {
            self.must(!fault, || format!("{id} was given action {action} {when}"));
        }
    }

    /// The root resource shows an order's link: is it durable?
    pub(super) fn shown(&mut self, id: &ControllerId, action: ActionId) {
        let durable = self.offers(id).iter().filter_map(|(_, member)| member.action.as_ref()).any(|o| o.id == action);
        self.must(durable, || format!("{id} sees action {action}, which is not committed"));
    }

    /// The open orders of a gateway; one at most, or it is told elsewhere.
    fn offers(&self, id: &ControllerId) -> Vec<(RolloutId, &MemberRecord)> {
        let of = self.committed.rollouts.keys().filter_map(|rollout| {
            let member = self.committed.members.get(&(*rollout, id.clone()))?;
            Some((*rollout, member))
        });
        of.filter(|(_, member)| member.action.as_ref().is_some_and(|action| action.open)).collect()
    }

    /// Ids are never used twice.
    fn look_at_members(&mut self, batch: &Batch) {
        let next = self.committed.site.as_ref().map(|site| site.action_next);
        for (key, member) in &batch.members {
            let Some(order) = member.as_ref().and_then(|member| member.action.as_ref()) else { continue };
            match (order.cancelling, member.as_ref().map(|member| member.step)) {
                (true, _) => _ = self.cancelled.insert((key.1.clone(), order.id)),
                (false, Some(StepRecord::Installing)) => _ = self.cancelled.remove(&(key.1.clone(), order.id)),
                _ => {}
            }
            self.must(next.is_some_and(|next| order.id < next), || format!("{} may be issued again", order.id));
            for id in order.aliases.iter().chain([&order.id]) {
                let owner = self.owners.entry(*id).or_insert_with(|| key.clone());
                let same = owner == key;
                self.must(same, || format!("action {id} was issued twice"));
            }
        }
    }

    fn look_at_caps(&mut self) {
        let mut downloads = 0;
        let mut in_flight: BTreeMap<RolloutId, u32> = BTreeMap::new();
        let mut open: BTreeSet<&ControllerId> = BTreeSet::new();
        let mut wrong = Vec::new();
        for ((rollout, id), member) in &self.committed.members {
            downloads += u32::from(matches!(member.step, StepRecord::Offered | StepRecord::Downloading));
            *in_flight.entry(*rollout).or_default() += u32::from(is_in_flight(member));
            let is_open = member.action.as_ref().is_some_and(|action| action.open);
            if is_open && !open.insert(id) {
                wrong.push(format!("{id} has two open orders"));
            }
        }
        for (id, flying) in in_flight {
            let Some(rollout) = self.committed.rollouts.get(&id) else { continue };
            let total = rollout.frozen.as_ref().map_or(0, |frozen| frozen.total);
            let most = rollout.spec.strategy.max_in_flight.of(total);
            if flying > most {
                wrong.push(format!("{flying} members of {} are under way, {most} may be", rollout.identity));
            }
        }
        let slots = self.slots;
        self.must(downloads <= slots, || format!("{downloads} gateways download, {slots} may"));
        for what in wrong {
            self.found(what);
        }
    }

    /// A wave opens only when half of those before it run the new version, whatever the engine believes.
    fn look_at_waves(&mut self, before: &Rollouts) {
        let mut wrong = Vec::new();
        for (id, rollout) in &self.committed.rollouts {
            let Some(frozen) = &rollout.frozen else { continue };
            let earlier = before.get(id).and_then(|rollout| rollout.frozen.as_ref());
            for (at, (last, wave)) in (1..).zip(frozen.waves.iter().zip(frozen.waves.iter().skip(1))) {
                if wave.opened_at.is_none() || is_open(earlier, at) {
                    continue;
                }
                let soaked = last.opened_at.zip(last.proven_at).is_some_and(|(from, to)| to >= from.plus(last.soak));
                if !soaked {
                    wrong.push(format!(
                        "wave {} of {} opened before the one before it soaked",
                        at + 1,
                        rollout.identity
                    ));
                }
                let version = rollout.spec.artifact.key.version.as_str();
                let (mut all, mut good) = (0, 0);
                for ((of, gateway), member) in &self.committed.members {
                    if of == id && member.wave.map(usize::from) == Some(at - 1) && counts_for_proof(member) {
                        all += 1;
                        good += usize::from(self.runs.get(gateway).is_some_and(|runs| runs == version));
                    }
                }
                if good * 2 < all {
                    let name = &rollout.identity;
                    wrong.push(format!("wave {} of {name} opened when {good} of {all} before it had arrived", at + 1));
                }
            }
        }
        for what in wrong {
            self.found(what);
        }
    }
}

fn is_open(frozen: Option<&FrozenRecord>, wave: usize) -> bool {
    frozen.and_then(|frozen| frozen.waves.get(wave)).is_some_and(|wave| wave.opened_at.is_some())
}

fn counts_for_proof(member: &MemberRecord) -> bool {
    !matches!(member.step, StepRecord::Skipped(_) | StepRecord::Waiting)
}

fn is_in_flight(member: &MemberRecord) -> bool {
    use StepRecord::{Confirming, Downloading, Installing, Offered};
    matches!(member.step, Offered | Downloading | Installing | Confirming)
}

fn wave_is_open(rollout: &RolloutRecord, member: &MemberRecord) -> bool {
    let Some(frozen) = &rollout.frozen else { return false };
    match member.wave {
        Some(at) => is_open(Some(frozen), usize::from(at)),
        None => member.joiner && rollout.ready_at.is_some(),
    }
}
