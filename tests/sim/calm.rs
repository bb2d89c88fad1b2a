//! Nothing goes wrong at the site; the gateways are as they are.

use crate::disk::{Disk, Ending};
use crate::fate::{Character, FATES, Fate};
use crate::fleet::{self, NEW, gateway, in_order, listing};
use crate::world::World;

/// The first in order are good, so that the first wave is proven; the others by fate.
pub fn cast(seed: u64, count: usize, fates: &[Fate]) -> Vec<(lamplighter::model::ControllerId, Character)> {
    let mut random = fastrand::Rng::with_seed(seed);
    let ids = in_order(count, NEW).into_iter().enumerate();
    ids.map(|(at, id)| {
        let fate = if at == 0 { Fate::Good } else { *random.choice(fates).unwrap() };
        (id, Character::seeded(&mut random, fate))
    })
    .collect()
}

pub fn world(seed: u64, count: usize, fates: &[Fate], disk: Disk, endings: crate::world::Endings) -> World {
    let cast = cast(seed, count, fates);
    let gateways: Vec<_> = cast.iter().map(|(id, _)| gateway(id)).collect();
    let declared = listing(&gateways, &[("to-2", fleet::rollout(NEW))]);
    World::new(seed, &cast, disk, vec![(0, declared)], endings)
}

#[test]
fn twenty_good_gateways_are_all_updated() {
    let mut world = world(1, 20, &[Fate::Good], Disk::memory(), Box::new(|_| Ending::Done));
    world.run();
    world.judge();
    assert!(world.devices.iter().all(|device| device.installs.len() == 1));
}

#[test]
fn every_mix_of_gateways_ends_as_it_must() {
    for seed in 0..30 {
        let mut world = world(seed, 30, FATES, Disk::memory(), Box::new(|_| Ending::Done));
        world.run();
        world.judge();
    }
}
