//! Any windows, in any zone, on any day, under clocks that are set, wrong or not trusted, through storms or none: nobody is
//! offered an update outside of them, sees its link or takes it.

use std::cell::Cell;
use std::collections::BTreeSet;

use jiff::Timestamp;
use lamplighter::model::{Day, What, WhenClockUnknown, Window, Windows};
use lamplighter::world::{Deed, Ending, World};
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};

use crate::disk;
use crate::fate::Fate;
use crate::fleet::{self, NEW, gateway, listing};
use crate::judge::judge_installs;
use crate::scene::{cast, declared_world, everybody_reports};
use crate::storms::storm;

const CASES: u32 = 60;
const HOUR: u64 = 3_600_000;
const DAY: u16 = 1_440;
const ZONES: [&str; 6] =
    ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Chatham"];
/// From these days on no clock of those zones is put forward or back for a month.
const CALM: [&str; 3] = ["2026-05-04T00:00Z", "2026-07-30T00:00Z", "2026-11-16T00:00Z"];
/// The evenings before some are.
const CHANGES: [&str; 4] = ["2026-03-28T18:00Z", "2026-10-24T18:00Z", "2026-11-01T00:00Z", "2026-04-04T06:00Z"];

/// A window in minutes of the day; `last` as many minutes before its end.
#[derive(Debug, Clone)]
struct Typed {
    days: u8,
    start: u16,
    long: u16,
    last: u16,
    zone: usize,
}

impl Typed {
    fn days(&self) -> BTreeSet<Day> {
        let named = |at: usize| self.days & (1 << at) > 0;
        Day::ALL.into_iter().enumerate().filter(|(at, _)| named(*at)).map(|(_, day)| day).collect()
    }

    /// Start, last start and end; from midnight on which its day begins.
    fn minutes(&self) -> (u16, u16, u16) {
        let end = self.start + self.long;
        (self.start, end - self.last.min(self.long - 1), end)
    }

    fn window(&self) -> Window {
        let time = |minutes: u16| format!("{:02}:{:02}", minutes % DAY / 60, minutes % 60).parse().unwrap();
        let (start, last, end) = self.minutes();
        let zone = ZONES[self.zone].parse().unwrap();
        Window::new(self.days(), (time(start), time(end)), Some(time(last)), Some(zone)).unwrap()
    }

    /// By what the clocks of its zone show: may something start, or go on, where none is put forward or back?
    fn is_open(&self, wall: i64, half_way: bool) -> bool {
        let zone = jiff::tz::TimeZone::get(ZONES[self.zone]).unwrap();
        let shown = zone.to_datetime(Timestamp::from_millisecond(wall).unwrap());
        let minute = u16::try_from(shown.hour()).unwrap() * 60 + u16::try_from(shown.minute()).unwrap();
        let today = usize::try_from(shown.weekday().to_monday_zero_offset()).unwrap();
        let (start, last, end) = self.minutes();
        let until = if half_way { end } else { last };
        let on = |day: usize, minute: u16| self.days & (1 << day) > 0 && (start..until).contains(&minute);
        on(today, minute) || on((today + 6) % 7, minute + DAY)
    }
}

#[derive(Debug, Clone)]
struct Case {
    windows: Vec<Typed>,
    allow: bool,
    /// Where nobody's clock changes, or not.
    from: Result<(usize, u32), usize>,
    seed: u64,
    stormy: bool,
    /// After so many minutes the clock is wrong by so many, or says 1970, for so many.
    clocks: Vec<(u64, Option<i32>, u64)>,
}

fn case() -> impl Strategy<Value = Case> {
    let window = (prop_oneof![1 => Just(127_u8), 2 => 1_u8..128], 0..DAY, 5_u16..900, 0_u16..200, 0..ZONES.len())
        .prop_map(|(days, start, long, last, zone)| Typed { days, start, long, last, zone });
    let from = prop_oneof![
        3 => (0..CALM.len(), 0_u32..25 * 24 * 60).prop_map(Ok),
        1 => (0..CHANGES.len()).prop_map(Err),
    ];
    let wrong = prop_oneof![2 => Just(None), 3 => (-2_000_i32..2_000).prop_map(Some)];
    let clocks = proptest::collection::vec((0_u64..23 * 60, wrong, 1_u64..120), 0..4);
    (proptest::collection::vec(window, 1..4), any::<bool>(), from, any::<u64>(), any::<bool>(), clocks)
        .prop_map(|(windows, allow, from, seed, stormy, clocks)| Case { windows, allow, from, seed, stormy, clocks })
}

