//! Healthy: what makes a gateway count as the other half of a pair, each rule by itself.

use lamplighter::engine::{Step, because};
use lamplighter::model::*;

use super::site::*;

const MIN_HEALTHY: Step = Step::Waiting(WaitingReason::MinHealthy);

/// A pair, of which one healthy must stay; only `g1` is a member of `main`, so `g2` is the other half.
fn pair() -> Site {
    let mut site = Site::new();
    site.declare_gateways(2);
    for (name, side) in [("g1", "left"), ("g2", "right")] {
        let labels = &mut site.gateways.get_mut(name).unwrap().labels;
        labels.insert("pair".into(), "p".into());
        labels.insert("side".into(), side.into());
    }
    let mut spec = rollout("os", "2");
    spec.selector.match_labels = [("side".into(), "left".into())].into();
    spec.strategy.spread =
        Some(Spread { label: "pair".into(), max_in_flight: None, min_healthy: Some(Amount::Count(1)) });
    site.rollouts.insert("main".into(), spec);
    site.list();
    site.verify();
    site
}

fn healthy_pair() -> Site {
    let mut site = pair();
    site.everybody_polls();
    assert_eq!(site.at("g1"), Step::Offered);
    site
}

/// Another rollout to the right half only.
fn update_the_other(site: &mut Site) {
    let mut other = rollout("plc", "7");
    other.selector.match_labels = [("side".into(), "right".into())].into();
    other.attempts = 1;
    site.rollouts.insert("other".into(), other);
    site.list();
    site.verify();
}

fn because_of(site: &Site) -> String {
    let (main, _) = site.core.state().rollouts.iter().find(|(_, rollout)| rollout.identity.0 == "main").unwrap();
    because(site.core.state(), site.now, *main, &id("g1")).unwrap_or_default()
}

#[test]
fn half_of_a_pair_is_dead_and_its_partner_is_never_touched() {
    let mut site = pair();
    site.seen("g1");
    assert_eq!(site.at("g1"), MIN_HEALTHY, "the other never polled");
    assert_eq!(because_of(&site), "pair p: 0 others are healthy and free, 1 must be; g2 is not polling");
    site.wait(minutes(10_000));
    assert_eq!(site.at("g1"), MIN_HEALTHY);
    site.seen("g2");
    assert_eq!(site.at("g1"), Step::Offered);
}

#[test]
fn one_that_falls_silent_takes_its_partners_offer_back_at_once() {
    let mut site = healthy_pair();
    let order = site.order("g1");
    site.quiet("g2");
    assert_eq!((site.at("g1"), site.sees_link("g1")), (MIN_HEALTHY, false));
    assert_eq!(site.happens(Event::Fetched(id("g1"), order)), Verdict::Withdrawn);
    site.seen("g2");
    assert_eq!(site.at("g1"), Step::Offered);
}

#[test]
fn what_its_partner_fetched_already_goes_on_when_the_other_dies() {
    let mut site = healthy_pair();
    site.download("g1");
    site.quiet("g2");
    assert_eq!(site.at("g1"), Step::Installing, "taking it back would leave it half-way");
}

#[test]
fn a_held_one_is_not_healthy() {
    let mut site = healthy_pair();
    site.hold("g2", true);
    assert_eq!(site.at("g1"), MIN_HEALTHY);
    assert!(because_of(&site).ends_with("g2 is held"), "{}", because_of(&site));
    site.hold("g2", false);
    assert_eq!(site.at("g1"), Step::Offered);
}

#[test]
fn one_that_is_no_longer_declared_is_nobodys_other_half() {
    let mut site = healthy_pair();
    site.gateways.remove("g2");
    site.list();
    assert_eq!(site.at("g1"), MIN_HEALTHY);
}

#[test]
fn one_that_is_offered_or_updated_by_another_rollout_is_not_healthy_until_its_order_is_closed() {
    let mut site = healthy_pair();
    update_the_other(&mut site);
    assert_eq!((site.at_in("other", "g2"), site.at("g1")), (Step::Offered, MIN_HEALTHY));
    site.download("g2");
    assert_eq!(site.at("g1"), MIN_HEALTHY);
    site.says("g2", success());
    assert_eq!((site.at_in("other", "g2"), site.at("g1")), (Step::Confirming, MIN_HEALTHY));
    site.attributes("g2", AttributesMode::Merge, &[("plc", Some("7"))]);
    assert_eq!((site.at_in("other", "g2"), site.at("g1")), (Step::Updated, Step::Offered));
}

