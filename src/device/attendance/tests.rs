//! Attendance, poll by poll.

use super::*;

const PACING: Pacing = Pacing { told: Duration::from_secs(60), offline_after: Duration::from_secs(600) };

fn at(seconds: u64) -> SiteTime {
    SiteTime(seconds * 1000)
}

/// Of the gateways that are told just what the site's interval is.
fn gateway() -> ControllerId {
    "gw-8".parse().unwrap()
}

fn started(state: State) -> Attendance {
    let mut presence = Attendance::new(PACING);
    presence.start(at(0), [(gateway(), state, None, Client::Generic)]);
    presence
}

#[test]
fn steady_polling_with_jitter_yields_one_event_for_all_its_life() {
    let mut presence = started(State::Never);
    assert_eq!(presence.next_due(), None);
    assert_eq!(presence.poll(&gateway(), at(5), None), [Event::Seen(gateway())]);
    let mut now = 5;
    for jitter in [0, 12, 25, 3, 29, 0, 18, 7] {
        now += 60 + jitter;
        assert_eq!(presence.due(at(now)), []);
        assert_eq!(presence.poll(&gateway(), at(now), None), [], "after a gap of {} s", 60 + jitter);
    }
}

#[test]
fn silence_is_quiet_after_two_intervals_then_offline_and_the_next_poll_is_seen() {
    let mut presence = started(State::Never);
    presence.poll(&gateway(), at(10), None);
    assert_eq!(presence.due(at(129)), []);
    assert_eq!(presence.next_due(), Some(at(130)));
    assert_eq!(presence.due(at(130)), [Event::Quiet(gateway())]);
    assert_eq!(presence.next_due(), Some(at(610)));
    assert_eq!(presence.due(at(609)), []);
    assert_eq!(presence.due(at(610)), [Event::Offline(gateway())]);
    assert_eq!(presence.next_due(), None);
    assert_eq!(presence.poll(&gateway(), at(700), None), [Event::Seen(gateway())]);
    assert_eq!(presence.next_due(), Some(at(820)));
}

#[test]
fn after_a_standstill_of_the_site_silence_is_counted_anew() {
    let mut presence = started(State::Polling);
    let quiet: ControllerId = "gw-2".parse().unwrap();
    presence.poll(&quiet, at(0), None);
    assert_eq!(presence.due(at(120)).len(), 2);
    presence.poll(&gateway(), at(121), None);

    presence.resume(at(605));
    assert_eq!(presence.due(at(724)), []);
    assert_eq!(presence.due(at(725)), [Event::Quiet(gateway())]);
    assert_eq!(presence.due(at(1_204)), []);
    assert_eq!(presence.due(at(1_205)).len(), 2, "offline, both");
    assert_eq!(presence.next_due(), None);
}

#[test]
fn a_loop_that_looks_late_says_offline_once() {
    let mut presence = started(State::Polling);
    assert_eq!(presence.due(at(10_000)), [Event::Offline(gateway())]);
    assert_eq!(presence.due(at(20_000)), []);
}

#[test]
fn after_a_start_nobody_is_offline_before_offline_after_and_whoever_polled_counts_as_polled() {
    let mut presence = Attendance::new(PACING);
    presence.start(at(5_000), [(gateway(), State::Quiet, None, Client::Generic)]);
    assert_eq!(presence.due(at(5_599)), []);
    assert_eq!(presence.due(at(5_600)), [Event::Offline(gateway())]);

    let mut presence = Attendance::new(PACING);
    presence.start(at(5_000), [(gateway(), State::Polling, None, Client::Generic)]);
    let seen = [Event::Seen(gateway())];
    assert_eq!(presence.poll(&gateway(), at(5_119), None), seen, "the time the site was down is no gap");
    assert_eq!(presence.poll(&gateway(), at(5_179), None), []);
    presence.resume(at(9_000));
    assert_eq!(presence.poll(&gateway(), at(9_001), None), seen, "nor is the time that it stood still");
    assert_eq!(presence.interval("gw-8"), PACING.told);
}

#[test]
fn a_slower_rhythm_is_told_once_and_forgotten_after_four_polls() {
    let mut presence = started(State::Never);
    presence.poll(&gateway(), at(0), None);
    let pace = |seconds| Event::Pace(gateway(), Duration::from_secs(seconds));
    assert_eq!(presence.poll(&gateway(), at(100), None), [pace(120)]);
    assert_eq!(presence.due(at(339)), [], "two intervals are four minutes now");
    assert_eq!(presence.poll(&gateway(), at(440), None), [pace(240)]);
    let mut events = Vec::new();
    for poll in 1..=4 {
        events.extend(presence.poll(&gateway(), at(440 + 60 * poll), None));
    }
    assert_eq!(events, [pace(60)]);
}

#[test]
fn an_absence_is_no_rhythm() {
    let mut presence = started(State::Never);
    presence.poll(&gateway(), at(0), None);
    presence.due(at(601));
    assert_eq!(presence.poll(&gateway(), at(90_000), None), [Event::Seen(gateway())]);
    assert_eq!(presence.interval("gw-8"), PACING.told);
}

