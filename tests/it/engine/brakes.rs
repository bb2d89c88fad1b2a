//! The brakes: hold, pause, caps, and two rollouts that want one gateway.

use lamplighter::engine::{Phase, Step};
use lamplighter::model::*;

use super::site::*;

const HELD: Step = Step::Waiting(WaitingReason::Held);
const PAUSED: Step = Step::Waiting(WaitingReason::Paused);
const MAX_IN_FLIGHT: Step = Step::Waiting(WaitingReason::MaxInFlight);
const SLOT: Step = Step::Waiting(WaitingReason::DownloadSlot);
const BUSY: Step = Step::Waiting(WaitingReason::ActionOpen);

#[test]
fn hold_and_pause_withdraw_an_unfetched_offer_in_the_same_commit() {
    let mut site = Site::rolling(1, |_| {});
    let before = site.order("g1");
    site.hold("g1", true);
    assert_eq!((site.at("g1"), site.sees_link("g1")), (HELD, false));
    assert_eq!(site.happens(Event::Fetched(id("g1"), before)), Verdict::Withdrawn);
    site.hold("g1", false);
    assert_eq!(site.at("g1"), Step::Offered);
    assert_ne!(site.order("g1"), before, "an order that was never fetched leaves nothing behind");
    site.edit("main", |spec| spec.paused = true);
    assert_eq!((site.at("g1"), site.sees_link("g1")), (PAUSED, false));
    assert!(matches!(site.phase(), Phase::Reconciling(ReconcilingReason::Paused, _)));
}

#[test]
fn the_fetch_is_the_decision() {
    let mut site = Site::rolling(1, |_| {});
    let order = site.order("g1");
    let held = GatewaySpec { hold: true, ..gateway("g1") };
    let intents =
        vec![Intent::Gateway(held), Intent::Rollout(Identity("main".into()), site.rollouts["main"].clone().into())];
    let list = Event::Listed(Listing { intents, refused: vec![] });
    assert_eq!(site.step(vec![list, Event::Fetched(id("g1"), order)])[1], Verdict::Withdrawn);
    assert_eq!(site.at("g1"), HELD);
}

#[test]
fn a_fetched_order_outlives_hold_and_pause() {
    let mut site = Site::rolling(1, |_| {});
    site.fetch("g1");
    site.request("g1", Bytes::Some);
    site.hold("g1", true);
    site.edit("main", |spec| spec.paused = true);
    site.wait(minutes(30));
    assert!(site.sees_link("g1"), "its download is running");
    assert_eq!(site.fetch("g1"), Verdict::Deploy);
    site.served("g1");
    site.body_ended("g1");
    site.wait(minutes(30));
    assert!(site.sees_link("g1"), "it was fully served");
    site.reports("g1", "2");
    assert_eq!(site.at("g1"), Step::Updated);
}

#[test]
fn a_half_served_order_that_idles_is_hidden_on_hold_and_shown_again_under_the_same_id() {
    let mut site = Site::rolling(1, |_| {});
    let order = site.order("g1");
    site.fetch("g1");
    site.request("g1", Bytes::Some);
    site.hold("g1", true);
    site.body_ended("g1");
    site.wait(POLL);
    assert!(site.sees_link("g1"));
    site.wait(POLL);
    assert_eq!((site.at("g1"), site.sees_link("g1")), (HELD, false));
    assert_eq!(site.request("g1", Bytes::Some), Verdict::Withdrawn);
    assert_eq!(site.happens(Event::Fetched(id("g1"), order)), Verdict::Withdrawn);
    site.wait(minutes(6_000));
    assert_eq!(site.at("g1"), HELD, "a person stopped the deadline");
    site.hold("g1", false);
    assert!(site.sees_link("g1"));
    assert_eq!((site.order("g1"), site.member("g1").attempts), (order, 0));
    site.update("g1");
    assert_eq!(site.at("g1"), Step::Updated);
}

