//! A rollout to all gateways of a hall, as most tests play it.

use lamplighter::model::ControllerId;

use crate::disk::Disk;
use crate::fate::{Character, Fate};
use crate::fleet::{self, NEW, gateway, in_order, listing};
use crate::world::{Endings, World};

/// The first in order are good, so that the first wave is proven; the others by fate.
pub fn cast(seed: u64, count: usize, fates: &[Fate]) -> Vec<(ControllerId, Character)> {
    let mut random = fastrand::Rng::with_seed(seed);
    let ids = in_order(count, NEW).into_iter().enumerate();
    ids.map(|(at, id)| {
        let fate = if at == 0 { Fate::Good } else { *random.choice(fates).unwrap() };
        (id, Character::seeded(&mut random, fate))
    })
    .collect()
}

/// So that a gateway whose last word is lost has another way to say it.
pub fn everybody_reports(cast: &mut [(ControllerId, Character)]) {
    for (_, character) in cast {
        character.reports = true;
    }
}

pub fn world(seed: u64, cast: &[(ControllerId, Character)], disk: Disk, endings: Endings) -> World {
    let gateways: Vec<_> = cast.iter().map(|(id, _)| gateway(id)).collect();
    let declared = listing(&gateways, &[("to-2", fleet::rollout(NEW))]);
    World::new(seed, cast, disk, vec![(0, declared)], endings)
}
