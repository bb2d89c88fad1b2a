//! Windows on real calendars, and against a year that is counted minute by minute.

use std::collections::BTreeSet;

use jiff::Timestamp;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::*;
use crate::model::ClockTime;

fn zone(name: &str) -> Zone {
    name.parse().unwrap()
}

fn time(text: &str) -> ClockTime {
    text.parse().unwrap()
}

fn window(days: &[Day], start: &str, end: &str, last: Option<&str>, zone_name: &str) -> Windows {
    let days = days.iter().copied().collect();
    let window = Window::new(days, (time(start), time(end)), last.map(time), Some(zone(zone_name))).unwrap();
    Windows { list: vec![window], ..Windows::default() }
}

fn daily(start: &str, end: &str, zone: &str) -> Windows {
    window(&Day::ALL, start, end, None, zone)
}

fn ms(at: &str) -> i64 {
    at.parse::<Timestamp>().unwrap().as_millisecond()
}

fn utc(ms: i64) -> String {
    Timestamp::from_millisecond(ms).unwrap().to_string()
}

#[test]
fn a_window_has_room_from_its_start_to_its_last_start_also_over_midnight() {
    let room = |start, end, last| window(&Day::ALL, start, end, last, "UTC").list[0].room().as_secs() / 60;
    assert_eq!((room("22:00", "22:05", None), room("22:00", "04:00", None)), (5, 360));
    assert_eq!((room("22:00", "04:00", Some("22:30")), room("22:00", "04:00", Some("01:00"))), (30, 180));
    assert_eq!(room("00:00", "24:00", None), 1_440);
}

#[test]
fn a_window_that_could_never_let_anything_start_is_refused_with_what_to_write_instead() {
    let refused = |days: &[Day], start, end, last: Option<&str>| {
        let days = days.iter().copied().collect();
        Window::new(days, (time(start), time(end)), last.map(time), None).unwrap_err().to_string()
    };
    assert!(refused(&[], "22:00", "04:00", None).contains("name days from Mon to Sun"));
    assert!(refused(&Day::ALL, "24:00", "04:00", None).contains("write 00:00"));
    assert!(refused(&Day::ALL, "22:00", "22:00", None).contains("00:00 to 24:00"));
    for outside in ["21:00", "22:00", "05:00"] {
        let why = refused(&Day::ALL, "22:00", "04:00", Some(outside));
        assert!(why.contains("between start and end"), "{outside}: {why}");
    }
}

/// Every change in a span of time: when, and what to.
fn changes(windows: &Windows, from: &str, to: &str) -> Vec<(String, WindowState)> {
    let (mut at, to) = (ms(from), ms(to));
    let mut state = windows.at(at, &Zone::utc()).state;
    let mut changes = Vec::new();
    while at < to {
        let look = windows.at(at, &Zone::utc());
        if look.state != state {
            changes.push((utc(at), look.state));
            state = look.state;
        }
        at = look.until;
    }
    changes
}

fn opens_and_ends(windows: &Windows, from: &str, to: &str) -> Vec<String> {
    changes(windows, from, to).into_iter().map(|(at, _)| at).collect()
}

#[test]
fn an_overnight_window_belongs_to_the_day_on_which_it_starts() {
    // 28 November 2026 is a Saturday
    let windows = window(&[Day::Sat], "22:00", "06:00", None, "Europe/Berlin");
    let changes = opens_and_ends(&windows, "2026-11-27T00:00Z", "2026-12-04T00:00Z");
    assert_eq!(changes, ["2026-11-28T21:00:00Z", "2026-11-29T05:00:00Z"], "not in the night from Friday to Saturday");
}

