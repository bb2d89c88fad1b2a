//! Nothing goes wrong at the site; the gateways are as they are.

use crate::disk::{Disk, Ending};
use crate::fate::{FATES, Fate};
use crate::scene::{cast, world};

#[test]
fn twenty_good_gateways_are_all_updated() {
    let mut world = world(1, &cast(1, 20, &[Fate::Good]), Disk::memory(), Box::new(|_| Ending::Done));
    world.run();
    world.judge();
    assert!(world.devices.iter().all(|device| device.installs.len() == 1));
}

#[test]
fn every_mix_of_gateways_ends_as_it_must() {
    for seed in 0..30 {
        let mut world = world(seed, &cast(seed, 30, FATES), Disk::memory(), Box::new(|_| Ending::Done));
        world.run();
        world.judge();
    }
}

#[test]
fn big() {
    let mut world = world(3, &cast(3, 500, FATES), Disk::memory(), Box::new(|_| Ending::Done));
    let t = std::time::Instant::now();
    world.commit_takes = 1_000..5_000;
    world.slots = 100;
    world.run();
    world.judge();
    println!("{} commits {} virtual, {:?}", world.commits, world.now, t.elapsed());
}
