//! The orders that stand at a site, by what they are about.

use std::collections::BTreeMap;

use crate::model::{ControllerId, Given, Identity, StandingOrder};

/// Orders that stand until somebody lifts them on the spot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Orders {
    pauses: BTreeMap<Identity, Given>,
    cancels: BTreeMap<Identity, Given>,
    holds: BTreeMap<ControllerId, Given>,
}

impl Orders {
    /// Who gave an order that stands.
    pub fn get(&self, order: &StandingOrder) -> Option<&Given> {
        match order {
            StandingOrder::Pause(identity) => self.pause(identity),
            StandingOrder::Cancel(identity) => self.cancel(identity),
            StandingOrder::Hold(gateway) => self.hold(gateway),
        }
    }

    /// Who paused a rollout.
    pub fn pause(&self, rollout: &Identity) -> Option<&Given> {
        self.pauses.get(rollout)
    }

    /// Who called a rollout off.
    pub fn cancel(&self, rollout: &Identity) -> Option<&Given> {
        self.cancels.get(rollout)
    }

    /// Who holds a gateway.
    pub fn hold(&self, gateway: &ControllerId) -> Option<&Given> {
        self.holds.get(gateway)
    }

    /// Lets an order stand, or no more.
    pub fn set(&mut self, order: StandingOrder, given: Option<Given>) {
        match order {
            StandingOrder::Pause(identity) => put(&mut self.pauses, identity, given),
            StandingOrder::Cancel(identity) => put(&mut self.cancels, identity, given),
            StandingOrder::Hold(gateway) => put(&mut self.holds, gateway, given),
        }
    }

    /// All that stand.
    pub fn iter(&self) -> impl Iterator<Item = (StandingOrder, &Given)> {
        let pauses = self.pauses.iter().map(|(identity, given)| (StandingOrder::Pause(identity.clone()), given));
        let cancels = self.cancels.iter().map(|(identity, given)| (StandingOrder::Cancel(identity.clone()), given));
        let holds = self.holds.iter().map(|(gateway, given)| (StandingOrder::Hold(gateway.clone()), given));
        pauses.chain(cancels).chain(holds)
    }

    /// Does anything that stands name this rollout?
    pub fn names(&self, rollout: &Identity) -> bool {
        self.pauses.contains_key(rollout) || self.cancels.contains_key(rollout)
    }
}

fn put<K: Ord>(orders: &mut BTreeMap<K, Given>, about: K, given: Option<Given>) {
    match given {
        Some(given) => drop(orders.insert(about, given)),
        None => drop(orders.remove(&about)),
    }
}

impl FromIterator<(StandingOrder, Given)> for Orders {
    fn from_iter<I: IntoIterator<Item = (StandingOrder, Given)>>(orders: I) -> Self {
        let mut all = Self::default();
        orders.into_iter().for_each(|(order, given)| all.set(order, Some(given)));
        all
    }
}
