//! A rollout to all gateways of a hall, as most tests play it.

use lamplighter::model::{ControllerId, Listing};
use lamplighter::world::{Deed, Disk, Endings, World};

use crate::fate::{Character, Fate, seeded};
use crate::fleet::{self, NEW, gateway, in_order, listing};

type Cast = [(ControllerId, Character)];

/// The first in order are good, so that the first wave is proven; the others by fate.
pub fn cast(seed: u64, count: usize, fates: &[Fate]) -> Vec<(ControllerId, Character)> {
    let mut random = fastrand::Rng::with_seed(seed);
    let ids = in_order(count, NEW).into_iter().enumerate();
    ids.map(|(at, id)| {
        let fate = if at == 0 { Fate::Good } else { *random.choice(fates).unwrap() };
        (id, seeded(&mut random, fate))
    })
    .collect()
}

/// So that a gateway whose last word is lost has another way to say it.
pub fn everybody_reports(cast: &mut [(ControllerId, Character)]) {
    for (_, character) in cast {
        character.reports = true;
    }
}

pub fn world(seed: u64, cast: &Cast, disk: Box<dyn Disk>, endings: Endings) -> World {
    set_world(seed, cast, fleet::SLOTS, disk, endings)
}

/// A world whose site lets so many download at once that all can.
pub fn wide_world(seed: u64, cast: &Cast, disk: Box<dyn Disk>, endings: Endings) -> World {
    set_world(seed, cast, 100, disk, endings)
}

/// A world in which people declare things at their times.
pub fn declared_world(
    seed: u64,
    cast: &Cast,
    disk: Box<dyn Disk>,
    declarations: Vec<(u64, Listing)>,
    endings: Endings,
) -> World {
    let mut world = empty_world(seed, cast, fleet::SLOTS, disk, endings);
    for (at, listing) in declarations {
        world.plan(at, Deed::Declare(listing));
    }
    world
}

fn set_world(seed: u64, cast: &Cast, slots: u32, disk: Box<dyn Disk>, endings: Endings) -> World {
    let gateways: Vec<_> = cast.iter().map(|(id, _)| gateway(id)).collect();
    let declared = listing(&gateways, &[("to-2", fleet::rollout(NEW))]);
    let mut world = empty_world(seed, cast, slots, disk, endings);
    world.plan(0, Deed::Declare(declared));
    world
}

fn empty_world(seed: u64, cast: &Cast, slots: u32, disk: Box<dyn Disk>, endings: Endings) -> World {
    let roles = cast.iter().map(|(id, character)| fleet::role(id, *character)).collect();
    let mut world = World::new(seed, roles, fleet::setting(slots), disk, endings);
    world.trail = Some(Vec::new());
    world
}
