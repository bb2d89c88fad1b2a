//! Windows of ten minutes in each half hour, over whatever goes wrong: the oracle sees to it that nobody starts outside.

use lamplighter::engine::Step;
use lamplighter::model::{Day, WhenClockUnknown, Window, Windows};

use crate::disk::{Disk, Ending};
use crate::fate::{FATES, Fate};
use crate::fleet::{self, NEW, gateway, listing};
use crate::scene::{cast, everybody_reports};
use crate::storms::storm;
use crate::world::{Endings, World};

/// From the tenth to the twentieth minute of each half hour, for eight hours from midnight; days begin at midnight UTC.
pub fn windows() -> Windows {
    let time = |minute: u16| format!("{:02}:{:02}", minute / 60, minute % 60).parse().unwrap();
    let window =
        |half: u16| Window::new(Day::ALL.into(), (time(half * 30 + 10), time(half * 30 + 20)), None, None).unwrap();
    Windows { list: (0..16).map(window).collect(), when_clock_unknown: WhenClockUnknown::Hold }
}

/// The same by counting minutes.
pub fn is_open(wall: i64) -> bool {
    let minute = wall / 60_000;
    minute % 1_440 < 480 && (10..20).contains(&(minute % 30))
}

fn world(seed: u64, count: usize, fates: &[Fate], endings: Endings) -> World {
    let mut cast = cast(seed, count, fates);
    everybody_reports(&mut cast);
    let mut spec = fleet::rollout(NEW);
    spec.windows = windows();
    let gateways: Vec<_> = cast.iter().map(|(id, _)| gateway(id)).collect();
    let declared = listing(&gateways, &[("to-2", spec)]);
    let mut world = World::new(seed, &cast, Disk::memory(), vec![(0, declared)], endings);
    world.oracle.windowed = true;
    world
}

#[test]
fn good_gateways_are_all_updated_and_each_starts_in_a_window() {
    let mut world = world(1, 40, &[Fate::Good], Box::new(|_| Ending::Done));
    world.run();
    world.judge();
    assert!(world.devices.iter().all(|device| device.installs.len() == 1));
    assert!(world.now > 40 * 60_000, "the first wave takes the first window, the rest another");
}

#[test]
fn any_mix_of_gateways_keeps_to_the_windows() {
    for seed in 0..15 {
        let mut world = world(seed, 25, FATES, Box::new(|_| Ending::Done));
        world.run();
        at_an_end_or_waits(&world);
    }
}

#[test]
fn so_it_does_through_storms_and_while_the_clock_is_wrong_after_each_power_cut() {
    let (mut crashes, mut updated) = (0, 0);
    for seed in 0..15 {
        let mut world = world(seed, 25, FATES, storm(seed, 25));
        world.no_clock_for = 4 * 60_000;
        world.run();
        at_an_end_or_waits(&world);
        crashes += world.crashes;
        updated += world.ends().values().filter(|step| **step == Step::Updated).count();
    }
    assert!(crashes > 10 && updated > 50, "{crashes} crashes, {updated} updated");
}

fn at_an_end_or_waits(world: &World) {
    world.judge_installs();
    for (id, step) in world.ends() {
        assert!(step.is_terminal() || matches!(step, Step::Waiting(_)), "{id} {step:?}\n{}", world.story(&id));
    }
}