#[test]
fn one_whose_last_attempt_failed_is_not_healthy_until_it_is_updated() {
    let mut site = healthy_pair();
    update_the_other(&mut site);
    site.fail("g2");
    assert_eq!((site.at_in("other", "g2"), site.at("g1")), (Step::Failed(FailedReason::Reported), MIN_HEALTHY));
    assert!(because_of(&site).ends_with("g2 failed its last update"), "{}", because_of(&site));
    site.restart();
    site.list();
    site.everybody_polls();
    assert_eq!(site.at("g1"), MIN_HEALTHY, "it is remembered");
    // the next version takes the failed one's rollout away, and not what it did
    site.edit("other", |spec| spec.artifact = rollout("plc", "8").artifact);
    site.verify();
    assert_eq!((site.at_in("other", "g2"), site.at("g1")), (Step::Offered, MIN_HEALTHY));
    site.download("g2");
    site.says("g2", success());
    site.attributes("g2", AttributesMode::Merge, &[("plc", Some("8"))]);
    assert_eq!(site.at("g1"), Step::Offered);
}

#[test]
fn one_that_has_the_version_already_was_set_right_by_hand() {
    let mut site = healthy_pair();
    update_the_other(&mut site);
    site.fail("g2");
    site.attributes("g2", AttributesMode::Merge, &[("plc", Some("8"))]);
    assert_eq!(site.at("g1"), MIN_HEALTHY);
    site.edit("other", |spec| spec.artifact = rollout("plc", "8").artifact);
    site.verify();
    assert_eq!(site.at_in("other", "g2"), Step::Skipped(SkippedReason::AlreadyInstalled));
    assert_eq!(site.at("g1"), Step::Offered);
}

#[test]
fn one_that_regressed_in_its_soak_is_not_healthy_when_it_is_back() {
    let mut site = healthy_pair();
    update_the_other(&mut site);
    site.download("g2");
    site.says("g2", success());
    site.attributes("g2", AttributesMode::Merge, &[("plc", Some("7"))]);
    site.quiet("g2");
    site.wait(3 * POLL);
    assert_eq!(site.at_in("other", "g2"), Step::Failed(FailedReason::Regressed));
    site.seen("g2");
    assert_eq!(site.at("g1"), MIN_HEALTHY);
}

#[test]
fn after_a_restart_one_counts_once_it_has_polled_and_an_offer_stands_meanwhile() {
    let mut site = healthy_pair();
    site.restart_whole();
    assert!(site.sees_link("g1"), "nothing is known against it");
    assert_eq!(site.fetch("g1"), Verdict::Withdrawn, "but nothing for it either");
    assert_eq!(site.at("g1"), MIN_HEALTHY);
    assert!(because_of(&site).ends_with("g2 has not polled since the site was started"), "{}", because_of(&site));
    site.seen("g2");
    assert_eq!(site.fetch("g1"), Verdict::Deploy);
}

#[test]
fn the_same_after_a_standstill() {
    let mut site = healthy_pair();
    site.happens(Event::StoodStill);
    assert_eq!(site.fetch("g1"), Verdict::Withdrawn);
}

#[test]
fn an_unhealthy_one_is_updated_if_enough_others_are_healthy() {
    let mut site = healthy_pair();
    update_the_other(&mut site);
    site.fail("g2");
    // now g2 is to be repaired by a rollout of its own, with the same care
    let mut spec = rollout("plc", "8");
    spec.selector.match_labels = [("side".into(), "right".into())].into();
    spec.strategy.spread = site.rollouts["main"].strategy.spread.clone();
    site.rollouts.insert("other".into(), spec);
    site.list();
    site.verify();
    assert_eq!(site.at_in("other", "g2"), Step::Offered, "that takes nothing away from g1");
    site.quiet("g1");
    assert_eq!(site.at_in("other", "g2"), MIN_HEALTHY);
}

fn mended(site: &mut Site, gateway: &str) -> Verdict {
    site.happens(Event::Order(Order::Repaired(id(gateway)), "alice (uid 1000)".into()))
}

