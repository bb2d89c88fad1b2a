//! Nothing goes wrong at the site; the gateways are as they are.

use lamplighter::world::Ending;

use crate::disk;
use crate::fate::{FATES, Fate};
use crate::judge::{judge, run};
use crate::scene::{cast, world};

#[test]
fn twenty_good_gateways_are_all_updated() {
    let mut world = world(1, &cast(1, 20, &[Fate::Good]), disk::memory(), Box::new(|_| Ending::Done));
    run(&mut world);
    judge(&world);
    assert!(world.devices.iter().all(|device| device.installs.len() == 1));
}

#[test]
fn every_mix_of_gateways_ends_as_it_must() {
    for seed in 0..30 {
        let mut world = world(seed, &cast(seed, 30, FATES), disk::memory(), Box::new(|_| Ending::Done));
        run(&mut world);
        judge(&world);
    }
}