#[test]
fn a_half_served_order_that_idles_is_hidden_on_pause_and_over_restarts() {
    let mut site = Site::rolling(1, |_| {});
    let order = site.order("g1");
    site.fetch("g1");
    site.edit("main", |spec| spec.paused = true);
    site.wait(2 * POLL);
    assert_eq!((site.at("g1"), site.sees_link("g1")), (PAUSED, false));
    site.restart();
    site.list();
    assert!(!site.sees_link("g1"));
    site.edit("main", |spec| spec.paused = false);
    assert_eq!((site.sees_link("g1"), site.order("g1")), (true, order));
}

#[test]
fn a_held_gateway_that_is_switched_off_half_way_has_not_failed() {
    let mut site = Site::rolling(1, |_| {});
    site.fetch("g1");
    site.hold("g1", true);
    site.wait(2 * POLL);
    site.offline("g1");
    site.wait(minutes(6_000));
    assert_eq!(site.at("g1"), HELD);
    site.hold("g1", false);
    site.wait(minutes(119));
    assert_eq!(site.at("g1"), Step::Waiting(WaitingReason::Offline), "silence runs the deadline again");
    site.seen("g1");
    site.update("g1");
    assert_eq!(site.at("g1"), Step::Updated);
}

#[test]
fn a_gateway_that_stays_away_after_its_hold_is_no_feedback() {
    let mut site = Site::rolling(1, |_| {});
    site.fetch("g1");
    site.hold("g1", true);
    site.wait(2 * POLL);
    site.offline("g1");
    site.hold("g1", false);
    site.wait(minutes(120));
    assert_eq!(site.at("g1"), Step::Failed(FailedReason::NoFeedback));
}

#[test]
fn a_held_gateway_half_way_keeps_nobody_waiting() {
    let mut site = Site::rolling_on(3, |spec| spec.strategy.max_in_flight = Amount::Count(1));
    let rest = site.rest();
    assert_eq!((site.at(&rest[0]), site.at(&rest[1])), (Step::Offered, MAX_IN_FLIGHT));
    site.fetch(&rest[0]);
    site.hold(&rest[0], true);
    site.wait(2 * POLL);
    assert_eq!((site.at(&rest[0]), site.at(&rest[1])), (HELD, Step::Offered));
    site.update(&rest[1]);
    site.wait(SOAK);
    assert_eq!(site.phase(), Phase::Ready);
}

#[test]
fn soaks_run_on_while_paused_but_no_wave_opens() {
    let mut site = Site::rolling(3, |_| {});
    let canary = site.canary();
    site.update(&canary);
    site.edit("main", |spec| spec.paused = true);
    site.wait(SOAK);
    let waves = &site.main().frozen.as_ref().unwrap().waves;
    assert!(waves[0].proven_at.is_some() && waves[1].opened_at.is_none());
    site.edit("main", |spec| spec.paused = false);
    assert_eq!(site.count(Step::Offered), 2);
}

#[test]
fn no_more_members_are_under_way_than_allowed() {
    let mut site = Site::rolling_on(31, |spec| spec.strategy.max_in_flight = amount("10%"));
    // 10 % of 31, rounded up
    assert_eq!((site.count(Step::Offered), site.count(MAX_IN_FLIGHT)), (4, 26));
    let rest = site.rest();
    site.download(&rest[0]);
    site.says(&rest[0], success());
    assert_eq!((site.at(&rest[0]), site.count(MAX_IN_FLIGHT)), (Step::Confirming, 26));
    site.reports(&rest[0], "2");
    assert_eq!((site.count(Step::Offered), site.count(MAX_IN_FLIGHT)), (4, 25));
    site.edit("main", |spec| spec.strategy.max_in_flight = Amount::Count(20));
    assert_eq!(site.count(Step::Offered), 20);
}

