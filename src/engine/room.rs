//! Room: whether there is a place for one more, of the rollout, of the site, of its line, and among the downloads. Decided at
//! the offer, and again at the fetch.

use super::brake::{self, Load};
use super::gate;
use super::spread::Groups;
use super::state::{Rollout, State};
use crate::model::{ControllerId, RolloutId, SiteTime, WaitingReason};

/// What is under way, as one rollout must look at it. Counted once, and kept up while it offers.
#[derive(Debug)]
pub(super) struct Room {
    load: Load,
    groups: Option<Groups>,
}

impl WaitingReason {
    /// Only for room, or for what is asked once there is room: all else is out of the way.
    pub(super) fn is_for_room(self) -> bool {
        matches!(self, Self::MaxInFlight | Self::Spread | Self::MinHealthy | Self::DownloadSlot | Self::Gate)
    }
}

impl Room {
    pub fn of(state: &State, id: RolloutId) -> Self {
        let groups = state.rollouts.get(&id).and_then(|rollout| Groups::of(state, rollout));
        Self { load: Load::of(state, id), groups }
    }

    /// What holds a member that nothing else holds. Gates come last: they are asked only for whom there is room.
    pub fn brake(
        &self,
        state: &State,
        now: SiteTime,
        rollout: &Rollout,
        id: &ControllerId,
        offered: bool,
    ) -> Option<WaitingReason> {
        let load = if offered { self.load.without_one() } else { self.load };
        brake::caps(state, rollout, load)
            .or_else(|| self.groups.as_ref()?.brake(state, id, offered))
            .or_else(|| brake::slots(state, load))
            .or_else(|| gate::brake(state, now, rollout, id))
    }

    /// The gateway was offered its update.
    pub fn take(&mut self, state: &State, id: &ControllerId) {
        self.load = self.load.with_one();
        if let Some(groups) = &mut self.groups {
            groups.take(state, id);
        }
    }
}
