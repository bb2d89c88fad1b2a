//! The state while a step changes it, and the list of what was changed.

use std::collections::BTreeSet;
use std::time::Duration;

use super::allowance::Allowance;
use super::state::{Action, Artifact, Gateway, Member, Rollout, Service, Site, State, Step};
use crate::model::{
    ActionId, ArtifactSpec, ControllerId, Digest, Given, Identity, JournalEntry, Now, ObjectName, RolloutId,
    ServiceName, StandingOrder, What,
};

/// So many names are kept of one file.
const MOST_NAMES: usize = 8;

/// The state in the hands of one step. If the step's commit fails the state is dropped and rebuilt, so that a draft can
/// change it in place.
#[derive(Debug)]
pub struct Draft<'s> {
    /// The state; read it freely, change it through the draft.
    pub(super) state: &'s mut State,
    pub(super) now: Now,
    /// A gateway stopped polling in this step.
    pub(super) fell_silent: bool,
    /// How often something was changed on which decisions rest: what was found out before the last time may be wrong.
    pub(super) edits: u64,
    changes: Changes,
}

/// What a step changed.
#[derive(Debug, Default)]
pub struct Changes {
    /// The site's counters or marks.
    pub site: bool,
    /// Gateways to save.
    pub gateways: BTreeSet<ControllerId>,
    /// Rollouts to save, or to delete if they are gone.
    pub rollouts: BTreeSet<RolloutId>,
    /// Members to save, or to delete if they are gone.
    pub members: BTreeSet<(RolloutId, ControllerId)>,
    /// Artifacts to save.
    pub artifacts: BTreeSet<Digest>,
    /// Drops to save, or to forget if they are gone.
    pub drops: BTreeSet<Digest>,
    /// Orders to save, or to forget if they stand no more.
    pub orders: BTreeSet<StandingOrder>,
    /// Services to save, or to forget if they are gone.
    pub services: BTreeSet<ServiceName>,
    /// Services of which what is to be read, done or said may have changed, saved or not.
    pub units: BTreeSet<ServiceName>,
    /// Objects of the API about which something else is to be said, though no record says so.
    pub told: BTreeSet<ObjectName>,
    /// Rows for the journal.
    pub journal: Vec<JournalEntry>,
    /// Gateways whose view on the board may have changed, saved or not.
    pub seen: BTreeSet<ControllerId>,
    /// How often all members of a rollout were gone over.
    pub surveys: u32,
    /// Anything may have changed.
    everything: bool,
    /// Rollouts that `settle` must look at.
    pub(super) touched: BTreeSet<RolloutId>,
    /// Services that `settle` must look at.
    touched_services: BTreeSet<ServiceName>,
    /// Something changed on which members of other rollouts may wait: room, or a gateway's health.
    stirred: bool,
}

impl<'s> Draft<'s> {
    /// Takes the state into a step.
    pub fn new(state: &'s mut State, now: Now) -> Self {
        Self { state, now, fell_silent: false, edits: 0, changes: Changes::default() }
    }

    /// Ends the step.
    pub fn finish(self) -> Changes {
        self.changes
    }

    pub(super) fn touch(&mut self, rollout: RolloutId) {
        self.changes.touched.insert(rollout);
    }

    pub(super) fn touch_all(&mut self) {
        self.changes.everything = true;
        self.changes.touched.extend(self.state.rollouts.keys());
    }

    /// A rollout was done, or is gone: when those that it outdid may be forgotten depends on it.
    pub(super) fn touch_older(&mut self, arrival: u64, name: &str) {
        let older = |other: &Rollout| other.arrival < arrival && other.spec.artifact.key.name == *name;
        let older = self.state.rollouts.iter().filter(|(_, other)| older(other));
        self.changes.touched.extend(older.map(|(id, _)| *id));
    }

    /// A gateway changed: every rollout that has it, or might take it, must be looked at.
    pub(super) fn touch_gateway(&mut self, id: &ControllerId) {
        self.edits += 1;
        self.changes.seen.insert(id.clone());
        self.changes.stirred = true;
        let Some(gateway) = self.state.gateways.get(id) else { return };
        let concerned = self.state.rollouts.iter().filter(|(_, rollout)| {
            let selector = &rollout.spec.selector;
            rollout.members.contains_key(id) || selector.selects(&gateway.spec.labels, &gateway.attributes)
        });
        self.changes.touched.extend(concerned.map(|(id, _)| *id));
    }

    /// What the members of a rollout may see may have changed.
    pub(super) fn see_members(&mut self, rollout: RolloutId) {
        let members = self.state.rollouts.get(&rollout).into_iter().flat_map(|rollout| rollout.members.keys());
        self.changes.seen.extend(members.cloned());
    }

