//! What a rollout would do, in which order, before anything is offered: worked out from the state as it is, or as it would
//! be with some objects declared. Nothing of it is a decision.

use std::collections::BTreeMap;

use super::approval::{self, is_approved};
use super::brake::{self, Brakes, Load};
use super::draft::Draft;
use super::state::{Frozen, Member, Rollout, State, Step, Wave};
use super::{deal as waves_of, declare, guard, members, target, window};
use crate::model::{
    ControllerId, DeclaredBy, Identity, Intent, Now, RolloutId, SiteTime, SkippedReason, WaitingReason,
};

/// What a rollout would do.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan<'s> {
    /// The rollout.
    pub rollout: &'s Rollout,
    /// So many members, joiners not counted.
    pub total: u32,
    /// What holds it as a whole.
    pub halt: Option<WaitingReason>,
    /// So many members may be under way at once, and so many are.
    pub in_flight: (u32, u32),
    /// So many failures in total stop it.
    pub max_failures: u32,
    /// Its waves, in order.
    pub waves: Vec<PlannedWave<'s>>,
    /// Who follows after the last wave.
    pub joiners: Vec<Planned<'s>>,
    /// Older rollouts of the same artifact, and how many of their gateways it takes over.
    pub takes_over: Vec<(&'s Identity, u32)>,
}

/// A wave.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedWave<'s> {
    /// As it is frozen, or as it would be.
    pub wave: Wave,
    /// It opens only once a person approves it, and nobody has.
    pub needs_approval: bool,
    /// So many failures in it stop the rollout.
    pub max_failures: u32,
    /// Its members, in the order in which they are offered.
    pub members: Vec<Planned<'s>>,
}

/// A member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned<'s> {
    /// Its gateway.
    pub gateway: &'s ControllerId,
    /// Where it stands.
    pub step: Step,
    /// Of one that waits: what holds it now; nothing: it is offered at once, as far as there is room.
    pub holds: Option<WaitingReason>,
    /// And what would hold it, were its wave open.
    pub then: Option<WaitingReason>,
    /// It needs nothing from this rollout.
    pub skip: Option<SkippedReason>,
}

/// What a rollout would do.
pub fn plan(state: &State, id: RolloutId, now: SiteTime) -> Option<Plan<'_>> {
    let rollout = state.rollouts.get(&id)?;
    let (Frozen { total, waves, .. }, of_wave) = waves(state, rollout);
    let strategy = &rollout.spec.strategy;
    // every wave open: what would still hold a member then?
    let all_open = waves.iter().map(|wave| Wave { opened_at: Some(now), ..wave.clone() }).collect();
    let mut opened = Rollout {
        frozen: Some(Frozen { total, waves: all_open, rollback: false }),
        ready_at: Some(now),
        ..rollout.clone()
    };
    for (gateway, at) in &of_wave {
        if let Some(member) = opened.members.get_mut(*gateway) {
            member.wave = *at;
        }
    }
    let no_file = || (!state.has_files(rollout)).then_some(WaitingReason::ArtifactNotVerified);
    let halt = brake::halt(state, rollout).or_else(no_file);
    let brakes = Brakes::of(state, now, (id, &opened));
    let planned = |gateway: &'_ ControllerId, gate: Option<WaitingReason>| -> Option<Planned<'_>> {
        let (gateway, member) = rollout.members.get_key_value(gateway)?;
        let then = state.gateways.get(gateway).zip(opened.members.get(gateway));
        let then = then.and_then(|(gateway, member)| brakes.own(gateway, member));
        Some(judged(state, rollout, (gateway, member), (halt, gate, then)))
    };
    let gates: Vec<_> = (0..waves.len()).map(|at| gate(rollout, &waves, at)).collect();
    let mut planned_waves = Vec::new();
    for ((at, wave), gate) in (0_u16..).zip(waves).zip(gates) {
        let members = of_wave.iter().filter(|(_, wave)| *wave == Some(at)).filter_map(|(id, _)| planned(id, gate));
        planned_waves.push(PlannedWave {
            needs_approval: wave.opened_at.is_none() && !is_approved(rollout, &wave),
            max_failures: strategy.max_failures.of(wave.size),
            members: members.collect(),
            wave,
        });
    }
    let turn = rollout.ready_at.is_none().then_some(WaitingReason::WaveNotOpen);
    let joiners = of_wave.iter().filter(|(_, wave)| wave.is_none());
    let joiners = joiners.filter_map(|(gateway, _)| planned(gateway, turn)).collect();
    Some(Plan {
        rollout,
        total,
        halt,
        in_flight: (strategy.max_in_flight.of(total), Load::of(state, id).in_flight),
        max_failures: strategy.max_failures.of(total),
        waves: planned_waves,
        joiners,
        takes_over: takes_over(state, rollout),
    })
}

