//! Words on orders: closed ones, strange ones, twice, and out of order.

use lamplighter::engine::Step;
use lamplighter::model::*;

use super::site::*;

fn strange(number: i64) -> ActionId {
    ActionId::try_from(number).unwrap()
}

#[test]
fn late_and_duplicate_feedback_moves_nothing() {
    let mut site = Site::rolling(1, |spec| spec.attempts = 1);
    let order = site.order("g1");
    site.fail("g1");
    let before = site.core.state().rollouts.clone();
    for word in
        [success(), failure(), word(Execution::Proceeding, Finished::None), word(Execution::Rejected, Finished::None)]
    {
        assert_eq!(site.says_on("g1", order, word), Verdict::AlreadyClosed);
    }
    assert_eq!(site.core.state().rollouts, before);
    assert_eq!(site.noted(What::LateFeedback), 4);
}

#[test]
fn a_storm_of_late_words_neither_writes_for_ever_nor_hides_what_others_did() {
    let mut site = Site::rolling(2, |spec| spec.attempts = 1);
    let canary = site.canary();
    let order = site.order(&canary);
    site.fail(&canary);
    for _ in 0..1_000 {
        assert_eq!(site.says_on(&canary, order, failure()), Verdict::AlreadyClosed);
    }
    assert!(site.last.is_empty(), "no commit, however often it says so");
    assert_eq!(site.noted(What::LateFeedback), 16);
    site.wait(minutes(60));
    site.says_on(&canary, order, failure());
    assert_eq!(site.noted(What::LateFeedback), 17, "in another hour it is noted again");
}

#[test]
fn attributes_that_change_all_the_time_are_taken_only_so_often() {
    let mut site = Site::rolling(1, |_| {});
    let reports =
        |site: &mut Site, at: u32| site.attributes("g1", AttributesMode::Merge, &[("uptime", Some(&at.to_string()))]);
    let taken = (0..1_000).filter(|at| reports(&mut site, *at) == Verdict::Accepted).count();
    assert_eq!(taken, 12);
    assert!(site.last.is_empty());
    assert_eq!(reports(&mut site, 11), Verdict::Accepted, "what is no change costs nothing");
    site.wait(minutes(1));
    assert_eq!(reports(&mut site, 2_000), Verdict::Accepted);
}

#[test]
fn failure_after_success_moves_nothing() {
    let mut site = Site::rolling(1, |_| {});
    let order = site.order("g1");
    site.download("g1");
    site.says("g1", success());
    assert_eq!(site.says_on("g1", order, failure()), Verdict::AlreadyClosed);
    assert_eq!(site.at("g1"), Step::Confirming);
}

#[test]
fn a_last_word_on_an_order_whose_member_is_updated_closes_it() {
    for last in [success(), failure()] {
        let mut site = Site::rolling(1, |_| {});
        site.download("g1");
        site.reports("g1", "2");
        assert!(site.sees_link("g1"), "SWUpdate reports only while it sees the link");
        site.says("g1", last);
        assert_eq!((site.at("g1"), site.sees_link("g1")), (Step::Updated, false));
    }
}

#[test]
fn an_updated_members_order_closes_by_itself_when_no_last_word_comes() {
    let mut site = Site::rolling(1, |_| {});
    site.download("g1");
    site.reports("g1", "2");
    site.wait(minutes(30));
    assert_eq!((site.at("g1"), site.sees_link("g1")), (Step::Updated, false));
}

#[test]
fn canceled_and_progress_are_reports_only() {
    let mut site = Site::rolling(1, |_| {});
    site.download("g1");
    for execution in [Execution::Canceled, Execution::Scheduled, Execution::Resumed, Execution::Download] {
        assert_eq!(site.says("g1", word(execution, Finished::Failure)), Verdict::Accepted);
        assert_eq!(site.at("g1"), Step::Installing);
    }
}

#[test]
fn closed_with_no_result_is_a_success() {
    let mut site = Site::rolling(1, |_| {});
    site.download("g1");
    site.says("g1", word(Execution::Closed, Finished::None));
    assert_eq!(site.at("g1"), Step::Confirming);
}

#[test]
fn another_gateways_order_is_not_moved() {
    let mut site = Site::rolling_on(3, |_| {});
    let rest = site.rest();
    site.download(&rest[0]);
    let order = site.order(&rest[0]);
    assert_eq!(site.says_on(&rest[1], order, success()), Verdict::AlreadyClosed);
    assert_eq!((site.at(&rest[0]), site.at(&rest[1])), (Step::Installing, Step::Offered));
    assert_eq!(site.happens(Event::Fetched(id(&rest[1]), order)), Verdict::Withdrawn);
}

#[test]
fn a_gateway_that_nobody_declared_changes_nothing() {
    let mut site = Site::rolling(1, |_| {});
    let (nobody, order) = (id("nobody"), site.order("g1"));
    let digest = site.rollouts["main"].artifact.key.digest;
    for event in [
        Event::Seen(nobody.clone()),
        Event::Offline(nobody.clone()),
        Event::Polled(nobody.clone()),
        Event::Fetched(nobody.clone(), order),
        Event::Requested(nobody.clone(), digest, Bytes::Some),
        Event::Served(nobody.clone(), digest),
        Event::Feedback(nobody.clone(), order, success()),
        Event::Attributes(nobody.clone(), Attributes::default()),
    ] {
        site.happens(event);
        assert!(site.last.is_empty());
    }
}

