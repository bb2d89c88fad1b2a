//! Who is in which wave: decided when the members are frozen, and again when the waves to come are edited.

use std::borrow::Cow;

use super::draft::Draft;
use super::state::{Frozen, Gateway, Member, Rollout, State, Wave};
use super::target::choose;
use crate::model::{Amount, ControllerId, FailureAction, RolloutId, RolloutSpec, Selector, WaveSpec, What};

/// The waves that a spec asks for, with the one that takes who is left.
fn asked(spec: &RolloutSpec) -> impl Iterator<Item = (Cow<'_, str>, &WaveSpec)> {
    let waves = spec.strategy.waves.iter().enumerate().map(|(at, wave)| (wave.name_at(at), wave));
    waves.chain([(WaveSpec::REST_NAME.into(), &WaveSpec::REST)])
}

fn wave(name: Cow<'_, str>, spec: &WaveSpec, size: u32) -> Wave {
    Wave {
        name: name.into_owned(),
        size,
        asked: Some(spec.size),
        selector: spec.selector.clone(),
        approval: spec.approval,
        min_updated: spec.min_updated,
        soak: spec.soak,
        opened_at: None,
        proven_at: None,
    }
}

/// Somebody to be given a place.
struct Seat<'s> {
    id: &'s ControllerId,
    gateway: Option<&'s Gateway>,
    /// The index of its wave among those that are dealt.
    place: Option<u16>,
    /// Its wave has opened, so that it is out of the game.
    taken: bool,
}

impl Seat<'_> {
    fn is_meant(&self, selector: Option<&Selector>) -> bool {
        let selects = |selector: &Selector| {
            self.gateway.is_some_and(|gateway| selector.selects(&gateway.spec.labels, &gateway.attributes))
        };
        selector.is_none_or(selects)
    }
}

/// The members in the order of their hashes; those whose wave is one of the first so many are taken.
fn seats<'s>(state: &'s State, rollout: &'s Rollout, opened: usize) -> Vec<Seat<'s>> {
    // whom no file is for is in no wave
    let has_place = |id: &ControllerId, member: &Member| match rollout.frozen {
        Some(_) => member.wave.is_some(),
        None => choose(state, rollout, id).is_some(),
    };
    let members = rollout.members.iter().filter(|(id, member)| !member.joiner && has_place(id, member));
    let taken = |wave: Option<u16>| wave.is_some_and(|wave| usize::from(wave) < opened);
    let mut seats: Vec<_> = members
        .map(|(id, member)| {
            let seat = Seat { id, gateway: state.gateways.get(id), place: None, taken: taken(member.wave) };
            (member.key, seat)
        })
        .collect();
    seats.sort_by_key(|(key, seat)| (*key, seat.id));
    seats.into_iter().map(|(_, seat)| seat).collect()
}

/// Deals the members out, wave by wave: each takes those whom it means, in their order, up to its size. Once nobody is left
/// there are no more waves. One that means nobody at all stays, with no member: it must not just be passed over.
fn deal<'a>(
    seats: &mut [Seat<'_>],
    waves: impl Iterator<Item = (Cow<'a, str>, &'a WaveSpec)>,
    total: u32,
) -> Vec<Wave> {
    let mut dealt = Vec::new();
    for (name, spec) in waves {
        let place = u16::try_from(dealt.len()).ok();
        let mut size = 0;
        let free = seats.iter_mut().filter(|seat| !seat.taken && seat.place.is_none());
        for seat in free.filter(|seat| seat.is_meant(spec.selector.as_ref())) {
            if size >= spec.size.of(total) {
                break;
            }
            (seat.place, size) = (place, size + 1);
        }
        let anybody = || seats.iter().any(|seat| seat.is_meant(spec.selector.as_ref()));
        if size > 0 || (spec.selector.is_some() && !anybody()) {
            dealt.push(wave(name, spec, size));
        }
    }
    dealt
}

/// The plan for members that are not frozen yet: the waves, and each member's.
pub(super) fn draw_up(state: &State, rollout: &Rollout) -> (Frozen, Vec<(ControllerId, u16)>) {
    let mut seats = seats(state, rollout, 0);
    let total = u32::try_from(seats.len()).unwrap_or(u32::MAX);
    let waves = deal(&mut seats, asked(&rollout.spec), total);
    let places = seats.iter().filter_map(|seat| Some((seat.id.clone(), seat.place?))).collect();
    let rollback = rollout.spec.strategy.failure_action == FailureAction::Rollback;
    (Frozen { total, waves, rollback }, places)
}

