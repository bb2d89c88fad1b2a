//! Between a gateway's word and the proof of it.

use std::time::Duration;

use lamplighter::engine::Step;
use lamplighter::model::*;

use super::site::*;

const BACKOFF: Step = Step::Waiting(WaitingReason::Backoff);

/// One gateway of which the version is known, so that the version is the proof.
fn versioned(edit: impl FnOnce(&mut RolloutSpec)) -> Site {
    let mut site = Site::rolling(1, edit);
    site.reports("g1", "1");
    site
}

fn polls(site: &mut Site) {
    site.happens(Event::Polled(id("g1")));
}

#[test]
fn auto_asks_for_the_version_of_a_gateway_that_ever_reported_one() {
    let mut site = versioned(|_| {});
    site.attributes("g1", AttributesMode::Replace, &[("serial", Some("5"))]);
    site.download("g1");
    site.happens(Event::Client(id("g1"), Client::SwUpdate));
    site.says("g1", success());
    assert_eq!((site.at("g1"), site.ask("g1")), (Step::Confirming, Ask::EachInterval));
    assert_eq!(site.board[&id("g1")].tell_poll_from, None);
    site.reports("g1", "2");
    assert_eq!(site.at("g1"), Step::Updated);
}

#[test]
fn auto_takes_the_word_of_a_gateway_that_never_reported_a_version() {
    let mut site = Site::rolling(1, |_| {});
    site.happens(Event::Client(id("g1"), Client::SwUpdate));
    site.download("g1");
    site.says("g1", success());
    assert_eq!(site.at("g1"), Step::Updated);
}

#[test]
fn what_is_said_about_the_proof_wins_over_auto() {
    let mut site = Site::rolling(1, |spec| spec.confirm_by = ConfirmBy::ReportedVersion);
    site.happens(Event::Client(id("g1"), Client::SwUpdate));
    site.download("g1");
    site.says("g1", success());
    assert_eq!(site.at("g1"), Step::Confirming);

    let mut site = versioned(|spec| spec.confirm_by = ConfirmBy::Feedback);
    site.happens(Event::Client(id("g1"), Client::Zephyr));
    site.download("g1");
    site.says("g1", success());
    assert_eq!(site.at("g1"), Step::Updated);
}

#[test]
fn the_order_is_withdrawn_once_success_was_reported() {
    let mut site = versioned(|_| {});
    site.download("g1");
    site.says("g1", success());
    assert!(!site.sees_link("g1"), "a client that sees it again after its reboot installs again");
}

#[test]
fn the_old_version_is_no_failure_before_the_confirm_deadline() {
    // rauc-hawkbit-updater: says success, reports the old version, then reboots
    let mut site = versioned(|spec| spec.attempts = 1);
    site.happens(Event::Client(id("g1"), Client::Rauc));
    site.download("g1");
    site.says("g1", success());
    for _ in 0..29 {
        site.reports("g1", "1");
        assert_eq!(site.at("g1"), Step::Confirming);
        site.wait(minutes(1));
    }
    site.reports("g1", "2");
    assert_eq!(site.at("g1"), Step::Updated);
}

#[test]
fn after_the_confirm_deadline_a_fresh_report_decides() {
    let mut site = versioned(|_| {});
    site.download("g1");
    site.says("g1", success());
    site.reports("g1", "1");
    site.wait(minutes(30));
    assert_eq!((site.at("g1"), site.ask("g1")), (Step::Confirming, Ask::EachInterval));
    site.reports("g1", "1");
    assert_eq!(site.at("g1"), BACKOFF);
    assert_eq!(site.member("g1").reported, Some(version("1")));
}

#[test]
fn after_the_confirm_deadline_silence_about_the_version_is_no_feedback() {
    let mut site = versioned(|_| {});
    site.download("g1");
    site.says("g1", success());
    site.wait(minutes(30) + 2 * POLL);
    assert_eq!(site.at("g1"), Step::Failed(FailedReason::NoFeedback));
    site.reports("g1", "2");
    assert_eq!(site.at("g1"), Step::Updated);
}