#[test]
fn a_strange_id_makes_what_the_gateway_runs_unknown_until_it_reports_a_version() {
    let mut site = Site::rolling(1, |_| {});
    assert_eq!(site.says_on("g1", strange(77), success()), Verdict::Unknown);
    assert_eq!(site.at("g1"), Step::Waiting(WaitingReason::UnknownVersion));
    assert_eq!((site.sees_link("g1"), site.ask("g1")), (false, Ask::EachInterval));
    site.attributes("g1", AttributesMode::Merge, &[("serial", Some("5"))]);
    assert_eq!(site.at("g1"), Step::Waiting(WaitingReason::UnknownVersion), "that is no version");
    site.reports("g1", "1");
    assert_eq!(site.at("g1"), Step::Offered);
}

#[test]
fn a_strange_id_from_a_gateway_with_a_reported_version_stops_nothing() {
    let mut site = Site::rolling(1, |_| {});
    site.reports("g1", "1");
    assert_eq!(site.says_on("g1", strange(77), failure()), Verdict::Unknown);
    assert_eq!(site.at("g1"), Step::Offered);
}

#[test]
fn strange_ids_are_noted_once_each_and_up_to_four() {
    let mut site = Site::rolling(1, |_| {});
    for number in [1, 1, 2, 3, 3, 4, 5, 6] {
        site.says_on("g1", strange(number), success());
    }
    assert_eq!(site.noted(What::StrangeId), 4);
    assert_eq!(site.core.state().gateways[&id("g1")].strange_ids.len(), 4);
    site.says_on("g1", strange(7), success());
    assert!(site.last.is_empty());
}

#[test]
fn an_id_that_a_gateway_named_by_itself_is_never_issued() {
    let mut site = Site::rolling(1, |_| {});
    site.reports("g1", "1");
    let next = site.order("g1").next();
    assert_eq!(site.says_on("g1", next, success()), Verdict::Unknown);
    site.fail("g1");
    site.wait(minutes(1));
    assert_eq!(site.order("g1"), next.next());
}

#[test]
fn reported_attributes_are_merged_replaced_or_removed() {
    let mut site = Site::rolling(1, |_| {});
    let known = |site: &Site| {
        let attributes = &site.core.state().gateways[&id("g1")].attributes;
        attributes.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>()
    };
    site.attributes("g1", AttributesMode::Merge, &[("a", Some("1")), ("b", Some("2"))]);
    site.attributes("g1", AttributesMode::Merge, &[("b", None), ("c", Some("3"))]);
    assert_eq!(known(&site), ["a=1", "c=3"]);
    site.attributes("g1", AttributesMode::Remove, &[("a", Some("whatever")), ("z", None)]);
    assert_eq!(known(&site), ["c=3"]);
    site.attributes("g1", AttributesMode::Replace, &[("d", Some("4")), ("e", None)]);
    assert_eq!(known(&site), ["d=4"]);
}

#[test]
fn attributes_over_the_quota_are_refused_and_change_nothing() {
    let mut site = Site::rolling(1, |_| {});
    site.reports("g1", "1");
    let long = "x".repeat(2_100);
    assert_eq!(site.attributes("g1", AttributesMode::Merge, &[("a", Some(&long))]), Verdict::OverQuota);
    assert!(site.last.is_empty());
    assert_eq!(site.core.state().gateways[&id("g1")].attributes.len(), 1);
}

#[test]
fn attribute_keys_that_come_and_go_do_not_pile_up() {
    let mut site = Site::rolling(1, |_| {});
    for at in 0..1_000 {
        site.attributes("g1", AttributesMode::Replace, &[(&format!("key-{at}"), Some("1"))]);
        site.now = site.now.plus(POLL);
    }
    let kept: usize = site.core.state().gateways[&id("g1")].former_keys.iter().map(String::len).sum();
    assert!(kept <= 2_048, "{kept} bytes");
}

#[test]
fn attributes_are_asked_for_at_first_contact_and_after_a_success() {
    let mut site = Site::rolling(1, |_| {});
    assert_eq!(site.ask("g1"), Ask::Once);
    site.attributes("g1", AttributesMode::Merge, &[("os", Some("1"))]);
    assert_eq!(site.ask("g1"), Ask::No);
    site.update("g1");
    site.wait(SOAK);
    assert_eq!(site.ask("g1"), Ask::No);
}

#[test]
fn a_report_of_what_is_known_already_writes_nothing() {
    let mut site = Site::rolling(1, |_| {});
    site.update("g1");
    site.reports("g1", "2");
    assert!(site.last.is_empty());
    site.seen("g1");
    site.happens(Event::Polled(id("g1")));
    assert!(site.last.is_empty());
}

#[test]
fn versions_are_read_under_the_keys_that_the_site_maps() {
    let mut site = Site::new();
    site.settings.version_keys = [("os".into(), vec!["os".into(), "sw".into()])].into();
    site.restart();
    site.declare_gateways(1);
    site.rollouts.insert("main".into(), rollout("os", "2"));
    site.list();
    site.everybody_polls();
    site.verify();
    site.download("g1");
    site.attributes("g1", AttributesMode::Merge, &[("version", Some("2"))]);
    assert_eq!(site.at("g1"), Step::Installing, "a plain version only where it is mapped");
    site.attributes("g1", AttributesMode::Merge, &[("sw", Some("2"))]);
    assert_eq!(site.at("g1"), Step::Updated);
}
