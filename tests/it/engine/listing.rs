//! Manifests: edits, newer rollouts, and what is no longer there.

use lamplighter::engine::{Phase, Step};
use lamplighter::model::*;

use super::site::*;

const SUPERSEDED: Step = Step::Skipped(SkippedReason::Superseded);
const UNLISTED: Step = Step::Waiting(WaitingReason::Unlisted);
const BUSY: Step = Step::Waiting(WaitingReason::ActionOpen);

/// Where a gateway is in the oldest rollout of this name that is still known.
fn at_in_oldest(site: &Site, name: &str, gateway: &str) -> Step {
    let oldest = site.core.state().rollouts.values().find(|rollout| rollout.identity.0 == name).unwrap();
    oldest.members[&id(gateway)].step
}

fn revisions(site: &Site) -> usize {
    site.core.state().rollouts.len()
}

#[test]
fn the_same_list_again_writes_nothing() {
    let mut site = Site::rolling_on(5, |_| {});
    site.list();
    assert!(site.last.is_empty(), "{:?}", site.last);
    site.wait(minutes(1));
    site.list();
    assert!(site.last.is_empty());
}

#[test]
fn a_gateway_that_has_the_version_already_is_skipped() {
    let mut site = Site::rolling(2, |spec| spec.paused = true);
    site.reports("g1", "2");
    assert!(matches!(site.at("g1"), Step::Waiting(_)), "not before the freeze");
    site.edit("main", |spec| spec.paused = false);
    assert_eq!(site.at("g1"), Step::Skipped(SkippedReason::AlreadyInstalled));
    // and one that gets it by other means before it fetches
    site.reports("g2", "2");
    assert_eq!((site.at("g2"), site.sees_link("g2")), (Step::Skipped(SkippedReason::AlreadyInstalled), false));
}

#[test]
fn another_artifact_is_a_new_revision_that_starts_at_wave_one() {
    let mut site = Site::rolling_on(4, |_| {});
    site.edit("main", |spec| *spec = rollout("os", "3"));
    site.verify();
    assert_eq!(revisions(&site), 1, "nobody has the old one in hand");
    assert_eq!((site.count(Step::Offered), site.count(Step::Waiting(WaitingReason::WaveNotOpen))), (1, 3));
    assert_eq!(site.noted(What::RolloutSuperseded), 1);
}

#[test]
fn a_rollout_whose_gateways_a_newer_one_took_over_says_so() {
    let mut site = Site::rolling_on(3, |_| {});
    site.rollouts.insert("newer".into(), rollout("os", "3"));
    site.list();
    site.verify();
    assert_eq!(site.count(SUPERSEDED), 2);
    assert!(matches!(site.phase(), Phase::Stalled(StalledReason::Superseded, _)), "{:?}", site.phase());
}

#[test]
fn members_under_way_finish_first() {
    let mut site = Site::rolling_on(3, |_| {});
    let rest = site.rest();
    site.download(&rest[0]);
    let order = site.order(&rest[0]);
    site.edit("main", |spec| *spec = rollout("os", "3"));
    site.verify();
    assert_eq!(at_in_oldest(&site, "main", &rest[1]), SUPERSEDED);
    assert_eq!(at_in_oldest(&site, "main", &rest[0]), Step::Installing);
    assert!(site.sees_link(&rest[0]));
    assert_eq!(site.order(&rest[0]), order);
    site.says(&rest[0], success());
    site.reports(&rest[0], "2");
    assert_eq!(revisions(&site), 1);
    // and it is no member that has the version already
    assert!(matches!(site.at(&rest[0]), Step::Waiting(_) | Step::Offered));
}

#[test]
fn an_attempt_of_a_replaced_revision_is_not_tried_again() {
    let mut site = Site::rolling(1, |_| {});
    site.download("g1");
    site.edit("main", |spec| *spec = rollout("os", "3"));
    site.verify();
    assert_eq!(site.at("g1"), BUSY);
    site.says("g1", failure());
    assert_eq!((revisions(&site), site.at("g1")), (1, Step::Offered));
}

#[test]
fn a_replaced_revision_waits_for_nobody_who_was_stopped_half_way() {
    let strict = |spec: &mut RolloutSpec| (spec.strategy.max_failures, spec.attempts) = (Amount::Count(1), 1);
    let mut site = Site::rolling_on(3, strict);
    let rest = site.rest();
    site.fetch(&rest[0]);
    site.fail(&rest[1]);
    site.wait(2 * POLL);
    assert!(!site.sees_link(&rest[0]), "the limit is a pause");
    // what a person is told to do about it: another version
    site.edit("main", |spec| *spec = rollout("os", "3"));
    site.verify();
    assert_eq!(revisions(&site), 1);
    assert!(site.core.state().gateways.values().filter(|gateway| gateway.busy.is_some()).count() <= 1);
}