#[test]
fn after_its_last_start_a_window_is_closing_until_its_end() {
    use WindowState::{Closed, Closing, Open};
    let windows = window(&[Day::Sat], "22:00", "06:00", Some("04:30"), "Europe/Berlin");
    let seen = changes(&windows, "2026-11-27T00:00Z", "2026-12-04T00:00Z");
    let at = |text: &str, state| (text.to_owned(), state);
    let expected =
        [at("2026-11-28T21:00:00Z", Open), at("2026-11-29T03:30:00Z", Closing), at("2026-11-29T05:00:00Z", Closed)];
    assert_eq!(seen, expected);
    let look = windows.at(ms("2026-11-29T04:00Z"), &Zone::utc());
    assert_eq!(look.opens.unwrap().to_string(), "Sat 5 Dec 22:00 Europe/Berlin");
}

#[test]
fn what_opens_next_is_said_in_the_zone_of_its_window() {
    let mut windows = window(&[Day::Mon], "08:00", "09:00", None, "America/New_York");
    windows.list.extend(window(&[Day::Sat], "22:00", "24:00", None, "Europe/Berlin").list);
    let look = windows.at(ms("2026-11-27T00:00Z"), &Zone::utc());
    let opens = look.opens.unwrap();
    assert_eq!((look.state, opens.to_string().as_str()), (WindowState::Closed, "Sat 28 Nov 22:00 Europe/Berlin"));
    assert_eq!(opens.rfc3339().unwrap(), "2026-11-28T22:00:00+01:00");
    assert_eq!(windows.at(opens.at, &Zone::utc()).opens, None, "it is open");
    let sunday = windows.at(ms("2026-11-29T12:00Z"), &Zone::utc());
    assert_eq!(sunday.opens.unwrap().to_string(), "Mon 30 Nov 08:00 America/New_York");
}

#[test]
fn windows_that_touch_or_overlap_are_one() {
    let mut windows = window(&[Day::Sat, Day::Sun], "00:00", "24:00", None, "UTC");
    windows.list.extend(window(&[Day::Fri], "20:00", "01:00", None, "UTC").list);
    let look = windows.at(ms("2026-11-27T21:00Z"), &Zone::utc());
    assert_eq!((look.state, utc(look.until).as_str()), (WindowState::Open, "2026-11-30T00:00:00Z"));
}

#[test]
fn a_window_without_a_zone_is_in_the_sites() {
    let window = Window::new(Day::ALL.into(), (time("08:00"), time("09:00")), None, None).unwrap();
    let windows = Windows { list: vec![window], ..Windows::default() };
    let at = ms("2026-11-27T07:30Z");
    assert_eq!(windows.at(at, &zone("Europe/Berlin")).state, WindowState::Open);
    assert_eq!(windows.at(at, &Zone::utc()).state, WindowState::Closed);
}

#[test]
fn a_start_in_the_hour_that_does_not_exist_opens_at_its_end() {
    // put forward at 02:00 on 29 March 2026 in Berlin, on 8 March in New York, by half an hour on 4 October on Lord Howe
    for (zone, from, to, opens) in [
        ("Europe/Berlin", "2026-03-28T12:00Z", "2026-03-29T12:00Z", ["2026-03-29T01:00:00Z", "2026-03-29T03:00:00Z"]),
        (
            "America/New_York",
            "2026-03-07T12:00Z",
            "2026-03-08T12:00Z",
            ["2026-03-08T07:00:00Z", "2026-03-08T09:00:00Z"],
        ),
        (
            "Australia/Lord_Howe",
            "2026-10-03T12:00Z",
            "2026-10-04T12:00Z",
            ["2026-10-03T15:30:00Z", "2026-10-03T18:00:00Z"],
        ),
    ] {
        assert_eq!(opens_and_ends(&daily("02:15", "05:00", zone), from, to), opens, "{zone}");
    }
}

