//! What should be true outside after a step, in the words of the rooms that make it true.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::wanted::united;
use crate::device::{self, Entry, Offer};
use crate::engine::{self, Changes, GatewayView, Rollout, State, Step};
use crate::model::{
    ArtifactSpec, ControllerId, Digest, GateKey, ObjectName, RolloutId, SiteTime, StandingOrder, UnitJob, Watched,
};

/// Level-triggered: what should be true outside, where it may have changed.
#[derive(Debug)]
pub struct Outlook {
    /// Gateways whose entry on the board may have changed.
    pub board: Vec<(ControllerId, Entry)>,
    /// All artifacts that should be in the cache; `None` if nothing about that changed.
    pub wanted: Option<Vec<ArtifactSpec>>,
    /// All questions that gates should be asked; `None` if nothing about that changed.
    pub gates: Option<BTreeSet<GateKey>>,
    /// All that is to be read for services, and done about their units; `None` if nothing about that changed.
    pub services: Option<(Vec<Watched>, Vec<UnitJob>)>,
    /// Objects of the API about which something else may be said now, and whether a person should hear of it soon.
    pub objects: Vec<(ObjectName, bool)>,
    /// There are rollouts of drops that the API does not show.
    pub unshown: bool,
    /// When to step again although nothing happens.
    pub next_due: Option<SiteTime>,
    /// When to step again because windows open or end; no deadline, so that no site time is saved for it.
    pub next_change: Option<SiteTime>,
}

impl Outlook {
    /// When to step again although nothing happens.
    pub fn wakes_at(&self) -> Option<SiteTime> {
        self.next_due.into_iter().chain(self.next_change).min()
    }
}

/// Makes outlooks; gateways with the same order share the artifact's description.
#[derive(Debug, Default)]
pub(super) struct Views {
    shared: BTreeMap<Digest, Rc<device::Artifact>>,
    /// The first outlook of a process says everything.
    complete: bool,
}

impl Views {
    pub(super) fn outlook(&mut self, state: &State, changes: &Changes) -> Outlook {
        let first = !std::mem::replace(&mut self.complete, true);
        let board = if first { self.board(state, state.gateways.keys()) } else { self.board(state, &changes.seen) };
        // which variants are wanted before the freeze depends on what gateways are
        let may_choose = |rollout: &Rollout| rollout.frozen.is_none() && rollout.spec.variants.is_some();
        let chosen = || !changes.gateways.is_empty() && state.rollouts.values().any(may_choose);
        let concerned = !changes.rollouts.is_empty() || !changes.members.is_empty() || chosen();
        let wanted = (first || concerned).then(|| wanted(state));
        // a reason to wait is no change of a record, but is seen
        let waits = first || concerned || !changes.seen.is_empty();
        let gates = waits.then(|| engine::wanted_gates(state));
        self.shared.retain(|_, artifact| Rc::strong_count(artifact) > 1);
        let services = (first || !changes.units.is_empty()).then(|| (engine::watched(state), engine::unit_jobs(state)));
        Outlook {
            board,
            wanted,
            gates,
            services,
            objects: objects(state, changes),
            unshown: engine::unshown(state).next().is_some(),
            next_due: engine::next_due(state),
            next_change: engine::next_change(state),
        }
    }

    fn board<'i>(
        &mut self,
        state: &State,
        ids: impl IntoIterator<Item = &'i ControllerId>,
    ) -> Vec<(ControllerId, Entry)> {
        let view = |id: &ControllerId| Some((id.clone(), engine::gateway_view(state, id)?));
        ids.into_iter().filter_map(view).map(|(id, view)| (id, self.entry(view))).collect()
    }

    fn entry(&mut self, view: GatewayView) -> Entry {
        let offer = view.offer.map(|offer| Offer {
            action: offer.action,
            link: offer.link,
            cancel: offer.cancel,
            fetched: offer.fetched,
            served: offer.served,
            artifact: self.share(offer.artifact, offer.sums),
        });
        Entry { token: view.token, ask: view.ask, offer, tell_poll_from: view.tell_poll_from }
    }

    fn share(&mut self, spec: &ArtifactSpec, sums: &crate::model::Sums) -> Rc<device::Artifact> {
        let artifact = device::Artifact {
            key: spec.key.clone(),
            file_name: spec.file_name().to_owned(),
            size: spec.size,
            sums: sums.clone(),
        };
        let shared = self.shared.entry(spec.key.digest).or_insert_with(|| Rc::new(artifact.clone()));
        if **shared != artifact {
            *shared = Rc::new(artifact);
        }
        shared.clone()
    }
}

/// Of a gateway that failed somebody should hear before the others.
fn objects(state: &State, changes: &Changes) -> Vec<(ObjectName, bool)> {
    let members = changes.members.iter().map(|(rollout, _)| *rollout);
    // an artifact's way is said in every rollout that wants it
    let all = (!changes.artifacts.is_empty()).then(|| state.rollouts.keys().copied());
    let ordered = changes.orders.iter().filter_map(|order| engine::current(state, order.rollout()?));
    let rollouts: BTreeSet<RolloutId> =
        changes.rollouts.iter().copied().chain(members).chain(all.into_iter().flatten()).chain(ordered).collect();
    let rollouts = rollouts.iter().filter_map(|id| state.rollouts.get(id));
    let rollouts = rollouts.filter(|rollout| rollout.origin.is_api() && !rollout.replaced);
    let gateways = changes.gateways.iter().chain(changes.members.iter().map(|(_, gateway)| gateway));
    let held = changes.orders.iter().filter_map(StandingOrder::gateway);
    let gateways: BTreeSet<&ControllerId> = gateways.chain(held).collect();
    let gateways = gateways.into_iter().filter_map(|id| Some((id, state.gateways.get(id)?)));
    let failed = |id: &ControllerId| {
        let has_failed = |rollout: &Rollout| matches!(rollout.members.get(id)?.step, Step::Failed(_)).then_some(());
        state.rollouts.values().any(|rollout| has_failed(rollout).is_some())
    };
    let gateways = gateways.filter(|(_, gateway)| gateway.origin.is_api());
    let gateways = gateways.map(|(id, gateway)| (ObjectName::Gateway(gateway.spec.name.clone()), failed(id)));
    let services = changes.units.iter().filter_map(|name| Some((name, state.services.get(name)?)));
    let services = services.filter(|(_, service)| service.origin.is_api());
    let services = services.map(|(name, _)| (ObjectName::Service(name.clone()), true));
    let rollouts = rollouts.map(|rollout| (ObjectName::Rollout(rollout.object_name().clone()), false));
    let told = changes.told.iter().map(|name| (name.clone(), false));
    rollouts.chain(gateways).chain(services).chain(told).collect()
}

fn wanted(state: &State) -> Vec<ArtifactSpec> {
    united(engine::wanted_artifacts(state))
}