#[test]
fn going_back_to_an_earlier_version_is_a_new_revision_too() {
    let mut site = Site::rolling(1, |_| {});
    site.update("g1");
    for to in ["3", "2"] {
        site.edit("main", |spec| *spec = RolloutSpec { allow_downgrade: true, ..rollout("os", to) });
        site.verify();
        site.update("g1");
        assert_eq!(site.at("g1"), Step::Updated);
    }
    assert_eq!(site.core.state().site.arrivals, 3);
}

#[test]
fn an_edit_of_anything_else_takes_effect_at_once_and_is_no_new_revision() {
    let mut site = Site::rolling(1, |_| {});
    site.fail("g1");
    site.edit("main", |spec| spec.attempts = 2);
    site.wait(minutes(1));
    site.fail("g1");
    assert_eq!(site.at("g1"), Step::Failed(FailedReason::Reported));
    assert_eq!(site.core.state().site.arrivals, 1);
}

#[test]
fn a_newer_rollout_of_the_same_artifact_supersedes_unfetched_members() {
    let mut site = Site::rolling_on(4, |_| {});
    let rest = site.rest();
    site.fetch(&rest[0]);
    site.rollouts.insert("newer".into(), rollout("os", "3"));
    site.list();
    assert_eq!((site.at(&rest[0]), site.at(&rest[1])), (Step::Downloading, SUPERSEDED));
    assert!(rest[1..].iter().all(|gateway| !site.sees_link(gateway)));
    assert_eq!(site.rollout("newer").members.len(), 4);
}

#[test]
fn a_newer_rollout_that_loses_its_manifest_does_not_revive_an_older_one() {
    let mut site = Site::rolling(2, |_| {});
    site.rollouts.insert("newer".into(), rollout("os", "3"));
    site.list();
    site.rollouts.remove("newer");
    site.list();
    site.restart();
    site.list();
    site.wait(minutes(600));
    assert_eq!(site.count(SUPERSEDED), 2);
}

#[test]
fn the_update_by_a_newer_rollout_is_no_regression_of_the_older() {
    let mut site = Site::rolling(1, |spec| spec.strategy.max_failures = Amount::Count(1));
    site.update("g1");
    site.rollouts.insert("newer".into(), rollout("os", "3"));
    site.list();
    site.verify();
    site.download("g1");
    site.quiet("g1");
    site.seen("g1");
    site.says("g1", success());
    site.reports("g1", "3");
    assert_eq!((site.at("g1"), site.at_in("newer", "g1")), (Step::Updated, Step::Updated));
    assert!(site.main().tripped.is_none());
}

#[test]
fn a_selector_edit_makes_joiners_and_skips_unfetched_members() {
    let mut site = Site::rolling_on(4, |_| {});
    let rest = site.rest();
    site.fetch(&rest[0]);
    for gateway in [&rest[0], &rest[1]] {
        site.gateways.get_mut(gateway).unwrap().labels = [("site".into(), "yard".into())].into();
    }
    let mut new = gateway("new");
    new.labels.insert("line".into(), "3".into());
    site.gateways.insert("new".into(), new);
    site.list();
    assert_eq!(site.at(&rest[0]), Step::Downloading, "it has the order in hand");
    assert_eq!((site.at(&rest[1]), site.sees_link(&rest[1])), (Step::Skipped(SkippedReason::NotSelected), false));
    assert!(site.member("new").joiner);
    // once its attempt ends it is not tried again
    site.says(&rest[0], failure());
    assert_eq!(site.at(&rest[0]), Step::Skipped(SkippedReason::NotSelected));
    // back again: a joiner
    site.gateways.insert(rest[1].clone(), gateway(&rest[1]));
    site.list();
    assert!(site.member(&rest[1]).joiner);
    assert_eq!(site.main().frozen.as_ref().unwrap().total, 4);
}

#[test]
fn before_the_freeze_members_come_and_go_with_the_selector() {
    let mut site = Site::rolling(3, |spec| spec.paused = true);
    site.edit("main", |spec| spec.selector.match_labels = [("site".into(), "yard".into())].into());
    assert!(site.main().members.is_empty());
    site.edit("main", |spec| spec.selector.match_labels = [("site".into(), "hall".into())].into());
    assert_eq!(site.main().members.len(), 3);
    site.edit("main", |spec| spec.selector.match_labels = Default::default());
    assert!(site.main().members.is_empty(), "an empty selector selects nothing");
}

