//! Room: whether there is a place for one more, of the rollout, of the site, of its line, and among the downloads. Decided at
//! the offer, and again at the fetch.

use super::brake::{self, Load};
use super::gate;
use super::spread::Groups;
use super::state::{Gateway, Rollout, State};
use crate::model::{SiteTime, WaitingReason};

/// What is under way, as one rollout must look at it. Counted once, and kept up while it offers.
#[derive(Debug)]
pub(super) struct Room<'s> {
    state: &'s State,
    rollout: &'s Rollout,
    load: Load,
    groups: Option<Groups<'s>>,
}

impl WaitingReason {
    /// Only for room, or for what is asked once there is room: all else is out of the way.
    pub(super) fn is_for_room(self) -> bool {
        matches!(self, Self::MaxInFlight | Self::Spread | Self::MinHealthy | Self::DownloadSlot | Self::Gate)
    }
}

impl<'s> Room<'s> {
    pub fn of(state: &'s State, rollout: &'s Rollout, load: Load) -> Self {
        Self { state, rollout, load, groups: Groups::of(state, rollout) }
    }

    /// There is no place for anybody more, whoever it is.
    pub fn full(&self) -> Option<WaitingReason> {
        brake::caps(self.state, self.rollout, self.load)
    }

    /// Why an offer may not stand any more.
    pub fn takes_back(&mut self, gateway: &'s Gateway) -> Option<WaitingReason> {
        self.groups.as_mut()?.takes_back(gateway)
    }

    /// What holds a member that nothing else holds. Gates come last: they are asked only for whom there is room.
    pub fn brake(&mut self, now: SiteTime, gateway: &'s Gateway, offered: bool) -> Option<WaitingReason> {
        let load = if offered { self.load.without_one() } else { self.load };
        brake::caps(self.state, self.rollout, load)
            .or_else(|| self.groups.as_mut()?.brake(gateway, offered))
            .or_else(|| brake::slots(self.state, load))
            .or_else(|| gate::brake(self.state, now, self.rollout, &gateway.spec.controller_id))
    }

    /// The gateway is offered its update.
    pub fn take(&mut self, gateway: &'s Gateway) {
        self.load = self.load.with_one();
        if let Some(groups) = &mut self.groups {
            groups.take(gateway);
        }
    }
}