    /// Something else is to be said about an object of the API.
    pub(super) fn tell(&mut self, object: ObjectName) {
        self.changes.told.insert(object);
    }

    /// The gateways of which something has changed in this step, or of what they are of a rollout; none: it may be all.
    pub(super) fn changed(&self, rollout: RolloutId) -> Option<&BTreeSet<ControllerId>> {
        let all = self.changes.everything || self.changes.rollouts.contains(&rollout);
        // from so many on a walk is cheaper than looking each up
        (!all && self.changes.seen.len() < self.state.gateways.len() / 8).then_some(&self.changes.seen)
    }

    pub(super) fn surveyed(&mut self) {
        self.changes.surveys += 1;
    }

    pub(super) fn take_touched(&mut self) -> BTreeSet<RolloutId> {
        std::mem::take(&mut self.changes.touched)
    }

    pub(super) fn take_stirred(&mut self) -> bool {
        std::mem::take(&mut self.changes.stirred)
    }

    pub(super) fn edit_site(&mut self, edit: impl FnOnce(&mut Site)) {
        edit(&mut self.state.site);
        self.edits += 1;
        self.changes.site = true;
    }

    /// Changes a gateway's saved facts.
    pub(super) fn edit_gateway(&mut self, id: &ControllerId, edit: impl FnOnce(&mut Gateway)) {
        let Some(gateway) = self.state.gateways.get_mut(id) else { return };
        let before = gateway.clone();
        edit(gateway);
        if *gateway != before {
            self.changes.gateways.insert(id.clone());
            self.touch_gateway(id);
        }
    }

    /// Changes facts of a gateway that are not saved.
    pub(super) fn edit_gateway_volatile(&mut self, id: &ControllerId, edit: impl FnOnce(&mut Gateway)) {
        if let Some(gateway) = self.state.gateways.get_mut(id) {
            edit(gateway);
            self.touch_gateway(id);
        }
    }

    /// Changes facts of a gateway that are not saved, and on which nothing rests now.
    pub(super) fn edit_gateway_unseen(&mut self, id: &ControllerId, edit: impl FnOnce(&mut Gateway)) {
        if let Some(gateway) = self.state.gateways.get_mut(id) {
            edit(gateway);
        }
    }

    /// Takes one of what a gateway may cause to be written, if it has one left. No decision rests on it.
    pub(super) fn allows(
        &mut self,
        id: &ControllerId,
        what: (u8, Duration),
        of: impl FnOnce(&mut Gateway) -> &mut Allowance,
    ) -> bool {
        let now = self.now.site;
        self.state.gateways.get_mut(id).is_some_and(|gateway| of(gateway).take(what, now))
    }

    pub(super) fn add_gateway(&mut self, gateway: Gateway) {
        let id = gateway.spec.controller_id.clone();
        self.state.gateways.insert(id.clone(), gateway);
        self.touch_gateway(&id);
        self.changes.gateways.insert(id);
    }

    pub(super) fn edit_rollout(&mut self, id: RolloutId, edit: impl FnOnce(&mut Rollout)) {
        if let Some(rollout) = self.state.rollouts.get_mut(&id) {
            edit(rollout);
            self.edits += 1;
            self.changes.rollouts.insert(id);
            self.touch(id);
        }
    }

    /// Nothing declares these gateways any more.
    pub(super) fn unlist_gateways(&mut self, are: impl Fn(&ControllerId, &Gateway) -> bool) {
        let listed = self.state.gateways.iter().filter(|(id, gateway)| gateway.listed && are(id, gateway));
        for id in listed.map(|(id, _)| id.clone()).collect::<Vec<_>>() {
            self.edit_gateway(&id, |gateway| gateway.listed = false);
        }
    }

    /// Nothing declares a rollout any more.
    pub(super) fn unlist_rollout(&mut self, id: RolloutId) {
        let now = self.now.site;
        if self.state.rollouts.get(&id).is_some_and(|rollout| rollout.listed) {
            self.edit_rollout(id, |rollout| (rollout.listed, rollout.unlisted_at) = (false, Some(now)));
        }
    }

    pub(super) fn add_rollout(&mut self, id: RolloutId, rollout: Rollout) {
        self.state.rollouts.insert(id, rollout);
        self.edits += 1;
        self.changes.rollouts.insert(id);
        self.touch(id);
    }

    pub(super) fn remove_rollout(&mut self, id: RolloutId) {
        if let Some(rollout) = self.state.rollouts.remove(&id) {
            self.edits += 1;
            self.changes.rollouts.insert(id);
            self.changes.stirred = true;
            rollout.spec.files().for_each(|file| self.name_artifact(file));
            self.touch_older(rollout.arrival, &rollout.spec.artifact.key.name);
            for gateway in rollout.members.into_keys() {
                self.changes.seen.insert(gateway.clone());
                self.changes.members.insert((id, gateway));
            }
        }
    }

