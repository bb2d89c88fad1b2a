//! Windows: they gate offers, what was fetched outlives them, and a clock that is set changes what they say at once.

use lamplighter::engine::{Awaited, Phase, Step, expected, expected_of};
use lamplighter::model::*;

use super::site::*;

const OUTSIDE: Step = Step::Waiting(WaitingReason::OutsideWindow);
const NO_CLOCK: Step = Step::Waiting(WaitingReason::WaitingForClock);

fn window(days: &[Day], start: &str, end: &str, last: Option<&str>) -> Window {
    let time = |text: &str| text.parse().unwrap();
    let zone = "Europe/Berlin".parse().unwrap();
    Window::new(days.iter().copied().collect(), (time(start), time(end)), last.map(time), Some(zone)).unwrap()
}

/// Saturdays from 22:00 to 06:00 in Berlin; from 28 November 2026, 21:00 UTC, to 05:00.
fn saturdays() -> Windows {
    Windows { list: vec![window(&[Day::Sat], "22:00", "06:00", None)], ..Windows::default() }
}

/// As many gateways, with windows, at the moment at which the first wave would be offered.
fn site_at(time: &str, gateways: usize, edit: impl FnOnce(&mut RolloutSpec)) -> Site {
    let mut site = Site::new();
    site.clock_says(time);
    site.declare_gateways(gateways);
    let mut spec = rollout("os", "2");
    spec.windows = saturdays();
    edit(&mut spec);
    site.rollouts.insert("main".into(), spec);
    site.list();
    site.everybody_polls();
    site.verify();
    site
}

fn one_wave(spec: &mut RolloutSpec) {
    spec.strategy.waves = vec![WaveSpec::REST];
}

/// Devices keep polling: nobody is quiet.
fn half_way(site: &mut Site, gateway: &str) {
    assert_eq!(site.fetch(gateway), Verdict::Deploy);
    assert_eq!(site.request(gateway, Bytes::Some), Verdict::Deploy);
}

#[test]
fn outside_its_windows_nobody_is_offered_and_the_heart_wakes_when_one_opens() {
    let mut site = site_at("2026-11-28T12:00Z", 3, one_wave);
    assert_eq!(site.count(OUTSIDE), 3);
    assert_eq!(site.noted(What::WaveOpened), 1, "windows gate offers, not waves");
    site.wait_until("2026-11-28T20:59:59Z");
    assert_eq!(site.count(OUTSIDE), 3);
    site.wait_until("2026-11-28T21:00:00Z");
    assert_eq!(site.count(Step::Offered), 3);
}

#[test]
fn the_end_of_a_window_withdraws_every_unfetched_offer_in_the_same_commit() {
    let mut site = site_at("2026-11-29T04:59Z", 5, one_wave);
    assert_eq!(site.count(Step::Offered), 5);
    site.fetch("g2");
    site.wait_until("2026-11-29T05:00Z");
    assert_eq!((site.count(OUTSIDE), site.at("g2")), (4, Step::Downloading));
    assert_eq!(site.last.members.len(), 4, "one commit");
    assert!(["g1", "g3", "g4", "g5"].iter().all(|gateway| !site.sees_link(gateway)));
    assert_eq!(site.main().members.values().map(|member| member.not_fetched).max(), Some(0), "it is nobody's fault");
}

#[test]
fn the_window_is_decided_again_at_the_fetch() {
    let mut site = site_at("2026-11-29T04:59:30Z", 1, |_| {});
    let order = site.order("g1");
    // the loop had no time to wake
    site.now = site.now.plus(minutes(1));
    assert_eq!(site.happens(Event::Fetched(id("g1"), order)), Verdict::Withdrawn);
    assert_eq!(site.at("g1"), OUTSIDE);
}

#[test]
fn after_the_last_start_nothing_starts_and_what_started_goes_on() {
    let last = |spec: &mut RolloutSpec| {
        spec.windows.list = vec![window(&[Day::Sat], "22:00", "06:00", Some("04:30"))];
        one_wave(spec);
    };
    let mut site = site_at("2026-11-29T03:29Z", 2, last);
    let order = site.order("g1");
    half_way(&mut site, "g1");
    site.body_ended("g1");
    site.wait_until("2026-11-29T03:30Z");
    assert_eq!((site.at("g1"), site.at("g2")), (Step::Downloading, OUTSIDE));
    site.wait(4 * POLL);
    assert!(site.sees_link("g1"), "the window is open, so it may go on");
    // its download takes too long, and is tried again: that is no start
    site.wait(minutes(60));
    assert_eq!((site.sees_link("g1"), site.order("g1")), (true, order));
    site.wait_until("2026-11-29T05:00Z");
    assert_eq!((site.at("g1"), site.sees_link("g1")), (OUTSIDE, false), "and idles beyond the end");
}

