//! People hold, pause, edit and set limits while gateways are on their way: nobody gets what they stopped.

use lamplighter::engine::Step;
use lamplighter::model::{
    Amount, ControllerId, Identity, Listing, Order, RolloutSpec, StandingOrder, Strategy as RolloutStrategy, WaveSpec,
};
use lamplighter::world::{Deed, Ending, Endings, World};

use crate::disk;
use crate::fate::{Character, FATES, Fate};
use crate::fleet::{self, NEW, gateway, listing, minutes};
use crate::judge::{judge, judge_installs, run};
use crate::scene::{cast, declared_world, everybody_reports};
use crate::storms::storm;

type Cast = [(ControllerId, Character)];

fn declared(cast: &Cast, held: &[usize], spec: RolloutSpec) -> Listing {
    let gateways = cast.iter().enumerate().map(|(at, (id, _))| {
        let mut spec = gateway(id);
        spec.hold = held.contains(&at);
        spec
    });
    listing(&gateways.collect::<Vec<_>>(), &[("to-2", spec)])
}

fn at(minute: u64) -> u64 {
    minute * 60_000
}

fn calm() -> Endings {
    Box::new(|_| Ending::Done)
}

fn everyone_is_at_an_end_or_waits(world: &World) {
    for (id, step) in world.ends() {
        assert!(step.is_terminal() || matches!(step, Step::Waiting(_)), "{id} {step:?}\n{}", world.story(&id));
    }
}

#[test]
fn a_hold_and_a_pause_in_the_middle_stop_whoever_has_not_fetched() {
    for seed in 0..20 {
        let mut cast = cast(seed, 20, FATES);
        // the wave of one must be proven, also if its last word is lost
        cast[0].1.reports = true;
        let held: Vec<_> = (3..9).collect();
        let paused = || RolloutSpec { paused: true, ..fleet::rollout(NEW) };
        let declarations = vec![
            (0, declared(&cast, &[5], fleet::rollout(NEW))),
            (at(7) + seed * 7_000, declared(&cast, &held, fleet::rollout(NEW))),
            (at(9) + seed * 11_000, declared(&cast, &held, paused())),
            (at(16), declared(&cast, &[], paused())),
            (at(25), declared(&cast, &[], fleet::rollout(NEW))),
        ];
        let endings = if seed % 2 == 0 { calm() } else { storm(seed, 15) };
        let mut world = declared_world(seed, &cast, disk::memory(), declarations, endings);
        run(&mut world);
        judge(&world);
    }
}

#[test]
fn what_stays_held_or_paused_waits() {
    for seed in 0..10 {
        let cast = cast(seed, 20, FATES);
        let paused = RolloutSpec { paused: true, ..fleet::rollout(NEW) };
        let declarations = vec![
            (0, declared(&cast, &[2, 3, 4], fleet::rollout(NEW))),
            (at(8) + seed * 9_000, declared(&cast, &[2, 3, 4], paused)),
        ];
        let mut world = declared_world(seed, &cast, disk::memory(), declarations, calm());
        run(&mut world);
        judge_installs(&world);
        everyone_is_at_an_end_or_waits(&world);
        assert!([2, 3, 4].iter().all(|at: &usize| world.devices[*at].installs.is_empty()));
    }
}

#[test]
fn a_limit_stops_the_rollout_for_all_that_have_not_fetched() {
    let mut tripped = 0;
    for seed in 0..20 {
        let cast = cast(seed, 40, FATES);
        let mut spec = fleet::rollout(NEW);
        spec.strategy.max_failures = "5%".parse().unwrap();
        spec.strategy.max_in_flight = Amount::Count(6);
        let endings = if seed % 2 == 0 { calm() } else { storm(seed, 20) };
        let mut world = declared_world(seed, &cast, disk::memory(), vec![(0, declared(&cast, &[], spec))], endings);
        run(&mut world);
        judge_installs(&world);
        everyone_is_at_an_end_or_waits(&world);
        tripped += usize::from(world.oracle.committed.rollouts.values().any(|rollout| rollout.tripped.is_some()));
    }
    assert!(tripped > 10, "{tripped} of 20 reached their limit");
}

#[test]
fn waves_open_one_after_the_other_and_only_on_proof() {
    for seed in 0..10 {
        let mut cast = cast(seed, 30, &[Fate::Good, Fate::Good, Fate::Noisy, Fate::Cut(1), Fate::Fails(u8::MAX)]);
        everybody_reports(&mut cast);
        let mut spec = fleet::rollout(NEW);
        let wave = |size: &str| WaveSpec { size: size.parse().unwrap(), soak: minutes(4), ..WaveSpec::REST };
        spec.strategy.waves = vec![wave("1"), wave("10%"), wave("30%"), wave("100%")];
        let endings = if seed % 2 == 0 { calm() } else { storm(seed, 20) };
        let mut world = declared_world(seed, &cast, disk::memory(), vec![(0, declared(&cast, &[], spec))], endings);
        run(&mut world);
        judge_installs(&world);
        let waits = world.ends().values().filter(|step| matches!(step, Step::Waiting(_))).count();
        let ready = world.oracle.committed.rollouts.values().all(|rollout| rollout.ready_at.is_some());
        assert!(ready || waits > 0, "either all waves were proven, or one that was not keeps the rest waiting");
    }
}

