//! What the judge sees in the field itself: who is dead, and which gates are open. By that it judges spread and gates.

use std::collections::BTreeSet;

use super::{Oracle, is_in_flight};
use crate::model::{ControllerId, GateKey, RolloutId};
use crate::store::{GatewayRecord, MemberRecord};
use crate::world::character::Fate;
use crate::world::device::Device;
use crate::world::play::World;

/// The longest that a gateway stays away by itself, rhu after an error, in milliseconds.
const LONGEST_PAUSE: u64 = 301_000;

/// How it really is out there.
#[derive(Debug, Default)]
pub struct Field {
    /// Gateways that have been dead for so long that the site cannot take them for healthy.
    dead: BTreeSet<ControllerId>,
    /// Gates that the site may take for open.
    open: BTreeSet<GateKey>,
}

impl Device {
    /// It lives, or has been dead since when?
    pub(in crate::world) fn note_life(&mut self, now: u64) {
        self.dead_since = self.is_dark().then(|| self.dead_since.unwrap_or(now));
    }
}

impl World {
    pub(in crate::world) fn field(&self) -> Field {
        let told = u64::try_from(self.setting.engine.poll_interval.as_millis()).unwrap_or(u64::MAX);
        // two of its intervals, each a little longer than told, or as long as a client stays away
        let known_after = 2 * (told + told / 8 + 2_000).max(LONGEST_PAUSE) + 10_000;
        let never = |device: &Device| device.role.character.fate == Fate::NeverPolls;
        let long = |device: &Device| device.dead_since.is_some_and(|since| since + known_after < self.now);
        let dead = self.devices.iter().filter(|device| never(device) || long(device));
        Field { dead: dead.map(|device| device.role.id.clone()).collect(), open: self.plant.open(self.now) }
    }
}

impl Oracle {
    /// Is there anything for which the field matters?
    pub(in crate::world) fn looks_at_the_field(&self) -> bool {
        let mut specs = self.committed.rollouts.values().map(|rollout| &rollout.spec);
        specs.any(|spec| spec.strategy.spread.is_some() || !spec.gates.is_empty())
    }

    /// How a gateway that is given an order takes too many from its line or pair.
    pub(super) fn against_spread(&self, rollout: RolloutId, id: &ControllerId) -> Option<String> {
        let spread = self.committed.rollouts.get(&rollout)?.spec.strategy.spread.as_ref()?;
        let value = |gateway: &'_ GatewayRecord| gateway.spec.labels.get(&spread.label).map(ToString::to_string);
        let Some(group) = self.committed.gateways.get(id).and_then(value) else {
            return Some(format!("without a label {}", spread.label));
        };
        let of_group = |(_, gateway): &(&ControllerId, &GatewayRecord)| value(gateway).as_ref() == Some(&group);
        let all: BTreeSet<&ControllerId> =
            self.committed.gateways.iter().filter(of_group).filter(|(_, g)| g.listed).map(|(id, _)| id).collect();
        let size = u32::try_from(all.len()).unwrap_or(u32::MAX);
        let members = || self.committed.members.iter().filter(|((_, id), _)| all.contains(id));
        let flying = members().filter(|(_, member)| is_in_flight(member)).count();
        let most = spread.max_in_flight.map(|most| most.of(size));
        if let Some(most) = most.filter(|most| flying > usize::try_from(*most).unwrap_or(usize::MAX)) {
            return Some(format!("as one of {flying} of {} {group}, {most} may be", spread.label));
        }
        let at_work: BTreeSet<_> = members().filter(|(_, member)| is_at_work(member)).map(|((_, id), _)| id).collect();
        let stays = |other: &&&ControllerId| {
            let free = !at_work.contains(**other) && !self.field.dead.contains(**other);
            **other != id && free && !self.held.contains(**other)
        };
        let stay = all.iter().filter(stays).count();
        let least = spread.min_healthy.map(|least| least.of(size));
        let least = least.filter(|least| stay < usize::try_from(*least).unwrap_or(usize::MAX))?;
        Some(format!("and leaves {stay} of {} {group}, {least} must stay", spread.label))
    }

    /// Which gate was not open for a gateway that is given an order.
    pub(super) fn against_a_gate(&self, rollout: RolloutId, id: &ControllerId) -> Option<String> {
        let rollout = self.committed.rollouts.get(&rollout)?;
        let gateway = &self.committed.gateways.get(id)?.spec;
        rollout.spec.gates.iter().find_map(|gate| match gate.key(gateway) {
            Ok(key) if self.field.open.contains(&key) => None,
            Ok(key) => Some(format!("{key} was not open")),
            Err(why) => Some(format!("a gate cannot be asked: {why}")),
        })
    }
}

/// It may be installing, or is about to.
fn is_at_work(member: &MemberRecord) -> bool {
    is_in_flight(member) || member.action.as_ref().is_some_and(|action| action.open && action.ever_fetched)
}

#[cfg(test)]
mod tests;
