//! Who is offered the update next, of those whom nothing holds but the lack of room.

use super::room::Room;
use super::state::{Gateway, Member};
use crate::model::{ControllerId, SiteTime, WaitingReason};

/// A waiting member that no brake of its own holds.
#[derive(Debug)]
pub(super) struct Free<'s> {
    place: (bool, Option<u16>, u64),
    id: &'s ControllerId,
    gateway: &'s Gateway,
    before: WaitingReason,
}

impl<'s> Free<'s> {
    pub fn new(id: &'s ControllerId, gateway: &'s Gateway, member: &Member, before: WaitingReason) -> Self {
        Self { place: member.place(), id, gateway, before }
    }
}

/// Who is offered the update, in order, and who waits for another reason than before.
#[derive(Debug, Default)]
pub(super) struct Choice {
    pub offers: Vec<ControllerId>,
    pub reasons: Vec<(ControllerId, WaitingReason)>,
}

impl Choice {
    /// This one waits for that.
    pub fn waits(&mut self, id: &ControllerId, before: WaitingReason, reason: WaitingReason) {
        if reason != before {
            self.reasons.push((id.clone(), reason));
        }
    }

    /// Goes through the free ones in their order, as long as there is room for anybody.
    pub fn among<'s>(&mut self, mut free: Vec<Free<'s>>, mut room: Room<'s>, now: SiteTime) {
        if room.full().is_none() {
            free.sort_unstable_by(|one, other| (one.place, one.id).cmp(&(other.place, other.id)));
        }
        for Free { id, gateway, before, .. } in free {
            match room.full().or_else(|| room.brake(now, gateway, false)) {
                Some(reason) => self.waits(id, before, reason),
                None => {
                    room.take(gateway);
                    self.offers.push(id.clone());
                }
            }
        }
    }
}