#[test]
fn a_window_that_lies_in_the_hour_that_does_not_exist_is_not_there_that_day() {
    for (zone, from, to) in [
        ("Europe/Berlin", "2026-03-28T12:00Z", "2026-03-29T12:00Z"),
        ("America/New_York", "2026-03-07T12:00Z", "2026-03-08T12:00Z"),
        ("Australia/Lord_Howe", "2026-10-03T06:00Z", "2026-10-04T06:00Z"),
    ] {
        let windows = daily("02:05", "02:25", zone);
        assert_eq!(changes(&windows, from, to), [], "{zone}");
        let look = windows.at(ms(from), &Zone::utc());
        assert!(look.opens.unwrap().at > ms(to), "{zone}: the next day");
    }
    // its last start does not exist, and its end does
    let windows = window(&Day::ALL, "02:05", "04:00", Some("02:25"), "Europe/Berlin");
    let seen = changes(&windows, "2026-03-28T12:00Z", "2026-03-29T12:00Z");
    assert_eq!(seen.iter().map(|(_, state)| *state).collect::<Vec<_>>(), [WindowState::Closing, WindowState::Closed]);
}

#[test]
fn where_an_hour_comes_twice_a_window_goes_on_from_its_first_start_to_its_last_end() {
    // put back at 03:00 on 25 October 2026 in Berlin, at 02:00 on 1 November in New York, on 5 April on Lord Howe
    for (zone, start, end, from, to, opens) in [
        (
            "Europe/Berlin",
            "02:15",
            "02:45",
            "2026-10-24T12:00Z",
            "2026-10-25T12:00Z",
            ["2026-10-25T00:15:00Z", "2026-10-25T01:45:00Z"],
        ),
        (
            "America/New_York",
            "01:15",
            "01:45",
            "2026-10-31T12:00Z",
            "2026-11-01T12:00Z",
            ["2026-11-01T05:15:00Z", "2026-11-01T06:45:00Z"],
        ),
        (
            "Australia/Lord_Howe",
            "01:35",
            "01:45",
            "2026-04-04T06:00Z",
            "2026-04-05T06:00Z",
            ["2026-04-04T14:35:00Z", "2026-04-04T15:15:00Z"],
        ),
    ] {
        assert_eq!(opens_and_ends(&daily(start, end, zone), from, to), opens, "{zone}");
    }
    let until_it_is_put_back_to = daily("22:00", "02:00", "Europe/Berlin");
    let seen = opens_and_ends(&until_it_is_put_back_to, "2026-10-24T12:00Z", "2026-10-25T12:00Z");
    assert_eq!(seen, ["2026-10-24T20:00:00Z", "2026-10-25T00:00:00Z"], "02:00 twice, and nothing less in between");
}

#[test]
fn moments_beyond_the_calendar_are_closed() {
    let windows = daily("00:00", "24:00", "Europe/Berlin");
    for wall in [i64::MIN, i64::MAX, -400_000_000_000_000, 400_000_000_000_000] {
        let look = windows.at(wall, &Zone::utc());
        assert_eq!((look.state, look.opens), (WindowState::Closed, None));
    }
}

#[test]
fn a_zone_that_is_not_known_is_closed() {
    let zone: Zone = serde_json::from_str("\"Moon/Tranquility\"").unwrap();
    let window = Window::new(Day::ALL.into(), (time("00:00"), time("24:00")), None, Some(zone)).unwrap();
    let windows = Windows { list: vec![window], ..Windows::default() };
    assert_eq!(windows.at(ms("2026-03-28T12:00Z"), &Zone::utc()).state, WindowState::Closed);
}

/// A year minute by minute, knowing nothing of a zone but what its clocks show at each moment.
struct Year {
    /// What they show, in minutes: the furthest that they were so far, and the least that is still to come.
    furthest: Vec<i64>,
    least: Vec<i64>,
    first_day: i64,
}

/// 1 January 2026, 00:00 UTC.
const YEAR: i64 = 29_453_760;
const MINUTES: i64 = 366 * 24 * 60;

impl Year {
    fn new(zone: &Zone) -> Self {
        let rules = zone.rules().unwrap();
        let shown = |minute: i64| minute + i64::from(rules.to_offset(instant(minute)).seconds()) / 60;
        let shown: Vec<_> = (YEAR..YEAR + MINUTES).map(shown).collect();
        let furthest = shown.iter().scan(i64::MIN, |most, now| {
            *most = now.max(most).to_owned();
            Some(*most)
        });
        let mut least = shown.clone();
        for at in (0..least.len() - 1).rev() {
            least[at] = least[at].min(least[at + 1]);
        }
        Self { furthest: furthest.collect(), least, first_day: shown[0].div_euclid(1_440) }
    }