#[test]
fn a_retry_after_the_last_start_is_no_new_start_if_it_is_the_same_order() {
    let last = |spec: &mut RolloutSpec| {
        spec.windows.list = vec![window(&[Day::Sat], "22:00", "06:00", Some("04:30"))];
        spec.deadlines.download = minutes(10);
    };
    let mut site = site_at("2026-11-29T03:25Z", 1, last);
    let order = site.order("g1");
    half_way(&mut site, "g1");
    site.wait_until("2026-11-29T03:36Z");
    assert_eq!((site.at("g1"), site.order("g1")), (Step::Offered, order), "its deadline passed, and it may resume");
    assert_eq!(site.fetch("g1"), Verdict::Deploy);
    site.says("g1", failure());
    site.wait(minutes(5));
    assert_eq!(site.at("g1"), OUTSIDE, "a new order would be a start");
}

#[test]
fn a_fetched_offer_outlives_its_window() {
    let mut site = site_at("2026-11-29T04:55Z", 1, |_| {});
    half_way(&mut site, "g1");
    site.wait_until("2026-11-29T06:00Z");
    assert!(site.sees_link("g1"), "its download is running");
    site.served("g1");
    site.body_ended("g1");
    site.wait(minutes(10));
    assert_eq!((site.at("g1"), site.sees_link("g1")), (Step::Installing, true), "it was fully served");
    site.says("g1", success());
    site.reports("g1", "2");
    assert_eq!(site.at("g1"), Step::Updated);
}

#[test]
fn a_half_served_order_that_idles_is_hidden_outside_the_window_and_shown_again_under_the_same_id() {
    let mut site = site_at("2026-11-29T04:55Z", 1, |_| {});
    let order = site.order("g1");
    half_way(&mut site, "g1");
    site.body_ended("g1");
    site.wait_until("2026-11-29T05:00Z");
    assert_eq!((site.at("g1"), site.sees_link("g1")), (OUTSIDE, false));
    assert_eq!(site.happens(Event::Fetched(id("g1"), order)), Verdict::Withdrawn);
    site.restart();
    site.list();
    site.verify();
    assert_eq!((site.at("g1"), site.sees_link("g1")), (OUTSIDE, false), "over restarts");
    site.wait_until("2026-12-05T20:59:59Z");
    assert_eq!((site.at("g1"), site.member("g1").attempts), (OUTSIDE, 0), "the days do not count for it");
    site.wait_until("2026-12-05T21:00Z");
    assert_eq!((site.sees_link("g1"), site.order("g1")), (true, order));
    site.update("g1");
    assert_eq!(site.at("g1"), Step::Updated);
}

#[test]
fn soaks_run_on_and_waves_open_outside_but_nobody_is_offered() {
    let mut site = site_at("2026-11-29T04:55Z", 3, |_| {});
    let canary = site.canary();
    site.update(&canary);
    site.wait_until("2026-11-29T06:00Z");
    assert_eq!((site.noted(What::WaveProven), site.noted(What::WaveOpened)), (1, 2));
    assert_eq!(site.count(OUTSIDE), 2);
    let Phase::Reconciling(reason, words) = site.phase() else { panic!("{:?}", site.phase()) };
    assert_eq!(reason, ReconcilingReason::OutsideWindow);
    let said = "wave 2 of 2 waits for a window, which opens Sat 5 Dec 22:00 Europe/Berlin, in 6d15h";
    assert_eq!(words, said);
}

#[test]
fn what_waits_for_a_window_expects_it_to_open_and_when() {
    let mut site = site_at("2026-11-28T12:00Z", 1, |_| {});
    site.now = site.now.plus(minutes(10));
    let state = site.core.state();
    let opens = Some(site.now.plus(minutes(9 * 60 - 10)));
    let member = expected(state, site.main(), site.member("g1"), site.now).unwrap();
    let rollout = expected_of(state, site.main(), site.now).unwrap();
    assert_eq!([(member.what, member.at), (rollout.what, rollout.at)], [(Awaited::Window, opens); 2]);
    site.ahead = None;
    site.step(vec![]);
    let state = site.core.state();
    assert_eq!(expected(state, site.main(), site.member("g1"), site.now).unwrap().what, Awaited::Clock);
    assert_eq!(expected_of(state, site.main(), site.now).unwrap().what, Awaited::Clock);
}

#[test]
fn who_is_offline_outside_the_window_is_offline_and_holds_up_no_proof() {
    let mut site = site_at("2026-11-29T04:55Z", 3, one_wave);
    site.update("g1");
    site.update("g2");
    site.wait_until("2026-11-29T05:30Z");
    assert_eq!(site.at("g3"), OUTSIDE);
    assert!(matches!(site.phase(), Phase::Reconciling(ReconcilingReason::OutsideWindow, _)));
    site.offline("g3");
    assert_eq!(site.at("g3"), Step::Waiting(WaitingReason::Offline));
    site.wait(SOAK);
    assert_eq!(site.phase(), Phase::Ready);
    site.seen("g3");
    assert_eq!(site.at("g3"), OUTSIDE);
    site.wait_until("2026-12-05T21:00Z");
    assert_eq!(site.at("g3"), Step::Offered);
}