    /// Changes a member. Only a change of what is on disk is saved: waiting reasons are derived.
    pub(super) fn edit_member(&mut self, rollout: RolloutId, id: &ControllerId, edit: impl FnOnce(&mut Member)) {
        let Some(member) = self.state.rollouts.get_mut(&rollout).and_then(|r| r.members.get_mut(id)) else { return };
        let before = member.clone();
        edit(member);
        if *member == before {
            return;
        }
        self.edits += 1;
        let after = member.step;
        let still_waits = matches!((before.step, after), (Step::Waiting(_), Step::Waiting(_)));
        let only_reason = still_waits && Member { step: before.step, ..member.clone() } == before;
        if !only_reason {
            self.changes.members.insert((rollout, id.clone()));
            self.touch(rollout);
            self.changes.stirred = true;
        }
        self.changes.seen.insert(id.clone());
        let ended = !before.step.is_terminal() && after.is_terminal();
        if ended || (!matches!(before.step, Step::Waiting(_)) && matches!(after, Step::Waiting(_))) {
            // another rollout may have it meanwhile, or has to watch it again
            self.touch_gateway(id);
        }
    }

    /// Changes a member's order, if it has one, open or closed.
    pub(super) fn edit_action(&mut self, rollout: RolloutId, id: &ControllerId, edit: impl FnOnce(&mut Action)) {
        self.edit_member(rollout, id, |member| {
            if let Some(action) = &mut member.action {
                edit(action);
            }
        });
    }

    /// Counts bytes sent to a member. Many small requests must not be many writes, so it is saved once per artifact's size.
    pub(super) fn spend(&mut self, rollout: RolloutId, id: &ControllerId, bytes: u64) {
        let Some(of) = self.state.rollouts.get_mut(&rollout) else { return };
        let Some(size) = of.file_of(id).map(|file| file.size.max(1)) else { return };
        let Some(member) = of.members.get_mut(id) else { return };
        let before = member.spent;
        member.spent = before.saturating_add(bytes);
        if before / size != member.spent / size {
            self.changes.members.insert((rollout, id.clone()));
        }
    }

    pub(super) fn add_member(&mut self, rollout: RolloutId, id: ControllerId, member: Member) {
        if let Some(rollout) = self.state.rollouts.get_mut(&rollout) {
            rollout.members.insert(id.clone(), member);
        }
        self.touch(rollout);
        self.touch_gateway(&id);
        self.changes.members.insert((rollout, id));
    }

    pub(super) fn remove_member(&mut self, rollout: RolloutId, id: &ControllerId) {
        if let Some(rollout) = self.state.rollouts.get_mut(&rollout) {
            rollout.members.remove(id);
        }
        self.edits += 1;
        self.changes.members.insert((rollout, id.clone()));
        self.changes.stirred = true;
        self.touch(rollout);
    }

    pub(super) fn touch_service(&mut self, name: &ServiceName) {
        self.changes.touched_services.insert(name.clone());
    }

    pub(super) fn touch_services(&mut self) {
        self.changes.touched_services.extend(self.state.services.keys().cloned());
    }

    pub(super) fn take_touched_services(&mut self) -> BTreeSet<ServiceName> {
        std::mem::take(&mut self.changes.touched_services)
    }

    pub(super) fn add_service(&mut self, name: ServiceName, service: Service) {
        self.changes.services.insert(name.clone());
        self.changes.units.insert(name.clone());
        self.touch_service(&name);
        self.state.services.insert(name, service);
    }

    pub(super) fn remove_service(&mut self, name: &ServiceName) {
        if self.state.services.remove(name).is_some() {
            self.changes.services.insert(name.clone());
            self.changes.units.insert(name.clone());
        }
    }

    /// Changes a service's saved facts.
    pub(super) fn edit_service(&mut self, name: &ServiceName, edit: impl FnOnce(&mut Service)) {
        self.edit_service_volatile(name, edit);
        self.changes.services.insert(name.clone());
        self.touch_service(name);
    }

    /// Changes facts of a service that are not saved.
    pub(super) fn edit_service_volatile(&mut self, name: &ServiceName, edit: impl FnOnce(&mut Service)) {
        if let Some(service) = self.state.services.get_mut(name) {
            edit(service);
            self.changes.units.insert(name.clone());
        }
    }

    pub(super) fn set_artifact(&mut self, digest: Digest, artifact: Artifact) {
        self.state.artifacts.insert(digest, artifact);
        self.changes.artifacts.insert(digest);
        self.touch_all();
    }