/// The plan as it is frozen, or as it would be, and the wave of each member in the order in which they are offered.
fn waves<'s>(state: &State, rollout: &'s Rollout) -> (Frozen, Vec<(&'s ControllerId, Option<u16>)>) {
    let members = rollout.in_order().into_iter();
    if let Some(frozen) = &rollout.frozen {
        return (frozen.clone(), members.map(|(id, member)| (id, member.wave)).collect());
    }
    let (drawn, places) = waves_of::draw_up(state, rollout);
    let places: BTreeMap<_, _> = places.into_iter().collect();
    (drawn, members.map(|(id, _)| (id, places.get(id).copied())).collect())
}

/// What keeps a wave from being open: nothing, of the first before the freeze, if nobody has to approve it.
fn gate(rollout: &Rollout, waves: &[Wave], at: usize) -> Option<WaitingReason> {
    let wave = waves.get(at)?;
    let opens = rollout.frozen.is_none() && at == 0 && is_approved(rollout, wave);
    (wave.opened_at.is_none() && !opens).then(|| approval::gate(rollout, waves, at))
}

fn judged<'s>(
    state: &State,
    rollout: &Rollout,
    (gateway, member): (&'s ControllerId, &'s Member),
    (halt, gate, then): (Option<WaitingReason>, Option<WaitingReason>, Option<WaitingReason>),
) -> Planned<'s> {
    let Step::Waiting(stored) = member.step else {
        let skip = if let Step::Skipped(reason) = member.step { Some(reason) } else { None };
        return Planned { gateway, step: member.step, holds: None, then: None, skip };
    };
    let name = &rollout.spec.artifact.key.name;
    let gateway_of = state.gateways.get(gateway);
    let version = gateway_of.and_then(|gateway| state.settings.version_text(&gateway.attributes, name));
    let skip = match () {
        () if rollout.frozen.is_none() && target::choose(state, rollout, gateway).is_none() => {
            Some(SkippedReason::NoVariant)
        }
        () if member.reverting => None,
        () if rollout.has_target(member, version) => Some(SkippedReason::AlreadyInstalled),
        () => guard::refuses(rollout, member, version).then_some(SkippedReason::DowngradeRefused),
    };
    let room = stored.is_for_room().then_some(stored);
    let holds = [halt, gate, then].into_iter().flatten().min().or(room);
    Planned { gateway, step: member.step, holds, then: then.filter(|then| Some(*then) != holds), skip }
}

fn takes_over<'s>(state: &'s State, rollout: &Rollout) -> Vec<(&'s Identity, u32)> {
    let name = &rollout.spec.artifact.key.name;
    let older = |other: &&Rollout| {
        other.arrival < rollout.arrival && other.spec.artifact.key.name == *name && other.identity != rollout.identity
    };
    let taken = |(id, member): &(&ControllerId, &Member)| {
        matches!(member.step, Step::Waiting(_) | Step::Offered) && rollout.members.contains_key(*id)
    };
    let count = |other: &'s Rollout| {
        let count = other.members.iter().filter(taken).count();
        (count > 0).then(|| (&other.identity, u32::try_from(count).unwrap_or(u32::MAX)))
    };
    state.rollouts.values().filter(older).filter_map(count).collect()
}

/// The state as it would be with these objects declared by manifests, before any decision; and the rollouts concerned.
pub fn declared(state: &State, now: Now, intents: Vec<Intent>) -> (State, Vec<RolloutId>) {
    let mut state = state.clone();
    state.listed = true;
    let mut draft = Draft::new(&mut state, now);
    let mut concerned = Vec::new();
    for intent in intents {
        match intent {
            Intent::Gateway(spec) => declare::gateway(&mut draft, spec, DeclaredBy::Manifest),
            // it has no part in any rollout
            Intent::Service(..) => {}
            Intent::Rollout(identity, spec) => {
                concerned.push(declare::rollout(&mut draft, identity, *spec, DeclaredBy::Manifest));
            }
        }
    }
    window::look(&mut draft);
    for id in draft.state.rollouts.keys().copied().collect::<Vec<_>>() {
        let before = draft.state.rollouts.get(&id).map(|rollout| rollout.members.len());
        members::sync(&mut draft, id);
        let after = draft.state.rollouts.get(&id).map(|rollout| rollout.members.len());
        if before != after && !concerned.contains(&id) {
            concerned.push(id);
        }
    }
    (state, concerned)
}