#[test]
fn another_version_in_the_middle_brings_everybody_to_it() {
    for seed in 0..20 {
        let mut cast = cast(seed, 20, &[Fate::Good, Fate::Good, Fate::Cut(1), Fate::Noisy, Fate::NeverPolls]);
        everybody_reports(&mut cast);
        // whoever goes first in the second order must be there
        let ids = fleet::in_order(20, "3.0.0");
        for (_, character) in cast.iter_mut().filter(|(id, _)| *id == ids[0]) {
            character.fate = Fate::Good;
        }
        let declarations = vec![
            (0, declared(&cast, &[], fleet::rollout(NEW))),
            (at(7) + seed * 13_000, declared(&cast, &[], fleet::rollout("3.0.0"))),
        ];
        let endings = if seed % 2 == 0 { calm() } else { storm(seed, 20) };
        let mut world = declared_world(seed, &cast, disk::memory(), declarations, endings);
        run(&mut world);
        judge_installs(&world);
        everyone_is_at_an_end_or_waits(&world);
        for device in &world.devices {
            let arrives = device.role.character.fate != Fate::NeverPolls;
            assert_eq!(
                device.runs == "3.0.0",
                arrives,
                "seed {seed} {}\n{}",
                device.role.id,
                world.story(&device.role.id)
            );
        }
    }
}

#[test]
fn what_people_call_off_at_any_time_is_installed_by_nobody_who_had_not_got_it_whole() {
    let (mut dropped, mut updated) = (0, 0);
    for seed in 0..30 {
        let cast = cast(seed, 25, FATES);
        let mut random = fastrand::Rng::with_seed(seed ^ 0xca11);
        let off = || RolloutSpec { cancelled: true, ..fleet::rollout(NEW) };
        let when = at(4) + random.u64(0..at(12));
        let mut declarations = vec![
            (0, declared(&cast, &[], fleet::rollout(NEW))),
            (when, declared(&cast, &[], off())),
            // taking it back revives nothing
            (when + random.u64(1..at(5)), declared(&cast, &[], fleet::rollout(NEW))),
        ];
        if random.bool() {
            declarations.push((when + at(6) + random.u64(0..at(5)), declared(&cast, &[], fleet::rollout("3.0.0"))));
        }
        let endings = if seed % 2 == 0 { calm() } else { storm(seed, 20) };
        let mut world = declared_world(seed, &cast, disk::memory(), declarations, endings);
        run(&mut world);
        judge_installs(&world);
        everyone_is_at_an_end_or_waits(&world);
        dropped += world.oracle.cancelled.len();
        updated += world.devices.iter().filter(|device| device.runs == NEW).count();
    }
    assert!(dropped > 30 && updated > 30, "{dropped} dropped their order, {updated} were beyond it");
}

#[test]
fn what_people_say_on_the_spot_counts_whatever_the_hub_says_and_through_every_storm() {
    let (mut waited, mut arrived) = (0, 0);
    for seed in 0..20 {
        let mut cast = cast(seed, 20, &[Fate::Good, Fate::Good, Fate::Cut(1), Fate::Noisy]);
        everybody_reports(&mut cast);
        let mut random = fastrand::Rng::with_seed(seed ^ 0x0bde5);
        let name = Identity("to-2".into());
        let again = RolloutSpec {
            strategy: RolloutStrategy { max_in_flight: Amount::Count(7), ..fleet::rollout(NEW).strategy },
            ..fleet::rollout(NEW)
        };
        let declarations = vec![
            (0, declared(&cast, &[], fleet::rollout(NEW))),
            (at(9), declared(&cast, &[], RolloutSpec { paused: true, ..fleet::rollout(NEW) })),
            (at(12), declared(&cast, &[], again)),
        ];
        let endings = if seed % 2 == 0 { calm() } else { storm(seed, 20) };
        let mut world = declared_world(seed, &cast, disk::memory(), declarations, endings);
        let mut order = |at: u64, given: Order| world.plan(at, Deed::Order(given, "alice".into()));
        let held = StandingOrder::Hold(cast[random.usize(0..20)].0.clone());
        let (when, until) = (at(3) + random.u64(0..at(8)), at(20) + random.u64(0..at(10)));
        order(at(2), Order::Give(held.clone(), Some("acceptance test".into())));
        order(when, Order::Give(StandingOrder::Pause(name.clone()), None));
        order(until, Order::Lift(StandingOrder::Pause(name)));
        let stays = seed % 3 == 0;
        if !stays {
            order(until + at(5), Order::Lift(held.clone()));
        }
        run(&mut world);
        judge_installs(&world);
        everyone_is_at_an_end_or_waits(&world);
        for device in &world.devices {
            let is_held = StandingOrder::Hold(device.role.id.clone()) == held;
            let kept_out = !is_held || !stays || device.runs != NEW;
            assert!(kept_out, "it was held all the time\n{}", world.story(&device.role.id));
            waited += usize::from(device.runs != NEW);
            arrived += usize::from(device.runs == NEW);
        }
    }
    assert!(arrived > 300 && waited < 100, "{arrived} arrived, {waited} did not");
}