#[test]
fn download_slots_are_shared_by_all_rollouts_and_freed_by_the_last_byte() {
    let mut site = Site::new();
    site.settings.download_slots = 2;
    site.restart();
    site.declare_gateways(6);
    for (name, side) in [("main", "left"), ("other", "right")] {
        let mut spec = rollout(name, "2");
        spec.selector.match_labels = [("side".into(), side.into())].into();
        spec.strategy.waves = vec![WaveSpec::REST];
        site.rollouts.insert(name.into(), spec);
    }
    for (at, spec) in site.gateways.values_mut().enumerate() {
        spec.labels = [("side".into(), if at < 3 { "left" } else { "right" }.into())].into();
    }
    site.list();
    site.everybody_polls();
    site.verify();
    let all = |site: &Site, step| {
        let rollouts = site.core.state().rollouts.values();
        rollouts.flat_map(|r| r.members.values()).filter(|member| member.step == step).count()
    };
    assert_eq!((all(&site, Step::Offered), all(&site, SLOT)), (2, 4));
    let first = site.queue()[0].to_string();
    site.download(&first);
    assert_eq!((site.at(&first), all(&site, Step::Offered), all(&site, SLOT)), (Step::Installing, 2, 3));
    site.quiet(&site.queue()[1].to_string());
    assert_eq!((all(&site, Step::Offered), all(&site, SLOT)), (2, 2), "an offer that goes back frees its slot too");
}

/// Two rollouts of different artifacts to one gateway; `second` is the newer.
fn two_artifacts() -> Site {
    let mut site = Site::rolling(1, |_| {});
    site.rollouts.insert("second".into(), rollout("plc", "7"));
    site.list();
    site.verify();
    site
}

#[test]
fn two_rollouts_of_different_artifacts_take_turns() {
    let mut site = two_artifacts();
    assert_eq!((site.at("g1"), site.at_in("second", "g1")), (Step::Offered, BUSY));
    site.update("g1");
    assert_eq!((site.at("g1"), site.at_in("second", "g1")), (Step::Updated, Step::Offered));
}

#[test]
fn an_order_that_goes_back_lets_the_other_rollout_go() {
    let mut site = two_artifacts();
    site.edit("main", |spec| spec.paused = true);
    assert_eq!((site.at("g1"), site.at_in("second", "g1")), (PAUSED, Step::Offered));
    site.edit("main", |spec| spec.paused = false);
    assert_eq!(site.at("g1"), BUSY);
}

#[test]
fn an_order_that_waits_half_way_lets_the_other_rollout_go() {
    let mut site = two_artifacts();
    let half_way = site.order("g1");
    site.fetch("g1");
    site.edit("main", |spec| spec.paused = true);
    site.wait(2 * POLL);
    assert_eq!((site.at("g1"), site.at_in("second", "g1")), (PAUSED, Step::Offered));
    assert_ne!(site.order("g1"), half_way);
    // one open order per gateway: the older one is closed and continues under a new id
    assert_eq!(site.says_on("g1", half_way, failure()), Verdict::AlreadyClosed);
    site.edit("main", |spec| spec.paused = false);
    assert_eq!(site.at("g1"), BUSY);
    site.edit("second", |spec| spec.paused = true);
    assert_eq!(
        (site.at("g1"), site.member("g1").action.as_ref().unwrap().aliases.clone()),
        (Step::Offered, vec![half_way])
    );
}

#[test]
fn a_lapsed_download_of_a_stopped_rollout_lets_the_other_rollout_go() {
    let mut site = two_artifacts();
    site.fetch("g1");
    site.request("g1", Bytes::Some);
    site.edit("main", |spec| spec.paused = true);
    site.wait(minutes(120));
    assert_eq!((site.at("g1"), site.at_in("second", "g1")), (PAUSED, Step::Offered));
}

#[test]
fn there_is_one_open_order_per_gateway() {
    let mut site = two_artifacts();
    let open = |site: &Site| {
        let members = site.core.state().rollouts.values().filter_map(|rollout| rollout.members.get(&id("g1")));
        members.filter(|member| member.open_action().is_some()).count()
    };
    assert_eq!(open(&site), 1);
    site.download("g1");
    site.reports("g1", "2");
    assert_eq!((open(&site), site.at_in("second", "g1")), (1, BUSY), "its last word may still come");
    site.says("g1", success());
    assert_eq!((open(&site), site.at_in("second", "g1")), (1, Step::Offered));
}

#[test]
fn a_gateway_that_another_rollout_is_updating_has_not_regressed() {
    // the first soaks, the second makes the gateway reboot
    let mut site = two_artifacts();
    site.update("g1");
    site.download("g1");
    site.quiet("g1");
    assert_eq!((site.at("g1"), site.at_in("second", "g1")), (Step::Updated, Step::Installing));
}