#[test]
fn a_pace_from_the_store_holds_until_four_polls_say_otherwise() {
    let mut presence = Attendance::new(PACING);
    presence.start(at(0), [(gateway(), State::Polling, Some(Duration::from_secs(240)), Client::Generic)]);
    assert_eq!(presence.due(at(479)), []);
    assert_eq!(presence.due(at(480)), [Event::Quiet(gateway())]);
}

#[test]
fn a_faster_rhythm_brings_the_deadline_forward() {
    let mut presence = Attendance::new(PACING);
    presence.start(at(0), [(gateway(), State::Polling, Some(Duration::from_secs(240)), Client::Generic)]);
    for second in [10, 20, 30, 40, 50] {
        presence.poll(&gateway(), at(second), None);
    }
    assert_eq!(presence.interval("gw-8"), PACING.told);
    assert_eq!(presence.next_due(), Some(at(170)));
}

#[test]
fn the_loop_is_told_about_the_first_poll_from_a_time_on_and_only_that() {
    let mut presence = started(State::Polling);
    let from = Some(at(100));
    assert_eq!(presence.poll(&gateway(), at(99), from), [Event::Seen(gateway())]);
    assert_eq!(presence.poll(&gateway(), at(100), from), [Event::Polled(gateway())]);
    assert_eq!(presence.poll(&gateway(), at(120), from), []);
    assert_eq!(presence.poll(&gateway(), at(140), Some(at(130))), [Event::Polled(gateway())]);
}

#[test]
fn a_download_is_a_sign_of_life_but_no_poll() {
    let mut presence = started(State::Polling);
    presence.poll(&gateway(), at(10), None);
    assert_eq!(presence.heard(&gateway(), at(500)), None);
    assert_eq!(presence.due(at(600)), []);
    assert_eq!(presence.last_poll("gw-8"), Some(at(10)));
}

#[test]
fn b_0_3_attributes_are_asked_for_once_per_interval_at_most() {
    let mut presence = started(State::Polling);
    assert!(!presence.shows_request("gw-8", Ask::No, at(0)));
    assert!(presence.shows_request("gw-8", Ask::Once, at(0)));
    assert!(presence.shows_request("gw-8", Ask::EachInterval, at(0)));
    presence.attributes_sent(&gateway(), at(1));
    assert!(!presence.shows_request("gw-8", Ask::EachInterval, at(1)), "Zephyr polls again at once");
    assert!(!presence.shows_request("gw-8", Ask::EachInterval, at(31)));
    assert!(presence.shows_request("gw-8", Ask::EachInterval, at(60)), "polls are never exactly an interval apart");
}

#[test]
fn two_machines_with_one_id_and_different_clients_are_news_once_an_hour() {
    let mut presence = started(State::Polling);
    assert_eq!(presence.runs(&gateway(), Client::Generic, at(0)), None);
    assert_eq!(presence.runs(&gateway(), Client::Rauc, at(1)), Some(Event::Client(gateway(), Client::Rauc)));
    assert_eq!(presence.runs(&gateway(), Client::SwUpdate, at(2)), None);
    assert_eq!(presence.runs(&gateway(), Client::Rauc, at(3)), None);
    assert!(presence.runs(&gateway(), Client::SwUpdate, at(3_700)).is_some());
}

#[test]
fn our_failures_excuse_until_the_next_fetch() {
    let mut presence = started(State::Polling);
    presence.excuse(&gateway());
    assert!(presence.excused("gw-8"));
    presence.fetched(&gateway());
    assert!(!presence.excused("gw-8"));
}

#[test]
fn rhu_is_not_quiet_for_five_minutes_after_a_start_or_an_error_of_ours() {
    let mut presence = Attendance::new(PACING);
    presence.start(at(0), [(gateway(), State::Polling, None, Client::Rauc)]);
    assert_eq!(presence.due(at(299)), [], "it may have polled while the site was down");
    assert_eq!(presence.poll(&gateway(), at(300), None), [Event::Seen(gateway())]);
    presence.poll(&gateway(), at(360), None);
    presence.excuse(&gateway());
    assert_eq!(presence.due(at(660)), []);
    assert_eq!(presence.poll(&gateway(), at(661), None), [], "nor is that its rhythm");
    assert_eq!(presence.due(at(781)), [Event::Quiet(gateway())]);
}

#[test]
fn a_shorter_patience_counts_for_who_is_silent_already_and_a_longer_interval_for_whoever_heard_it() {
    let mut presence = started(State::Never);
    presence.poll(&gateway(), at(10), None);
    presence.due(at(130));
    presence.set_pacing(Pacing { offline_after: Duration::from_secs(200), ..PACING });
    assert_eq!(presence.next_due(), Some(at(210)));
    assert_eq!(presence.due(at(210)), [Event::Offline(gateway())]);

    let mut presence = started(State::Never);
    presence.poll(&gateway(), at(10), None);
    presence.set_pacing(Pacing { told: Duration::from_secs(300), offline_after: Duration::from_secs(900) });
    assert_eq!(presence.next_due(), Some(at(130)), "it comes as it was told before");
    assert_eq!(presence.poll(&gateway(), at(70), None), [Event::Pace(gateway(), Duration::from_secs(300))]);
    assert_eq!(presence.due(at(669)), []);
    assert_eq!(presence.due(at(670)), [Event::Quiet(gateway())]);
}
