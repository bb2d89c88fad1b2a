//! Spread: per value of a label, how many gateways are touched at once, and how many stay healthy meanwhile.
//!
//! `maxInFlight` counts members of all rollouts between offer and end: a line is a line, whoever updates it. `minHealthy`
//! counts the *others* that are healthy and not at work themselves, so that two links are never shown to the two of a
//! pair. A gateway that is itself not healthy takes nothing away from them: it may be updated as long as enough others are.

use std::collections::{BTreeMap, BTreeSet};

use super::health;
use super::state::{Gateway, Rollout, State, Step};
use crate::model::{ControllerId, Spread, WaitingReason};

/// The gateways with one value of the label.
#[derive(Debug, Clone, Copy, Default)]
struct Group {
    /// How many are declared.
    size: u32,
    /// Members of any rollout between offer and end.
    in_flight: u32,
    /// Healthy ones that are not at work.
    fit: u32,
    /// The same with those that were not heard of since the start: they hold an offer back, and take none away.
    perhaps: u32,
}

/// How full groups are, for one rollout. They are counted when one is first asked for, and kept up while the rollout offers.
#[derive(Debug)]
pub(super) struct Groups<'s> {
    state: &'s State,
    spread: &'s Spread,
    by_value: BTreeMap<&'s str, Group>,
    at_work: BTreeSet<&'s ControllerId>,
    in_flight: Vec<&'s Gateway>,
}

impl<'s> Groups<'s> {
    /// None for a rollout without spread, which then costs nothing.
    pub fn of(state: &'s State, rollout: &'s Rollout) -> Option<Self> {
        let spread = rollout.spec.strategy.spread.as_ref()?;
        let (mut at_work, mut in_flight) = (BTreeSet::new(), Vec::new());
        let members = state.rollouts.values().flat_map(|rollout| &rollout.members);
        for (id, member) in members.filter(|(_, member)| health::is_at_work(member)) {
            at_work.insert(id);
            in_flight.extend(state.gateways.get(id).filter(|_| member.step.is_in_flight()));
        }
        Some(Self { state, spread, by_value: BTreeMap::new(), at_work, in_flight })
    }

    /// Counts all groups in one walk, for the first who asks for one.
    fn know(&mut self) {
        if !self.by_value.is_empty() {
            return;
        }
        let label = &self.spread.label;
        let value = |gateway: &'s Gateway| gateway.spec.labels.get(label);
        let mut groups = BTreeMap::<&str, Group>::new();
        for gateway in self.state.gateways.values() {
            let Some(value) = value(gateway) else { continue };
            let group = groups.entry(value).or_default();
            let (fit, perhaps) = counts(self.state, gateway, false);
            group.size += u32::from(gateway.listed);
            group.fit += u32::from(fit);
            group.perhaps += u32::from(perhaps);
        }
        // few of all are at work, so that only those are looked up
        for gateway in self.at_work.iter().filter_map(|id| self.state.gateways.get(*id)) {
            if let Some(group) = value(gateway).and_then(|value| groups.get_mut(value)) {
                group.lose(counts(self.state, gateway, false));
            }
        }
        for gateway in &self.in_flight {
            if let Some(group) = value(gateway).and_then(|value| groups.get_mut(value)) {
                group.in_flight += 1;
            }
        }
        self.by_value = groups;
    }

    fn group(&mut self, gateway: &'s Gateway) -> Option<Group> {
        let value = gateway.spec.labels.get(&self.spread.label)?;
        self.know();
        self.by_value.get(value).copied()
    }

    /// Why a gateway may not be offered its update; or may not fetch it, if its `offer` is among those counted.
    pub fn brake(&mut self, gateway: &'s Gateway, offered: bool) -> Option<WaitingReason> {
        let Some(group) = self.group(gateway) else { return Some(WaitingReason::Spread) };
        let in_flight = group.in_flight.saturating_sub(u32::from(offered));
        if self.spread.max_in_flight.is_some_and(|most| in_flight >= most.of(group.size)) {
            return Some(WaitingReason::Spread);
        }
        let others = self.others(gateway, group);
        self.spread.min_healthy.filter(|least| others < least.of(group.size)).map(|_| WaitingReason::MinHealthy)
    }

    /// So many are healthy and free beside a gateway.
    fn others(&self, gateway: &Gateway, group: Group) -> u32 {
        let (itself, _) = counts(self.state, gateway, self.at_work.contains(&gateway.spec.controller_id));
        group.fit.saturating_sub(u32::from(itself))
    }

    /// Why an offer may not stand any more. Whoever was not heard of since the start takes none away; the fetch decides.
    pub fn takes_back(&mut self, gateway: &'s Gateway) -> Option<WaitingReason> {
        let Some(group) = self.group(gateway) else { return Some(WaitingReason::Spread) };
        let least = self.spread.min_healthy.filter(|least| group.perhaps < least.of(group.size));
        least.map(|_| WaitingReason::MinHealthy)
    }