/// Why a wave that has not opened never could get a member or be proven.
pub(super) fn obstacle(waves: &[Wave]) -> Option<String> {
    waves.iter().filter(|wave| wave.opened_at.is_none()).find_map(|wave| {
        let Wave { name, size, min_updated, .. } = wave;
        match min_updated {
            _ if *size == 0 => Some(format!("no member is what the selector of wave {name} asks for")),
            Amount::Count(count) if count > size => {
                let has = if *size == 1 { "1 member" } else { &format!("{size} members") };
                Some(format!("wave {name} has {has}, and its minUpdated asks for {count}"))
            }
            _ => None,
        }
    })
}

/// The waves of a spec were edited: those that have not opened follow. Their members are dealt out again only if it is said
/// otherwise who is in them, so that what gateways report by now moves nobody else.
pub(super) fn edited(draft: &mut Draft, id: RolloutId) {
    let Some(rollout) = draft.state.rollouts.get(&id) else { return };
    let Some(frozen) = &rollout.frozen else { return };
    let opened: Vec<_> = frozen.waves.iter().filter(|wave| wave.opened_at.is_some()).cloned().collect();
    let spec = rollout.spec.clone();
    let pending = || asked(&spec).filter(|(name, _)| !opened.iter().any(|wave| wave.name == *name));
    let same = |(wave, (name, spec)): (&Wave, (Cow<str>, &WaveSpec))| {
        wave.name == name && wave.asked == Some(spec.size) && wave.selector == spec.selector
    };
    let unopened = frozen.waves.get(opened.len()..).unwrap_or_default();
    let mut waves = opened.clone();
    let mut places = Vec::new();
    if unopened.len() <= pending().count() && unopened.iter().zip(pending()).all(same) {
        waves.extend(unopened.iter().zip(pending()).map(|(before, (name, spec))| wave(name, spec, before.size)));
    } else {
        let mut seats = seats(draft.state, rollout, opened.len());
        if seats.iter().any(|seat| !seat.taken) {
            waves.extend(deal(&mut seats, pending(), frozen.total));
        }
        let first = u16::try_from(opened.len()).unwrap_or(u16::MAX);
        let place = |seat: &Seat| Some((seat.id.clone(), seat.place?.saturating_add(first)));
        places.extend(seats.iter().filter_map(place));
    }
    place(draft, id, places);
    draft.edit_rollout(id, |rollout| {
        if let Some(frozen) = &mut rollout.frozen {
            frozen.waves = waves;
        }
    });
    if let Some(ignored) = draft.state.rollouts.get(&id).and_then(ignored) {
        draft.note_rollout(What::ChangeIgnored, id, ignored);
    }
}

/// Puts members into their waves.
pub(super) fn place(draft: &mut Draft, id: RolloutId, places: Vec<(ControllerId, u16)>) {
    for (gateway, wave) in places {
        draft.edit_member(id, &gateway, |member| member.wave = Some(wave));
    }
}

/// What the spec says of waves that have opened and are not as it says: it came too late.
pub fn ignored(rollout: &Rollout) -> Option<String> {
    let frozen = rollout.frozen.as_ref()?;
    let late = frozen.waves.iter().filter(|wave| wave.opened_at.is_some()).filter_map(|wave| {
        let size = wave.asked?;
        let Some((_, spec)) = asked(&rollout.spec).find(|(name, _)| *name == wave.name) else {
            return Some(format!("wave {} has opened and stays as it was", wave.name));
        };
        let fields = [
            ("size", size != spec.size),
            ("selector", wave.selector != spec.selector),
            ("soak", wave.soak != spec.soak),
            ("approval", wave.approval != spec.approval),
            ("minUpdated", wave.min_updated != spec.min_updated),
        ];
        let changed: Vec<_> = fields.iter().filter_map(|(field, differs)| differs.then_some(*field)).collect();
        let late = !changed.is_empty();
        late.then(|| format!("wave {} has opened, too late for another {}", wave.name, changed.join(" and ")))
    });
    let late: Vec<_> = late.collect();
    (!late.is_empty()).then(|| late.join("; "))
}
