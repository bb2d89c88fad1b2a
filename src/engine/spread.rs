//! Spread: per value of a label, how many gateways are touched at once, and how many stay healthy meanwhile.
//!
//! `maxInFlight` counts members of all rollouts between offer and end: a line is a line, whoever updates it. `minHealthy`
//! counts the *others* that are healthy and not at work themselves, so that two links are never shown to the two of a
//! pair. A gateway that is itself not healthy takes nothing away from them: it may be updated as long as enough others are.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::health;
use super::state::{Gateway, Rollout, State, Step};
use crate::model::{ControllerId, RolloutSpec, Spread, WaitingReason};

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

/// How full every group is, for one rollout. Counted once and kept up while it offers.
#[derive(Debug)]
pub(super) struct Groups {
    spec: Rc<RolloutSpec>,
    by_value: BTreeMap<Box<str>, Group>,
    at_work: BTreeSet<ControllerId>,
}

impl Groups {
    /// None for a rollout without spread, which then costs nothing.
    pub fn of(state: &State, rollout: &Rollout) -> Option<Self> {
        let label = &rollout.spec.strategy.spread.as_ref()?.label;
        let mut by_value = BTreeMap::<Box<str>, Group>::new();
        let at_work = health::at_work(state);
        for (id, gateway) in &state.gateways {
            let Some(value) = gateway.spec.labels.get(label) else { continue };
            let (fit, perhaps) = counts(state, gateway, at_work.contains(id));
            let count = |group: &mut Group| {
                group.size += u32::from(gateway.listed);
                group.fit += u32::from(fit);
                group.perhaps += u32::from(perhaps);
            };
            match by_value.get_mut(value) {
                Some(group) => count(group),
                None => count(by_value.entry(value.into()).or_default()),
            }
        }
        let members = state.rollouts.values().flat_map(|rollout| &rollout.members);
        for (id, _) in members.filter(|(_, member)| member.step.is_in_flight()) {
            let value = state.gateways.get(id).and_then(|gateway| gateway.spec.labels.get(label));
            if let Some(group) = value.and_then(|value| by_value.get_mut(value)) {
                group.in_flight += 1;
            }
        }
        Some(Self { spec: rollout.spec.clone(), by_value, at_work })
    }

    fn spread(&self) -> Option<&Spread> {
        self.spec.strategy.spread.as_ref()
    }

    fn group(&self, gateway: &Gateway) -> Option<(&Spread, Group)> {
        let spread = self.spread()?;
        let value = gateway.spec.labels.get(&spread.label)?;
        Some((spread, self.by_value.get(value).copied().unwrap_or_default()))
    }

    /// Why a gateway may not be offered its update; or may not fetch it, if its `offer` is among those counted.
    pub fn brake(&self, state: &State, id: &ControllerId, offered: bool) -> Option<WaitingReason> {
        let gateway = state.gateways.get(id)?;
        let Some((spread, group)) = self.group(gateway) else { return Some(WaitingReason::Spread) };
        let in_flight = group.in_flight.saturating_sub(u32::from(offered));
        if spread.max_in_flight.is_some_and(|most| in_flight >= most.of(group.size)) {
            return Some(WaitingReason::Spread);
        }
        let (itself, _) = counts(state, gateway, self.at_work.contains(id));
        let others = group.fit.saturating_sub(u32::from(itself));
        spread.min_healthy.filter(|least| others < least.of(group.size)).map(|_| WaitingReason::MinHealthy)
    }

    /// Why an offer may not stand any more. Whoever was not heard of since the start takes none away; the fetch decides.
    fn takes_back(&self, state: &State, id: &ControllerId) -> Option<WaitingReason> {
        let gateway = state.gateways.get(id)?;
        let Some((spread, group)) = self.group(gateway) else { return Some(WaitingReason::Spread) };
        spread.min_healthy.filter(|least| group.perhaps < least.of(group.size)).map(|_| WaitingReason::MinHealthy)
    }

    /// The gateway was offered its update.
    pub fn take(&mut self, state: &State, id: &ControllerId) {
        let Some(gateway) = state.gateways.get(id) else { return };
        let (fit, perhaps) = counts(state, gateway, !self.at_work.insert(id.clone()));
        let value = self.spread().and_then(|spread| gateway.spec.labels.get(&spread.label));
        if let Some(group) = value.and_then(|value| self.by_value.get_mut(value)) {
            group.in_flight += 1;
            group.fit = group.fit.saturating_sub(u32::from(fit));
            group.perhaps = group.perhaps.saturating_sub(u32::from(perhaps));
        }
    }
}

/// Does a gateway count as healthy and free, and would it if it was heard of since the start?
fn counts(state: &State, gateway: &Gateway, at_work: bool) -> (bool, bool) {
    let perhaps = !at_work && health::unfit(state, gateway).is_none();
    (perhaps && gateway.heard, perhaps)
}

/// The first offer of a rollout that its spread takes back.
pub(super) fn taken_back(state: &State, rollout: &Rollout) -> Option<(ControllerId, WaitingReason)> {
    let mut offered = rollout.members.iter().filter(|(_, member)| member.step == Step::Offered).peekable();
    // nearly always: nothing to count for
    offered.peek()?;
    let groups = Groups::of(state, rollout)?;
    offered.find_map(|(id, _)| Some((id.clone(), groups.takes_back(state, id)?)))
}

/// Why spread can never be met, if nothing else of a rollout can move.
pub(super) fn stuck(state: &State, rollout: &Rollout) -> Option<String> {
    let groups = Groups::of(state, rollout)?;
    let mut first = None;
    for (id, member) in &rollout.members {
        let Step::Waiting(reason) = member.step else {
            if member.step.is_in_flight() {
                return None;
            }
            continue;
        };
        match reason {
            WaitingReason::Spread | WaitingReason::MinHealthy => first = first.or(Some(groups.hopeless(state, id)?)),
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

impl Groups {
    /// Why a gateway can never be offered its update, however well all others are.
    fn hopeless(&self, state: &State, id: &ControllerId) -> Option<String> {
        let gateway = state.gateways.get(id)?;
        let Some((spread, group)) = self.group(gateway) else {
            let label = &self.spread()?.label;
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
    pub(super) fn numbers(&self, state: &State, id: &ControllerId, reason: WaitingReason) -> Option<String> {
        if let Some(never) = self.hopeless(state, id) {
            return Some(never);
        }
        let gateway = state.gateways.get(id)?;
        let (spread, group) = self.group(gateway)?;
        let value = gateway.spec.labels.get(&spread.label)?;
        let place = format!("{} {value}", spread.label);
        if reason == WaitingReason::Spread {
            let most = spread.max_in_flight?.of(group.size);
            return Some(format!("{place}: {} under way, {most} may be", counted(group.in_flight)));
        }
        let least = spread.min_healthy?.of(group.size);
        let (itself, _) = counts(state, gateway, self.at_work.contains(id));
        let others = group.fit.saturating_sub(u32::from(itself));
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