    /// The gateway was offered its update.
    pub fn take(&mut self, gateway: &'s Gateway) {
        let is_free = self.at_work.insert(&gateway.spec.controller_id);
        let counted = counts(self.state, gateway, !is_free);
        self.in_flight.push(gateway);
        let value = gateway.spec.labels.get(&self.spread.label);
        if let Some(group) = value.and_then(|value| self.by_value.get_mut(value)) {
            group.lose(counted);
            group.in_flight += 1;
        }
    }
}

impl Group {
    /// One that counted as healthy and free, or perhaps, is at work.
    fn lose(&mut self, (fit, perhaps): (bool, bool)) {
        self.fit = self.fit.saturating_sub(u32::from(fit));
        self.perhaps = self.perhaps.saturating_sub(u32::from(perhaps));
    }
}

/// Does a gateway count as healthy and free, and would it if it was heard of since the start?
fn counts(state: &State, gateway: &Gateway, at_work: bool) -> (bool, bool) {
    let perhaps = !at_work && health::unfit(state, gateway).is_none();
    (perhaps && gateway.heard, perhaps)
}

/// Why spread can never be met, if nothing else of a rollout can move.
pub(super) fn stuck(state: &State, rollout: &Rollout) -> Option<String> {
    let mut groups = Groups::of(state, rollout)?;
    let mut first = None;
    for (id, member) in &rollout.members {
        let Step::Waiting(reason) = member.step else {
            if member.step.is_in_flight() {
                return None;
            }
            continue;
        };
        match reason {
            WaitingReason::Spread | WaitingReason::MinHealthy => first = first.or(Some(groups.hopeless(id)?)),
            // these wait for a person or for power, which is told elsewhere
            WaitingReason::WaveNotOpen
            | WaitingReason::Held
            | WaitingReason::DuplicateIdentity
            | WaitingReason::UnknownVersion
            | WaitingReason::Offline
            | WaitingReason::Unlisted => {}
            _ => return None,
        }
    }
    first
}

impl Groups<'_> {
    /// Why a gateway can never be offered its update, however well all others are.
    fn hopeless(&mut self, id: &ControllerId) -> Option<String> {
        let gateway = self.state.gateways.get(id)?;
        let spread = self.spread;
        let Some(group) = self.group(gateway) else {
            let label = &spread.label;
            return Some(format!("{} has no label {label}; give it one", gateway.spec.name));
        };
        let least = spread.min_healthy?.of(group.size);
        let value = gateway.spec.labels.get(&spread.label).unwrap_or_default();
        (least >= group.size).then(|| {
            format!(
                "{} {value} has {}, and minHealthy wants {least} healthy beside the one that is updated; use less",
                spread.label,
                counted(group.size)
            )
        })
    }

    /// The numbers behind [`WaitingReason::Spread`] and [`WaitingReason::MinHealthy`], for a person.
    pub(super) fn numbers(&mut self, id: &ControllerId, reason: WaitingReason) -> Option<String> {
        if let Some(never) = self.hopeless(id) {
            return Some(never);
        }
        let state = self.state;
        let gateway = state.gateways.get(id)?;
        let (spread, group) = (self.spread, self.group(gateway)?);
        let value = gateway.spec.labels.get(&spread.label)?;
        let place = format!("{} {value}", spread.label);
        if reason == WaitingReason::Spread {
            let most = spread.max_in_flight?.of(group.size);
            return Some(format!("{place}: {} under way, {most} may be", counted(group.in_flight)));
        }
        let least = spread.min_healthy?.of(group.size);
        let others = self.others(gateway, group);
        let away: Vec<_> = state
            .gateways
            .iter()
            .filter(|(other, gateway)| *other != id && gateway.listed)
            .filter(|(_, gateway)| gateway.spec.labels.get(&spread.label) == Some(value))
            .filter_map(|(other, gateway)| Some(format!("{} {}", gateway.spec.name, why_not(state, other, gateway)?)))
            .take(MOST_NAMED)
            .collect();
        Some(format!("{place}: {others} others are healthy and free, {least} must be; {}", away.join(", ")))
    }
}

/// So many others are named in an explanation.
const MOST_NAMED: usize = 3;

fn why_not(state: &State, id: &ControllerId, gateway: &Gateway) -> Option<&'static str> {
    let unheard = (!gateway.heard).then_some("has not polled since the site was started");
    health::unfit(state, gateway).or_else(|| health::work(state, id)).or(unheard)
}

fn counted(count: u32) -> String {
    if count == 1 { "1 gateway".into() } else { format!("{count} gateways") }
}