    /// Remembers that a drop was accepted; the oldest of too many is forgotten.
    pub(super) fn remember_drop(&mut self, digest: Digest, most: usize) {
        let drops = &mut self.state.drops;
        let order = drops.values().max().unwrap_or(&0) + 1;
        drops.insert(digest, order);
        self.changes.drops.insert(digest);
        while drops.len() > most {
            let oldest = drops.iter().min_by_key(|(_, order)| **order).map(|(digest, _)| *digest);
            let Some(oldest) = oldest else { return };
            drops.remove(&oldest);
            self.changes.drops.insert(oldest);
        }
    }

    /// Lets an order of a person stand, or no more. The site's record goes with it: a binary that does not know such orders
    /// must refuse the store, not overlook them.
    pub(super) fn set_order(&mut self, order: StandingOrder, given: Option<Given>) {
        self.state.orders.set(order.clone(), given);
        match &order {
            StandingOrder::Hold(gateway) => self.touch_gateway(gateway),
            StandingOrder::Pause(identity) | StandingOrder::Cancel(identity) => self.touch_identity(identity),
        }
        self.changes.orders.insert(order);
        self.changes.site = true;
    }

    fn touch_identity(&mut self, identity: &Identity) {
        let rollouts = self.state.rollouts.iter().filter(|(_, rollout)| rollout.identity == *identity);
        self.changes.touched.extend(rollouts.map(|(id, _)| *id));
    }

    pub(super) fn remove_artifact(&mut self, digest: &Digest) {
        if self.state.artifacts.remove(digest).is_some() {
            self.changes.artifacts.insert(*digest);
            self.touch_all();
        }
    }

    /// Keeps what a rollout that goes called its artifact: a gateway may report that version for years.
    fn name_artifact(&mut self, file: &ArtifactSpec) {
        let key = &file.key;
        let cached = self.state.artifacts.get_mut(&key.digest).filter(|artifact| artifact.sums.is_some());
        let Some(artifact) = cached else { return };
        let name = (key.name.clone(), key.version.clone());
        if !artifact.names.contains(&name) {
            if artifact.names.len() >= MOST_NAMES {
                artifact.names.remove(0);
            }
            artifact.names.push(name);
        }
        artifact.kept = Some((file.size, file.sources.clone()));
        self.changes.artifacts.insert(key.digest);
    }

    pub(super) fn member(&self, rollout: RolloutId, id: &ControllerId) -> Option<&Member> {
        self.state.rollouts.get(&rollout)?.members.get(id)
    }

    /// Moves a member to another step, from now on.
    pub(super) fn step(&mut self, rollout: RolloutId, id: &ControllerId, step: Step) {
        let now = self.now.site;
        self.edit_member(rollout, id, |member| {
            if member.step != step {
                member.step = step;
                member.since = now;
            }
        });
    }

    /// The next id for an order: never one that a gateway ever named by itself.
    pub(super) fn next_action_id(&mut self) -> ActionId {
        let mut id = self.state.site.action_next;
        while self.state.strange_ids.contains(&id) {
            id = id.next();
        }
        self.edit_site(|site| site.action_next = id.next());
        id
    }

    /// Writes a row about the site.
    pub(super) fn note(&mut self, what: What, detail: impl Into<String>) {
        self.write(what, None, None, None, detail.into());
    }

    /// Writes a row about a gateway.
    pub(super) fn note_gateway(&mut self, what: What, gateway: &ControllerId, detail: impl Into<String>) {
        self.write(what, None, Some(gateway), None, detail.into());
    }

    /// Writes a row about a rollout.
    pub(super) fn note_rollout(&mut self, what: What, rollout: RolloutId, detail: impl Into<String>) {
        self.write(what, Some(rollout), None, None, detail.into());
    }

    /// Writes a row about a service.
    pub(super) fn note_service(&mut self, what: What, service: &ServiceName, detail: impl Into<String>) {
        self.write(what, None, None, Some(service), detail.into());
    }

    /// Writes a row about a member.
    pub(super) fn note_member(
        &mut self,
        what: What,
        rollout: RolloutId,
        gateway: &ControllerId,
        detail: impl Into<String>,
    ) {
        self.write(what, Some(rollout), Some(gateway), None, detail.into());
    }

    fn write(
        &mut self,
        what: What,
        rollout: Option<RolloutId>,
        gateway: Option<&ControllerId>,
        service: Option<&ServiceName>,
        detail: String,
    ) {
        let rollout = rollout
            .and_then(|id| self.state.rollouts.get(&id))
            .map(|rollout| format!("{} ({})", rollout.identity, rollout.spec.artifact.key));
        let gateway = gateway.map(ToString::to_string);
        self.changes.journal.push(JournalEntry {
            at: self.now.site,
            wall: self.now.wall,
            what,
            rollout,
            gateway,
            service: service.map(ToString::to_string),
            detail,
        });
    }
}