#[test]
fn nothing_new_starts_for_a_rollout_that_is_no_longer_listed() {
    let mut site = Site::rolling_on(4, |_| {});
    let rest = site.rest();
    site.fetch(&rest[0]);
    let spec = site.rollouts.remove("main").unwrap();
    site.list();
    assert_eq!((site.at(&rest[0]), site.at(&rest[1])), (Step::Downloading, UNLISTED));
    assert!(!site.sees_link(&rest[1]));
    assert!(matches!(site.phase(), Phase::Reconciling(ReconcilingReason::Unlisted, _)));
    // what is under way is watched to its end
    site.request(&rest[0], Bytes::Some);
    site.served(&rest[0]);
    site.reports(&rest[0], "2");
    assert_eq!(site.at(&rest[0]), Step::Updated);
    site.rollouts.insert("main".into(), spec);
    site.list();
    assert_eq!(site.at(&rest[1]), Step::Offered);
    assert_eq!(site.core.state().site.arrivals, 1, "it is the same intent");
}

#[test]
fn no_wave_opens_while_a_rollout_is_not_listed() {
    let mut site = Site::rolling(3, |_| {});
    let canary = site.canary();
    site.update(&canary);
    let spec = site.rollouts.remove("main").unwrap();
    site.list();
    site.wait(SOAK);
    assert_eq!((site.count(Step::Offered), site.count(UNLISTED)), (0, 2));
    site.rollouts.insert("main".into(), spec);
    site.list();
    assert_eq!(site.count(Step::Offered), 2);
}

#[test]
fn nothing_new_starts_for_a_gateway_that_is_no_longer_listed_but_its_word_counts() {
    let mut site = Site::rolling_on(3, |_| {});
    let rest = site.rest();
    site.download(&rest[0]);
    for gateway in &rest {
        site.gateways.remove(gateway);
    }
    site.list();
    assert_eq!((site.at(&rest[0]), site.at(&rest[1])), (Step::Installing, UNLISTED));
    assert_eq!(site.says(&rest[0], success()), Verdict::Accepted);
    site.reports(&rest[0], "2");
    assert_eq!(site.at(&rest[0]), Step::Updated);
}

#[test]
fn a_gateway_that_was_taken_off_the_list_keeps_no_wave_open() {
    let mut site = Site::rolling_on(3, |_| {});
    let rest = site.rest();
    site.gateways.remove(&rest[1]);
    site.list();
    site.update(&rest[0]);
    site.wait(SOAK);
    assert_eq!((site.at(&rest[1]), site.phase()), (UNLISTED, Phase::Ready));
}

#[test]
fn after_a_restart_no_wave_is_proven_by_members_that_are_not_listed_yet() {
    let mut site = Site::rolling_on(4, |spec| spec.strategy.max_in_flight = Amount::Count(1));
    for gateway in site.rest().iter().take(2) {
        site.update(gateway);
    }
    site.restart();
    site.wait(SOAK);
    site.step(vec![]);
    assert!(site.main().ready_at.is_none(), "the last member is still to come");
    site.list();
    assert!(site.main().ready_at.is_none());
}

#[test]
fn a_gateway_that_is_not_listed_joins_no_rollout() {
    let mut site = Site::rolling(3, |spec| spec.paused = true);
    site.gateways.remove("g3");
    site.list();
    assert_eq!(site.main().members.len(), 2, "before the freeze it leaves");
    site.edit("main", |spec| spec.paused = false);
    assert_eq!(site.main().frozen.as_ref().unwrap().total, 2);
    site.rollouts.insert("newer".into(), rollout("os", "3"));
    site.list();
    assert!(!site.rollout("newer").members.contains_key(&id("g3")));
    site.gateways.insert("g3".into(), gateway("g3"));
    site.list();
    assert!(site.main().members[&id("g3")].joiner);
}

#[test]
fn an_empty_list_changes_nothing_but_that_nothing_starts() {
    let mut site = Site::rolling_on(3, |_| {});
    let (gateways, rollouts) = (site.gateways.clone(), site.rollouts.clone());
    site.gateways.clear();
    site.rollouts.clear();
    site.list();
    site.wait(minutes(600));
    assert_eq!((site.count(Step::Updated), site.count(UNLISTED)), (1, 2));
    (site.gateways, site.rollouts) = (gateways, rollouts);
    site.list();
    assert_eq!((site.count(Step::Updated), site.count(Step::Offered)), (1, 2));
}

#[test]
fn a_new_revision_for_other_gateways_ends_the_old_one() {
    let mut site = Site::rolling_on(3, |_| {});
    site.edit("main", |spec| {
        *spec = rollout("os", "3");
        spec.selector.match_labels = [("site".into(), "yard".into())].into();
    });
    assert_eq!(revisions(&site), 1);
    assert!(site.gateways.keys().all(|gateway| site.board[&id(gateway)].offer.is_none()));
}

#[test]
fn nothing_is_offered_or_given_after_a_start_before_the_first_list() {
    let mut site = Site::rolling(1, |_| {});
    let order = site.order("g1");
    site.restart();
    assert_eq!(site.at("g1"), UNLISTED);
    assert_eq!(site.happens(Event::Fetched(id("g1"), order)), Verdict::Withdrawn);
    site.list();
    assert_eq!(site.at("g1"), Step::Offered);
}
