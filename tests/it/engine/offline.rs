//! Silence: what it excuses, and what it does not.

use std::time::Duration;

use lamplighter::engine::{Settings, Step};
use lamplighter::model::*;

use super::site::*;

const OFFLINE: Step = Step::Waiting(WaitingReason::Offline);

#[test]
fn a_gateway_that_never_polled_is_not_offered() {
    let mut site = Site::new();
    site.declare_gateways(1);
    site.rollouts.insert("main".into(), rollout("os", "2"));
    site.list();
    site.verify();
    assert_eq!(site.at("g1"), OFFLINE);
    site.seen("g1");
    assert_eq!(site.at("g1"), Step::Offered);
}

#[test]
fn an_offer_goes_back_when_the_gateway_stops_polling() {
    let mut site = Site::rolling(1, |_| {});
    site.quiet("g1");
    assert_eq!((site.at("g1"), site.sees_link("g1")), (OFFLINE, false));
    site.wait(minutes(6_000));
    assert_eq!((site.at("g1"), site.member("g1").not_fetched), (OFFLINE, 0));
    site.seen("g1");
    assert_eq!(site.at("g1"), Step::Offered);
}

#[test]
fn an_offer_that_lies_for_two_intervals_goes_back_and_at_the_third_time_the_member_failed() {
    let mut site = Site::rolling(1, |_| {});
    for times in [1, 2] {
        site.wait(2 * POLL - Duration::from_secs(1));
        assert_eq!(site.at("g1"), Step::Offered, "{times}");
        site.wait(Duration::from_secs(1));
        assert_eq!((site.at("g1"), site.sees_link("g1")), (Step::Waiting(WaitingReason::NotFetched), false));
        site.wait(POLL);
    }
    site.wait(2 * POLL);
    assert_eq!((site.at("g1"), site.sees_link("g1")), (Step::Failed(FailedReason::NotFetched), false));
}

#[test]
fn a_fetch_starts_the_count_of_lying_offers_again() {
    let mut site = Site::rolling(1, |_| {});
    site.wait(2 * POLL + POLL + 2 * POLL + POLL);
    assert_eq!((site.at("g1"), site.member("g1").not_fetched), (Step::Offered, 2));
    site.fail("g1");
    site.wait(minutes(1) + 2 * POLL);
    assert_eq!((site.at("g1"), site.member("g1").not_fetched), (Step::Waiting(WaitingReason::NotFetched), 1));
}

#[test]
fn a_slow_pollers_offer_lies_for_two_of_its_own_intervals() {
    let mut site = Site::rolling(1, |spec| spec.paused = true);
    site.happens(Event::Pace(id("g1"), minutes(5)));
    site.edit("main", |spec| spec.paused = false);
    site.wait(minutes(9));
    assert_eq!(site.at("g1"), Step::Offered);
    site.wait(minutes(1));
    assert_eq!(site.at("g1"), Step::Waiting(WaitingReason::NotFetched));
}

#[test]
fn an_interval_is_never_shorter_than_what_gateways_are_told() {
    let mut site = Site::rolling(1, |spec| spec.paused = true);
    site.happens(Event::Pace(id("g1"), Duration::ZERO));
    site.edit("main", |spec| spec.paused = false);
    assert_eq!(site.at("g1"), Step::Offered);
    site.wait(POLL);
    assert_eq!(site.at("g1"), Step::Offered);
}

/// The site file has another interval; what `g1` is told of it.
fn told(site: &mut Site, interval: Duration) -> Duration {
    let settings = Settings { poll_interval: interval, ..site.settings.clone() };
    site.settings = settings.clone();
    site.happens(Event::Configured(settings, format!("devices.pollInterval is {interval:?}")));
    poll_interval::told(interval, "g1")
}

#[test]
fn who_was_told_a_longer_interval_has_it_until_the_new_one_was_heard_also_over_a_restart() {
    let mut site = Site::rolling(1, |spec| spec.paused = true);
    let own = told(&mut site, Duration::from_secs(10));
    site.restart();
    site.edit("main", |spec| spec.paused = false);
    site.wait(2 * POLL - Duration::from_secs(1));
    assert_eq!(site.at("g1"), Step::Offered);
    site.wait(Duration::from_secs(1));
    assert_eq!(site.at("g1"), Step::Waiting(WaitingReason::NotFetched));
    // it has heard it, and takes its time no more
    site.happens(Event::Pace(id("g1"), own));
    site.wait(POLL);
    assert_eq!(site.at("g1"), Step::Offered);
    site.wait(2 * own);
    assert_eq!(site.at("g1"), Step::Waiting(WaitingReason::NotFetched));
}

#[test]
fn a_longer_interval_counts_at_once_and_is_journalled() {
    let mut site = Site::rolling(1, |spec| spec.paused = true);
    let own = told(&mut site, minutes(5));
    assert_eq!(site.journal.last().unwrap().what, What::SiteFileChanged);
    site.edit("main", |spec| spec.paused = false);
    site.wait(2 * own - minutes(1));
    assert_eq!(site.at("g1"), Step::Offered);
    site.wait(minutes(1));
    assert_eq!(site.at("g1"), Step::Waiting(WaitingReason::NotFetched));
}

#[test]
fn more_slots_are_given_out_at_once() {
    let mut site = Site::rolling(6, |_| {});
    let slots = |site: &mut Site, slots| {
        site.settings.download_slots = slots;
        site.happens(Event::Configured(site.settings.clone(), format!("{slots} slots")));
    };
    slots(&mut site, 1);
    let canary = site.canary();
    site.update(&canary);
    site.wait(SOAK);
    let offered = |site: &Site| (1..=6).filter(|at| site.at(&format!("g{at}")) == Step::Offered).count();
    assert_eq!(offered(&site), 1);
    slots(&mut site, 3);
    assert_eq!(offered(&site), 3);
    slots(&mut site, 1_000);
    assert_eq!(offered(&site), 5);
}