#[test]
fn one_that_was_mended_by_hand_counts_again_once_a_person_says_so() {
    let mut site = healthy_pair();
    update_the_other(&mut site);
    site.fail("g2");
    assert_eq!(site.at("g1"), MIN_HEALTHY);
    assert_eq!(mended(&mut site, "g2"), Verdict::Accepted);
    assert_eq!((site.at("g1"), site.at_in("other", "g2")), (Step::Offered, Step::Failed(FailedReason::Reported)));
    let row = site.journal.iter().find(|row| row.what == What::Ordered).unwrap();
    assert_eq!((row.gateway.as_deref(), row.detail.as_str()), (Some("g2"), "unhold as repaired, by alice (uid 1000)"));
    assert_eq!(mended(&mut site, "g2"), Verdict::Already);
    assert_eq!((site.noted(What::Ordered), mended(&mut site, "nobody")), (1, Verdict::Unknown));
    site.restart_whole();
    site.verify();
    site.everybody_polls();
    assert_eq!(site.at("g1"), Step::Offered, "it is remembered");
}

#[test]
fn saying_so_lifts_no_hold_and_what_it_does_next_counts_as_ever() {
    let mut site = healthy_pair();
    update_the_other(&mut site);
    site.fail("g2");
    site.hold("g2", true);
    assert_eq!(mended(&mut site, "g2"), Verdict::Accepted);
    assert_eq!(site.at("g1"), MIN_HEALTHY);
    assert!(because_of(&site).ends_with("g2 is held"), "{}", because_of(&site));
    site.hold("g2", false);
    site.edit("other", |spec| spec.artifact = rollout("plc", "8").artifact);
    site.verify();
    site.fail("g2");
    assert!(because_of(&site).ends_with("g2 failed its last update"), "{}", because_of(&site));
}

/// Two machines report under one id, in turns.
fn two_machines_report(site: &mut Site, versions: [&str; 2]) {
    for (host, version) in [(1, versions[0]), (2, versions[1]), (1, versions[0])] {
        let from = Some([10, 0, 0, host].into());
        let data = [("os".into(), Some(version.into()))].into();
        site.happens(Event::Attributes(id("g2"), Attributes { mode: AttributesMode::Merge, data, from }));
    }
}

#[test]
fn one_whose_twin_is_gone_counts_again_once_a_person_says_so_and_not_when_it_was_never_gone() {
    let mut site = healthy_pair();
    site.happens(Event::Shared(id("g2"), true));
    two_machines_report(&mut site, ["1", "5"]);
    assert_eq!(site.at("g1"), MIN_HEALTHY);
    assert_eq!(mended(&mut site, "g2"), Verdict::Accepted);
    assert_eq!(site.at("g1"), Step::Offered);
    let row = site.journal.last().unwrap();
    assert_eq!((row.what, row.gateway.as_deref()), (What::Offered, Some("g1")));
    assert_eq!(mended(&mut site, "g2"), Verdict::Already, "nothing is wrong with it any more");
    two_machines_report(&mut site, ["1", "5"]);
    assert_eq!(site.at("g1"), MIN_HEALTHY, "the other is still there");
}

#[test]
fn one_whose_id_two_machines_share_is_not_healthy() {
    let mut site = healthy_pair();
    site.happens(Event::Shared(id("g2"), true));
    two_machines_report(&mut site, ["1", "5"]);
    assert_eq!(site.at("g1"), MIN_HEALTHY);
    assert!(because_of(&site).ends_with("g2 shares its id with another machine"), "{}", because_of(&site));
    site.happens(Event::Shared(id("g2"), false));
    assert_eq!(site.at("g1"), Step::Offered);
}

#[test]
fn one_that_may_still_install_a_cancelled_update_is_not_healthy() {
    let mut site = healthy_pair();
    update_the_other(&mut site);
    site.fetch("g2");
    site.request("g2", Bytes::Some);
    site.body_ended("g2");
    site.edit("other", |spec| spec.cancelled = true);
    site.wait(minutes(31));
    assert!(site.board[&id("g2")].offer.is_none(), "its order is closed by force");
    assert_eq!(site.at("g1"), MIN_HEALTHY);
    let why = "g2 may be installing a cancelled update";
    assert!(because_of(&site).ends_with(why), "{}", because_of(&site));
    site.attributes("g2", AttributesMode::Merge, &[("plc", Some("6"))]);
    assert_eq!(site.at("g1"), Step::Offered);
}

#[test]
fn an_explanation_names_neither_the_gateway_itself_nor_one_that_is_no_longer_declared() {
    let mut site = pair();
    let third = GatewaySpec { name: "g3".into(), controller_id: id("g3"), ..site.gateways["g2"].clone() };
    site.gateways.insert("g3".into(), third);
    site.list();
    site.everybody_polls();
    site.gateways.remove("g2");
    site.list();
    site.quiet("g3");
    assert_eq!(because_of(&site), "pair p: 0 others are healthy and free, 1 must be; g3 is not polling");
}