#[test]
fn without_a_clock_windows_are_closed_unless_the_rollout_says_otherwise() {
    let mut site = site_at("2026-11-28T22:00Z", 1, |_| {});
    site.ahead = None;
    site.step(vec![]);
    assert_eq!((site.at("g1"), site.sees_link("g1")), (NO_CLOCK, false));
    assert!(matches!(site.phase(), Phase::Reconciling(ReconcilingReason::WaitingForClock, _)));
    site.wait(minutes(60 * 24 * 30));
    assert_eq!(site.at("g1"), NO_CLOCK);
    site.edit("main", |spec| spec.windows.when_clock_unknown = WhenClockUnknown::Allow);
    assert_eq!(site.at("g1"), Step::Offered);
    // it turns out to be a Wednesday
    site.clock_says("2026-12-02T12:00Z");
    site.step(vec![]);
    assert_eq!(site.at("g1"), OUTSIDE);
}

#[test]
fn a_clock_that_jumps_56_years_decides_windows_anew_at_once_and_moves_no_deadline() {
    let mut site = site_at("2026-11-28T22:00Z", 2, one_wave);
    half_way(&mut site, "g1");
    site.restart();
    // it boots in 1970, which is not trusted
    site.ahead = None;
    site.list();
    site.verify();
    assert_eq!((site.at("g1"), site.at("g2")), (Step::Downloading, NO_CLOCK));
    let (deadline, due) = (site.member("g1").action.clone().unwrap().deadline, site.next_due);
    site.clock_says("2026-11-28T22:05Z");
    site.step(vec![]);
    assert_eq!((site.at("g1"), site.at("g2")), (Step::Downloading, Step::Offered));
    assert_eq!(site.member("g1").action.clone().unwrap().deadline, deadline);
    assert!(due.is_some() && site.next_due <= deadline);
}

#[test]
fn a_clock_that_is_set_moves_what_the_heart_wakes_for() {
    let mut site = site_at("2026-11-28T12:00Z", 1, |_| {});
    let hours = |h: u64| minutes(60 * h);
    assert_eq!(site.next_change, Some(site.now.plus(hours(9))));
    site.clock_says("2026-11-28T19:00Z");
    site.step(vec![]);
    assert_eq!(site.next_change, Some(site.now.plus(hours(2))));
    site.clock_says("2026-11-29T01:00Z");
    site.step(vec![]);
    assert_eq!((site.at("g1"), site.next_change), (Step::Offered, Some(site.now.plus(hours(4)))));
    site.clock_says("2026-11-27T21:00Z");
    site.step(vec![]);
    assert_eq!((site.at("g1"), site.next_change), (OUTSIDE, Some(site.now.plus(hours(24)))), "and back");
}

#[test]
fn an_edit_of_the_windows_or_of_the_sites_zone_counts_at_once() {
    let mut site = site_at("2026-11-28T12:00Z", 1, |_| {});
    let noon = |spec: &mut RolloutSpec| {
        let time = |text: &str| text.parse().unwrap();
        let window = Window::new(Day::ALL.into(), (time("12:00"), time("12:30")), None, None).unwrap();
        spec.windows.list = vec![window];
    };
    site.edit("main", noon);
    assert_eq!(site.at("g1"), Step::Offered);
    site.settings.time_zone = "Europe/Berlin".parse().unwrap();
    site.happens(Event::Configured(site.settings.clone(), "timeZone".into()));
    assert_eq!(site.at("g1"), OUTSIDE, "it is 13:00 there");
    site.edit("main", |spec| spec.windows = Windows::default());
    assert_eq!(site.at("g1"), Step::Offered, "at all times");
}

#[test]
fn waiting_for_a_window_writes_nothing_and_wakes_nobody_before_it() {
    let mut site = site_at("2026-11-29T06:00Z", 20, one_wave);
    for _ in 0..50 {
        site.now = site.now.plus(minutes(60));
        site.step(vec![]);
        assert!(site.last.is_empty());
        assert_eq!(site.next_due, None, "a window is no deadline");
    }
    assert!(site.next_change.is_some());
}

#[test]
fn windows_of_a_rollout_that_is_done_wake_nobody() {
    let mut site = site_at("2026-11-28T22:00Z", 1, |_| {});
    assert!(site.next_change.is_some());
    site.update("g1");
    site.wait(minutes(60));
    assert_eq!((site.phase(), site.next_change), (Phase::Ready, None));
}

#[test]
fn pause_and_hold_are_said_before_the_window_and_a_full_house_after_it() {
    let mut site = site_at("2026-11-28T12:00Z", 3, |spec| {
        one_wave(spec);
        spec.strategy.max_in_flight = Amount::Count(1);
    });
    assert_eq!(site.count(OUTSIDE), 3);
    site.hold("g1", true);
    assert_eq!(site.at("g1"), Step::Waiting(WaitingReason::Held));
    site.hold("g1", false);
    site.edit("main", |spec| spec.paused = true);
    assert_eq!(site.count(Step::Waiting(WaitingReason::Paused)), 3);
    site.edit("main", |spec| spec.paused = false);
    site.wait_until("2026-11-28T21:00Z");
    assert_eq!((site.count(Step::Offered), site.count(Step::Waiting(WaitingReason::MaxInFlight))), (1, 2));
}