impl Case {
    fn starts(&self) -> i64 {
        let (day, minutes) = match self.from {
            Ok((day, minutes)) => (CALM[day], minutes),
            Err(day) => (CHANGES[day], 0),
        };
        day.parse::<Timestamp>().unwrap().as_millisecond() + i64::from(minutes) * 60_000
    }

    fn world(&self) -> World {
        let mut cast = cast(self.seed, 6, &[Fate::Good, Fate::Good, Fate::Cut(2), Fate::Fails(1), Fate::Slow]);
        everybody_reports(&mut cast);
        let mut spec = fleet::rollout(NEW);
        let unknown = if self.allow { WhenClockUnknown::Allow } else { WhenClockUnknown::Hold };
        spec.windows = Windows { list: self.windows.iter().map(Typed::window).collect(), when_clock_unknown: unknown };
        let gateways: Vec<_> = cast.iter().map(|(id, _)| gateway(id)).collect();
        let declared = vec![(0, listing(&gateways, &[("to-2", spec)]))];
        let endings = if self.stormy { storm(self.seed, 25) } else { Box::new(|_| Ending::Done) };
        let mut world = declared_world(self.seed, &cast, disk::memory(), declared, endings);
        let right = |at: u64| self.starts() + i64::try_from(at).unwrap();
        world.plan(0, Deed::Clock(self.starts()));
        for (minutes, wrong, lasts) in &self.clocks {
            let (at, back) = (minutes * 60_000, (minutes + lasts) * 60_000);
            let says = wrong.map_or(12_000, |wrong| right(at) + i64::from(wrong) * 60_000);
            world.plan(at, Deed::Clock(says));
            world.plan(back, Deed::Clock(right(back)));
        }
        world
    }

    /// The journal says by which time each offer was made and fetched; where no clock is put forward or back, the windows
    /// are counted here.
    fn judge(&self, world: &World) -> usize {
        judge_installs(world);
        let mut fetched = BTreeSet::new();
        let mut offers = 0;
        for (_, row) in &world.journal {
            let order = (row.gateway.clone(), row.detail.clone());
            match row.what {
                What::Offered => offers += 1,
                What::Fetched => {}
                _ => continue,
            }
            let half_way = fetched.contains(&order);
            let fits = match row.wall {
                Some(wall) => self.windows.iter().any(|window| window.is_open(wall, half_way)),
                None => self.allow,
            };
            assert!(fits || self.from.is_err(), "{row:?}");
            if row.what == What::Fetched {
                fetched.insert(order);
            }
        }
        offers
    }
}

#[test]
fn nobody_is_offered_or_shown_an_update_outside_any_windows() {
    let config = ProptestConfig {
        cases: CASES,
        rng_seed: RngSeed::Fixed(5),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let (offers, shut) = (Cell::new(0), Cell::new(0));
    TestRunner::new(config)
        .run(&case(), |case| {
            let mut world = case.world();
            world.run(24 * HOUR);
            let made = case.judge(&world);
            offers.set(offers.get() + made);
            shut.set(shut.get() + u32::from(made == 0));
            Ok(())
        })
        .unwrap();
    assert!(offers.get() > 100 && shut.get() > 0, "{} offers, {} worlds without any", offers.get(), shut.get());
}

#[test]
fn the_judge_of_windows_cries_when_a_link_is_in_sight_outside() {
    let day = Typed { days: 127, start: 600, long: 60, last: 0, zone: 0 };
    let case = Case { windows: vec![day], allow: false, from: Ok((0, 600)), seed: 1, stormy: false, clocks: vec![] };
    let mut world = case.world();
    // what is committed says so while the windows of its judge are others
    world.run_until(60_000);
    let elsewhere = Typed { days: 127, start: 60, long: 60, last: 0, zone: 0 };
    for rollout in world.oracle.committed.rollouts.values_mut() {
        rollout.spec.windows.list = vec![elsewhere.window()];
    }
    world.run(HOUR);
    assert!(world.oracle.wrong.iter().any(|wrong| wrong.contains("sees action")), "{:?}", world.oracle.wrong);
}
