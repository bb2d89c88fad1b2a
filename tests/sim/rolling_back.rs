//! A rollout that fails is taken back while the process dies at every single commit: nobody is left on the new version, and
//! nobody installs what is not for it.

use lamplighter::engine::Step;
use lamplighter::model::{Amount, ControllerId, FailureAction, RolloutSpec, Selector};
use lamplighter::world::{Ending, Endings, World};

use crate::disk;
use crate::fate::{Character, Fate};
use crate::fleet::{self, NEW, OLD, gateway, listing};
use crate::judge::{judge_installs, run};
use crate::scene::{cast, declared_world, everybody_reports};

fn twelve(seed: u64) -> Vec<(ControllerId, Character)> {
    let fates = [Fate::Good, Fate::Good, Fate::Good, Fate::Cut(1), Fate::Noisy, Fate::Fails(u8::MAX)];
    let mut cast = cast(seed, 12, &fates);
    everybody_reports(&mut cast);
    // enough to reach the limit, and late enough for others to be updated
    for (_, character) in cast.iter_mut().rev().take(3) {
        character.fate = Fate::Fails(u8::MAX);
    }
    cast
}

/// The old version is brought by a rollout for nobody.
fn played(seed: u64, ending_at: Endings) -> World {
    let cast = twelve(seed);
    let gateways: Vec<_> = cast.iter().map(|(id, _)| gateway(id)).collect();
    let nobody = Selector { match_labels: [("hall".to_owned(), "none".to_owned())].into() };
    let brings = RolloutSpec { selector: nobody, ..fleet::rollout(OLD) };
    let mut spec = fleet::rollout(NEW);
    spec.attempts = 1;
    // one that hears nothing stays away for five minutes
    spec.deadlines.download = fleet::minutes(30);
    (spec.strategy.max_failures, spec.strategy.failure_action) = (Amount::Count(2), FailureAction::Rollback);
    let declared = listing(&gateways, &[("old", brings), ("to-2", spec)]);
    let mut world = declared_world(seed, &cast, disk::memory(), vec![(0, declared)], ending_at);
    run(&mut world);
    world
}

fn everybody_is_back(world: &World) {
    judge_installs(world);
    let rollout = world.oracle.committed.rollouts.values().find(|rollout| rollout.identity.0 == "to-2").unwrap();
    assert!(rollout.rolled_back_at.is_some(), "the limit was reached");
    for (id, step) in world.ends() {
        let device = world.devices.iter().find(|device| device.role.id == id).unwrap();
        assert_eq!(device.runs, OLD, "{id} {step:?}\n{}", world.story(&id));
        assert!(step.is_terminal() || matches!(step, Step::Waiting(_)), "{id} {step:?}\n{}", world.story(&id));
    }
}

#[test]
fn every_updated_gateway_is_back_on_what_it_ran_before() {
    for seed in 0..20 {
        let world = played(seed, Box::new(|_| Ending::Done));
        everybody_is_back(&world);
        let back = world.ends().values().filter(|step| **step == Step::RolledBack).count();
        assert!(back > 0, "seed {seed}: somebody was updated before the limit");
    }
}

#[test]
fn a_crash_before_or_after_any_commit_leaves_nobody_on_the_new_version() {
    let commits = played(11, Box::new(|_| Ending::Done)).commits;
    for at in 0..commits {
        for ending in [Ending::CrashBefore, Ending::CrashAfter] {
            everybody_is_back(&played(11, Box::new(move |n| if n == at { ending } else { Ending::Done })));
        }
    }
}