    /// For each minute, how far windows are open: 0 closed, 1 closing, 2 open.
    fn paint(&self, windows: &Windows) -> Vec<u8> {
        let mut minutes = vec![0; self.furthest.len()];
        for window in &windows.list {
            let (start, last, end) = window.minutes();
            for day in self.first_day - 2..self.first_day + 370 {
                // day 0 is the first of January 1970, a Thursday
                if !window.days.contains(&Day::ALL[usize::try_from((day + 3).rem_euclid(7)).unwrap()]) {
                    continue;
                }
                let shown = |time: u16| day * 1_440 + i64::from(time);
                let from = self.furthest.partition_point(|furthest| *furthest < shown(start));
                for (until, value) in [(end, 1), (last, 2)] {
                    let to = self.least.partition_point(|least| *least < shown(until));
                    minutes[from.min(to)..to].iter_mut().for_each(|minute: &mut u8| *minute = value.max(*minute));
                }
            }
        }
        minutes
    }
}

fn instant(minute: i64) -> Timestamp {
    Timestamp::from_second(minute * 60).unwrap()
}

const ZONES: [&str; 8] = [
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "America/Santiago",
    "Africa/Cairo",
    "Asia/Kathmandu",
    "Antarctica/Troll",
    "America/Havana",
];

fn any_window() -> impl Strategy<Value = (BTreeSet<Day>, u16, u16, u16)> {
    let days = proptest::collection::btree_set(proptest::sample::select(&Day::ALL[..]), 1..8);
    // mostly around the hours at which clocks are set
    let start = prop_oneof![3 => 0_u16..240, 1 => 0_u16..1_440];
    let length = prop_oneof![3 => 1_u16..120, 1 => 1_u16..1_440];
    (days, start, length, 0_u16..=100)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 8, rng_seed: RngSeed::Fixed(6), failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn a_year_is_what_its_clocks_show_minute_by_minute(
        name in proptest::sample::select(&ZONES[..]),
        typed in proptest::collection::vec(any_window(), 1..4),
    ) {
        let clock = |minutes: u16| format!("{:02}:{:02}", minutes / 60 % 24, minutes % 60).parse::<ClockTime>().unwrap();
        let windows = typed.into_iter().map(|(days, start, length, share)| {
            let last = start + (length / 100 * share + length % 100 * share / 100).max(1);
            Window::new(days, (clock(start), clock(start + length)), Some(clock(last)), Some(zone(name))).unwrap()
        });
        let windows = Windows { list: windows.collect(), ..Windows::default() };
        let painted = Year::new(&zone(name)).paint(&windows);
        // at the edges the year does not know what comes
        let (from, to) = (2_880, painted.len() - 2_880);
        let mut at = from;
        while at < to {
            let look = windows.at((YEAR + i64::try_from(at).unwrap()) * 60_000, &Zone::utc());
            let value = match look.state {
                WindowState::Closed => 0,
                WindowState::Closing => 1,
                WindowState::Open => 2,
            };
            let until = usize::try_from(look.until / 60_000 - YEAR).unwrap();
            prop_assert!(look.until % 60_000 == 0 && until > at);
            let differs = painted[at..until.min(to)].iter().position(|painted| *painted != value);
            prop_assert_eq!(differs.map(|after| instant(YEAR + i64::try_from(at + after).unwrap())), None, "{:?}", look);
            let opens = painted[at..].iter().position(|painted| *painted == 2).filter(|_| value < 2);
            if let Some(opening) = look.opens.filter(|opening| opening.at / 60_000 - YEAR < i64::try_from(to).unwrap()) {
                let said = usize::try_from(opening.at / 60_000 - YEAR).unwrap() - at;
                prop_assert_eq!(Some(said), opens);
            }
            at = until;
        }
    }
}
