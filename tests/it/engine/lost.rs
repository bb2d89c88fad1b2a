//! A store that was lost: holds and pauses are gone with it.

use lamplighter::engine::{Phase, Step};
use lamplighter::model::*;

use super::site::*;

const LOST: Step = Step::Waiting(WaitingReason::StoreLost);
const UNKNOWN: Step = Step::Waiting(WaitingReason::UnknownVersion);

/// A new store in place of the lost one; the manifests are read again and the gateways poll.
fn lost() -> Site {
    let mut site = Site::new();
    site.happens(Event::StoreLost("state.redb was set aside as state.redb.garbled".into()));
    site.declare_gateways(3);
    site.rollouts.insert("main".into(), rollout("os", "2"));
    site.list();
    site.everybody_polls();
    site.verify();
    site
}

fn resume(site: &mut Site) {
    site.happens(Event::Order(Order::Resume, "uid 1000".into()));
}

#[test]
fn after_a_loss_nothing_is_offered_until_a_local_resume() {
    let mut site = lost();
    assert_eq!(site.count(LOST), 3);
    assert!(matches!(site.phase(), Phase::Stalled(StalledReason::StoreLost, _)));
    site.restart();
    site.list();
    site.wait(minutes(600));
    assert_eq!((site.count(LOST), site.noted(What::Offered)), (3, 0));
    assert!(site.main().frozen.is_none());
    resume(&mut site);
    assert_eq!(site.count(LOST), 0);
    let row = site.journal.iter().find(|row| row.what == What::Ordered).unwrap();
    assert!(row.detail.contains("uid 1000"), "{row:?}");
}

#[test]
fn after_a_resume_members_with_a_reported_version_go_on_and_the_others_are_unknown() {
    let mut site = lost();
    let canary = site.canary();
    site.reports(&canary, "1");
    resume(&mut site);
    assert_eq!((site.at(&canary), site.count(UNKNOWN)), (Step::Offered, 2));
    site.update(&canary);
    site.wait(SOAK);
    let rest = site.rest();
    assert_eq!((site.at(&rest[0]), site.ask(&rest[0])), (UNKNOWN, Ask::EachInterval));
    site.reports(&rest[0], "1");
    assert_eq!(site.at(&rest[0]), Step::Offered);
    site.reports(&rest[1], "2");
    assert_eq!(site.at(&rest[1]), Step::Skipped(SkippedReason::AlreadyInstalled));
}

#[test]
fn gateways_that_are_declared_after_the_resume_are_not_unknown() {
    let mut site = lost();
    resume(&mut site);
    site.gateways.insert("new".into(), gateway("new"));
    site.list();
    assert!(!site.core.state().gateways[&id("new")].unknown_version);
}

#[test]
fn a_resume_of_a_site_that_lost_nothing_only_stands_in_the_journal() {
    let mut site = Site::rolling(1, |_| {});
    resume(&mut site);
    assert_eq!((site.at("g1"), site.noted(What::Ordered)), (Step::Offered, 1));
    assert!(site.last.members.is_empty() && site.last.rollouts.is_empty());
}

#[test]
fn an_order_of_before_the_loss_is_a_strange_id() {
    let mut site = lost();
    resume(&mut site);
    site.reports("g1", "1");
    let before = ActionId::base(7);
    assert_eq!(site.says_on("g1", before, success()), Verdict::Unknown);
    assert_eq!(site.noted(What::StrangeId), 1);
}