#[test]
fn a_gateway_that_is_gone_at_the_confirm_deadline_is_no_feedback() {
    let mut site = versioned(|_| {});
    site.download("g1");
    site.says("g1", success());
    site.quiet("g1");
    site.wait(minutes(30) - POLL);
    assert_eq!(site.at("g1"), Step::Confirming, "it may be rebooting");
    site.wait(POLL);
    assert_eq!(site.at("g1"), Step::Failed(FailedReason::NoFeedback));
}

#[test]
fn a_success_said_when_overdue_starts_the_confirm_deadline_again() {
    let mut site = versioned(|_| {});
    site.download("g1");
    site.wait(minutes(90));
    site.says("g1", success());
    site.reports("g1", "1");
    assert_eq!(site.at("g1"), Step::Confirming, "it reboots only now");
    site.wait(minutes(29));
    site.reports("g1", "2");
    assert_eq!(site.at("g1"), Step::Updated);
}

#[test]
fn under_feedback_a_poll_at_least_five_minutes_later_confirms() {
    for client in [Client::Generic, Client::Rauc] {
        let mut site = Site::rolling(1, |spec| spec.confirm_by = ConfirmBy::Feedback);
        site.happens(Event::Client(id("g1"), client));
        site.download("g1");
        site.says("g1", success());
        assert_eq!(site.at("g1"), Step::Confirming, "{client:?} says so before its reboot");
        assert_eq!(site.board[&id("g1")].tell_poll_from, Some(site.now.plus(minutes(5))));
        site.wait(minutes(5) - Duration::from_millis(1));
        polls(&mut site);
        assert_eq!(site.at("g1"), Step::Confirming);
        site.wait(Duration::from_millis(1));
        assert_eq!(site.at("g1"), Step::Confirming, "time alone proves nothing");
        polls(&mut site);
        assert_eq!(site.at("g1"), Step::Updated);
    }
}

#[test]
fn under_feedback_a_poll_at_least_two_intervals_later_confirms() {
    let mut site = Site::rolling(1, |spec| spec.confirm_by = ConfirmBy::Feedback);
    site.happens(Event::Pace(id("g1"), minutes(20)));
    site.download("g1");
    site.says("g1", success());
    site.quiet("g1");
    site.wait(minutes(39));
    polls(&mut site);
    assert_eq!(site.at("g1"), Step::Confirming, "the deadline waits for the poll as well");
    site.seen("g1");
    site.wait(minutes(1));
    polls(&mut site);
    assert_eq!(site.at("g1"), Step::Updated);
}

#[test]
fn under_feedback_a_gateway_that_never_polls_again_is_no_feedback() {
    let mut site = Site::rolling(1, |spec| spec.confirm_by = ConfirmBy::Feedback);
    site.download("g1");
    site.says("g1", success());
    site.offline("g1");
    site.wait(minutes(30));
    assert_eq!(site.at("g1"), Step::Failed(FailedReason::NoFeedback));
    // it polls after all: too late, but a version would still tell
    site.seen("g1");
    polls(&mut site);
    assert_eq!(site.at("g1"), Step::Failed(FailedReason::NoFeedback));
}

#[test]
fn under_auto_a_first_report_while_confirming_makes_the_version_the_proof() {
    let mut site = Site::rolling(1, |spec| spec.attempts = 1);
    site.download("g1");
    site.says("g1", success());
    site.reports("g1", "1");
    site.wait(minutes(6));
    polls(&mut site);
    assert_eq!(site.at("g1"), Step::Confirming, "it just said that it runs something else");
    site.wait(minutes(24));
    site.reports("g1", "1");
    assert_eq!(site.at("g1"), Step::Failed(FailedReason::WrongVersion));
}

#[test]
fn confirming_goes_on_over_a_restart() {
    let mut site = Site::rolling(1, |spec| spec.confirm_by = ConfirmBy::Feedback);
    site.download("g1");
    site.says("g1", success());
    site.restart();
    site.list();
    assert!(site.board[&id("g1")].tell_poll_from.is_some());
    site.wait(minutes(5));
    polls(&mut site);
    assert_eq!(site.at("g1"), Step::Updated);
}
