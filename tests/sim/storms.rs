//! Crashes at random, power cuts that lose unsynced writes, full disks and failed fsyncs, again and again in one rollout.

use lamplighter::world::{Ending, Endings, Fault};

use crate::disk;
use crate::fate::FATES;
use crate::judge::{judge, run};
use crate::scene::{cast, wide_world, world};

/// About one commit in so many ends badly.
pub fn storm(seed: u64, one_in: u64) -> Endings {
    let mut random = fastrand::Rng::with_seed(seed ^ 0x5707);
    Box::new(move |_| {
        if random.u64(0..one_in) > 0 {
            return Ending::Done;
        }
        // a commit has about this many writes and syncs
        let write = random.u64(0..10);
        match random.u8(0..6) {
            0 => Ending::CrashBefore,
            1 => Ending::CrashAfter,
            2 => Ending::Fails(write, Fault::NoSpace),
            3 => Ending::Fails(write, Fault::Sync),
            4 => Ending::Fails(write, Fault::Io),
            _ => Ending::PowerCut(write, random.u64(..)),
        }
    })
}

fn five_hundred(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let mut world = wide_world(seed, &cast(seed, 500, FATES), disk::memory(), storm(seed, 30));
        // a slow disk: many events share a commit
        world.commit_takes = 3_000..9_000;
        run(&mut world);
        judge(&world);
        assert!(world.crashes > 2 && world.failed_commits > 0, "{} and {}", world.crashes, world.failed_commits);
    }
}

#[test]
fn five_hundred_gateways_end_as_they_must_through_any_storm_seeds_0_to_4() {
    five_hundred(0..5);
}

#[test]
fn five_hundred_gateways_end_as_they_must_through_any_storm_seeds_5_to_9() {
    five_hundred(5..10);
}

#[test]
fn five_hundred_gateways_end_as_they_must_through_any_storm_seeds_10_to_14() {
    five_hundred(10..15);
}

#[test]
fn five_hundred_gateways_end_as_they_must_through_any_storm_seeds_15_to_19() {
    five_hundred(15..20);
}

#[test]
fn a_store_that_is_real_throughout_survives_the_same_storm() {
    let mut world = world(77, &cast(77, 25, FATES), disk::real(), storm(77, 12));
    run(&mut world);
    judge(&world);
    assert!(world.crashes > 2 && world.failed_commits > 2, "{} and {}", world.crashes, world.failed_commits);
}

#[test]
fn small_fleets_in_worse_storms() {
    for seed in 100..110 {
        let mut world = world(seed, &cast(seed, 15, FATES), disk::memory(), storm(seed, 8));
        run(&mut world);
        judge(&world);
    }
}