#[test]
fn from_the_first_fetch_on_silence_runs_the_deadline() {
    let mut site = Site::rolling(1, |_| {});
    site.fetch("g1");
    site.offline("g1");
    assert_eq!(site.at("g1"), Step::Downloading);
    site.wait(minutes(120));
    assert_eq!(site.at("g1"), Step::Failed(FailedReason::NoFeedback));

    let mut site = Site::rolling(1, |_| {});
    site.download("g1");
    site.offline("g1");
    site.wait(minutes(59));
    assert_eq!(site.at("g1"), Step::Installing);
    site.wait(minutes(1));
    assert_eq!(site.at("g1"), Step::Failed(FailedReason::NoFeedback));
}

#[test]
fn offline_excuses_nobody_who_ever_fetched() {
    // failed once, and gone before its second attempt
    let mut site = Site::rolling_on(3, |_| {});
    let rest = site.rest();
    site.fail(&rest[0]);
    site.offline(&rest[0]);
    site.wait(3 * POLL);
    assert_eq!(site.at(&rest[0]), Step::Failed(FailedReason::NoFeedback));
    site.update(&rest[1]);
    site.wait(SOAK);
    assert_eq!(site.phase(), lamplighter::engine::Phase::Ready);
}

#[test]
fn a_finished_rollout_stays_in_force_for_offline_members() {
    let mut site = Site::rolling_on(3, |_| {});
    let rest = site.rest();
    site.offline(&rest[1]);
    site.update(&rest[0]);
    site.wait(SOAK);
    site.restart();
    site.list();
    site.seen(&rest[1]);
    site.update(&rest[1]);
    assert_eq!(site.at(&rest[1]), Step::Updated);
}

#[test]
fn a_fetched_order_is_waited_for_until_its_gateway_is_offline() {
    let mut site = Site::rolling_on(3, |_| {});
    let rest = site.rest();
    site.fetch(&rest[0]);
    site.update(&rest[1]);
    site.wait(minutes(120));
    site.quiet(&rest[0]);
    assert_eq!((site.at(&rest[0]), site.sees_link(&rest[0])), (OFFLINE, false));
    site.wait(SOAK);
    assert_ne!(site.phase(), lamplighter::engine::Phase::Ready, "offline excuses only who never fetched");
    site.offline(&rest[0]);
    assert_eq!(site.at(&rest[0]), Step::Failed(FailedReason::NoFeedback));
    site.wait(SOAK);
    assert_eq!(site.phase(), lamplighter::engine::Phase::Ready);
}

#[test]
fn a_download_whose_gateway_is_silent_at_the_deadline_is_no_feedback() {
    let mut site = Site::rolling(1, |_| {});
    site.fetch("g1");
    site.quiet("g1");
    site.wait(minutes(120));
    assert_eq!(site.at("g1"), Step::Failed(FailedReason::NoFeedback));
}

#[test]
fn a_fetch_of_the_same_id_starts_the_count_of_lying_offers_again() {
    let mut site = Site::rolling(1, |_| {});
    site.wait(6 * POLL);
    assert_eq!((site.at("g1"), site.member("g1").not_fetched), (Step::Offered, 2));
    site.fetch("g1");
    site.wait(minutes(120) + 2 * POLL);
    assert_eq!(site.at("g1"), Step::Waiting(WaitingReason::NotFetched));
}

#[test]
fn an_offer_to_rhu_lies_as_long_as_it_stays_away_after_an_error() {
    let mut site = Site::rolling(1, |_| {});
    site.happens(Event::Client(id("g1"), Client::Rauc));
    // the offer of before it was known as rhu, and the pause after it
    site.wait(2 * POLL);
    site.wait(POLL);
    let order = site.order("g1");
    site.wait(minutes(9));
    assert_eq!((site.at("g1"), site.order("g1")), (Step::Offered, order));
    site.wait(minutes(1));
    assert_eq!(site.at("g1"), Step::Waiting(WaitingReason::NotFetched));
}

#[test]
fn an_interval_that_was_shortened_while_the_site_was_stopped_counts_for_each_once_it_has_heard_it() {
    let mut site = Site::rolling(1, |spec| spec.paused = true);
    site.restart();
    assert!(site.last.site.as_ref().is_some_and(|record| record.told == Some(INTERVAL)), "what is told is on disk");
    let before = site.core.state().interval(&site.core.state().gateways[&id("g1")]);
    site.settings.poll_interval = Duration::from_secs(10);
    // and killed before it came round to anything
    for _ in 0..2 {
        site.restart();
        let state = site.core.state();
        assert_eq!(state.interval(&state.gateways[&id("g1")]), before);
        assert_eq!(state.comes_by(&state.gateways[&id("g1")]), Some(before), "what its silence is measured by");
    }
    site.edit("main", |spec| spec.paused = false);
    site.wait(2 * before - Duration::from_secs(1));
    assert_eq!(site.at("g1"), Step::Offered);
    site.happens(Event::Pace(id("g1"), poll_interval::told(Duration::from_secs(10), "g1")));
    assert_eq!(site.core.state().gateways[&id("g1")].interval, None);
    site.restart();
    assert!(site.last.site.is_none(), "nothing is written where nothing changed");
    assert_eq!(site.core.state().gateways[&id("g1")].interval, None);
}
