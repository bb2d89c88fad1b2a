//! Windows of ten minutes in each half hour, over whatever goes wrong: nobody starts outside them.

use lamplighter::engine::Step;
use lamplighter::model::{Day, What, Window, Windows};
use lamplighter::world::{Deed, Ending, Endings, World};

use crate::disk;
use crate::fate::{FATES, Fate};
use crate::fleet::{self, NEW, gateway, listing};
use crate::judge::{judge, judge_installs, run};
use crate::scene::{cast, declared_world, everybody_reports};
use crate::storms::storm;

/// 1 January 2026, midnight in UTC.
const MIDNIGHT: i64 = 1_767_225_600_000;

/// From the tenth to the twentieth minute of each half hour, for eight hours from midnight.
fn windows() -> Windows {
    let time = |minute: u16| format!("{:02}:{:02}", minute / 60, minute % 60).parse().unwrap();
    let times = |half: u16| (time(half * 30 + 10), time(half * 30 + 20));
    let window = |half: u16| Window::new(Day::ALL.into(), times(half), None, None).unwrap();
    Windows { list: (0..16).map(window).collect(), ..Windows::default() }
}

/// The same by counting minutes.
fn is_open(wall: i64) -> bool {
    let minute = wall / 60_000;
    minute % 1_440 < 480 && (10..20).contains(&(minute % 30))
}

fn world(seed: u64, count: usize, fates: &[Fate], endings: Endings) -> World {
    let mut cast = cast(seed, count, fates);
    everybody_reports(&mut cast);
    let mut spec = fleet::rollout(NEW);
    spec.windows = windows();
    let gateways: Vec<_> = cast.iter().map(|(id, _)| gateway(id)).collect();
    let declarations = vec![(0, listing(&gateways, &[("to-2", spec)]))];
    let mut world = declared_world(seed, &cast, disk::memory(), declarations, endings);
    world.plan(0, Deed::Clock(MIDNIGHT));
    world
}

/// The journal says by which time each offer was made and fetched.
fn keeps_to_its_windows(world: &World) {
    judge_installs(world);
    for (_, row) in &world.journal {
        if matches!(row.what, What::Offered | What::Fetched) {
            assert!(row.wall.is_some_and(is_open), "{row:?}");
        }
    }
    for (id, step) in world.ends() {
        assert!(step.is_terminal() || matches!(step, Step::Waiting(_)), "{id} {step:?}\n{}", world.story(&id));
    }
}

#[test]
fn good_gateways_are_all_updated_and_each_starts_in_a_window() {
    let mut world = world(1, 40, &[Fate::Good], Box::new(|_| Ending::Done));
    run(&mut world);
    judge(&world);
    keeps_to_its_windows(&world);
    assert!(world.devices.iter().all(|device| device.installs.len() == 1));
}

#[test]
fn any_mix_of_gateways_keeps_to_the_windows() {
    for seed in 0..10 {
        let mut world = world(seed, 25, FATES, Box::new(|_| Ending::Done));
        run(&mut world);
        keeps_to_its_windows(&world);
    }
}

#[test]
fn so_it_does_through_storms_while_the_clock_says_1970_and_the_wrong_hour_now_and_then() {
    let (mut crashes, mut updated) = (0, 0);
    for seed in 0..12 {
        let mut world = world(seed, 25, FATES, storm(seed, 25));
        let mut random = fastrand::Rng::with_seed(seed ^ 0xc10c);
        for hour in 0..3 {
            let at = (hour * 60 + random.u64(5..25)) * 60_000;
            let wrong = if random.bool() { 12_000 } else { MIDNIGHT + random.i64(0..86_400_000) };
            world.plan(at, Deed::Clock(wrong));
            let right = at + random.u64(1..30) * 60_000;
            world.plan(right, Deed::Clock(MIDNIGHT + i64::try_from(right).unwrap()));
        }
        run(&mut world);
        keeps_to_its_windows(&world);
        crashes += world.crashes;
        updated += world.ends().values().filter(|step| **step == Step::Updated).count();
    }
    assert!(crashes > 10 && updated > 50, "{crashes} crashes, {updated} updated");
}
