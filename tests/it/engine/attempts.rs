//! Attempts: how they end, what follows, and under which id.

use std::time::Duration;

use lamplighter::engine::Step;
use lamplighter::model::*;

use super::site::*;

const BACKOFF: Step = Step::Waiting(WaitingReason::Backoff);

#[test]
fn installing_begins_when_the_artifact_was_fully_served() {
    let mut site = Site::rolling(1, |_| {});
    assert_eq!(site.at("g1"), Step::Offered);
    site.fetch("g1");
    assert_eq!(site.at("g1"), Step::Downloading);
    site.request("g1", Bytes::Some);
    site.says("g1", word(Execution::Proceeding, Finished::None));
    site.says("g1", word(Execution::Downloaded, Finished::Success));
    assert_eq!(site.at("g1"), Step::Downloading, "not at the client's word");
    site.served("g1");
    assert_eq!(site.at("g1"), Step::Installing);
}

#[test]
fn no_byte_leaves_without_a_fetched_order() {
    let mut site = Site::rolling(1, |_| {});
    assert_eq!(site.request("g1", Bytes::Some), Verdict::Withdrawn);
    assert_eq!(site.served("g1"), Verdict::Withdrawn);
    site.fetch("g1");
    let other = digest("another file");
    assert_eq!(site.happens(Event::Requested(id("g1"), other, Bytes::Some)), Verdict::Withdrawn);
    assert_eq!(site.request("g1", Bytes::Some), Verdict::Deploy);
}

#[test]
fn a_closed_failure_is_tried_again_under_a_new_id_after_its_backoff() {
    let mut site = Site::rolling(1, |_| {});
    let first = site.order("g1");
    site.fail("g1");
    assert_eq!((site.at("g1"), site.sees_link("g1")), (BACKOFF, false));
    site.wait(minutes(1) - Duration::from_secs(1));
    assert_eq!(site.at("g1"), BACKOFF);
    site.wait(Duration::from_secs(1));
    assert_eq!(site.at("g1"), Step::Offered);
    assert_ne!(site.order("g1"), first);
    assert_eq!(site.member("g1").action.as_ref().unwrap().aliases, [first]);
}

#[test]
fn the_backoff_doubles_up_to_an_hour() {
    let mut site = Site::rolling(1, |spec| spec.attempts = 9);
    for backoff in [1, 2, 4, 8, 16, 32, 60, 60] {
        site.fail("g1");
        site.wait(minutes(backoff) - Duration::from_secs(1));
        assert_eq!(site.at("g1"), BACKOFF, "{backoff} minutes");
        site.wait(Duration::from_secs(1));
        assert_eq!(site.at("g1"), Step::Offered, "{backoff} minutes");
    }
    site.fail("g1");
    assert_eq!(site.at("g1"), Step::Failed(FailedReason::Reported));
}

#[test]
fn a_rejection_closes_the_attempt_and_counts() {
    let mut site = Site::rolling(1, |spec| spec.attempts = 1);
    site.fetch("g1");
    site.says("g1", word(Execution::Rejected, Finished::None));
    assert_eq!((site.at("g1"), site.sees_link("g1")), (Step::Failed(FailedReason::Rejected), false));
}

#[test]
fn a_download_that_misses_its_deadline_goes_on_under_the_same_id() {
    let mut site = Site::rolling(1, |_| {});
    let order = site.order("g1");
    site.fetch("g1");
    site.request("g1", Bytes::Some);
    site.wait(minutes(120));
    assert_eq!((site.at("g1"), site.order("g1"), site.member("g1").attempts), (Step::Offered, order, 1));
    assert_eq!(site.request("g1", Bytes::Some), Verdict::Withdrawn, "to be fetched again first");
    site.update("g1");
    assert_eq!(site.at("g1"), Step::Updated);
}

#[test]
fn a_download_that_ends_after_its_deadline_is_one_unless_the_order_may_not_stand_any_more() {
    let late = || {
        let mut site = Site::rolling(1, |_| {});
        site.fetch("g1");
        site.request("g1", Bytes::Some);
        site.wait(minutes(120));
        assert_eq!(site.at("g1"), Step::Offered);
        site
    };
    let mut site = late();
    let order = site.order("g1");
    assert_eq!(site.served("g1"), Verdict::Deploy);
    assert_eq!((site.at("g1"), site.order("g1")), (Step::Installing, order));
    site.says_on("g1", order, success());
    assert_eq!(site.at("g1"), Step::Confirming);

    let mut site = late();
    site.hold("g1", true);
    assert_eq!(site.served("g1"), Verdict::Withdrawn, "its last byte stays here");
    assert!(site.last.gateways.is_empty());
    assert_eq!(site.at("g1"), Step::Waiting(WaitingReason::Held));
}

#[test]
fn a_download_that_misses_its_deadline_as_often_as_allowed_has_failed() {
    let mut site = Site::rolling(1, |_| {});
    for _ in 0..3 {
        assert_eq!(site.fetch("g1"), Verdict::Deploy);
        site.wait(minutes(120));
    }
    assert_eq!((site.at("g1"), site.sees_link("g1")), (Step::Failed(FailedReason::NoFeedback), false));
}

#[test]
fn a_deadline_missed_by_a_download_that_our_restart_cut_uses_no_attempt() {
    let mut site = Site::rolling(1, |_| {});
    site.fetch("g1");
    site.request("g1", Bytes::Some);
    site.restart();
    site.list();
    site.wait(minutes(120));
    assert_eq!((site.at("g1"), site.member("g1").attempts), (Step::Offered, 0));
    site.fetch("g1");
    site.wait(minutes(120));
    assert_eq!(site.member("g1").attempts, 1);
}

#[test]
fn a_restart_excuses_nobody_who_took_the_order_and_never_asked_for_the_artifact() {
    let mut site = Site::rolling(1, |spec| spec.attempts = 1);
    site.fetch("g1");
    site.restart();
    site.list();
    site.wait(minutes(120));
    assert_eq!(site.at("g1"), Step::Failed(FailedReason::NoFeedback));
}

#[test]
fn a_served_gateway_that_says_nothing_ends_as_no_feedback_and_gets_no_new_order() {
    let mut site = Site::rolling(1, |_| {});
    site.download("g1");
    site.wait(minutes(60));
    assert_eq!((site.at("g1"), site.sees_link("g1")), (Step::Confirming, true));
    site.wait(minutes(30) + 2 * POLL);
    assert_eq!((site.at("g1"), site.sees_link("g1")), (Step::Failed(FailedReason::NoFeedback), false));
    site.wait(minutes(600));
    assert_eq!(site.noted(What::Offered), 1);
}

#[test]
fn a_served_gateway_gets_a_new_order_only_if_it_reports_another_version_after_the_confirm_deadline() {
    let mut site = Site::rolling(1, |_| {});
    site.download("g1");
    site.wait(minutes(60));
    site.reports("g1", "1");
    assert_eq!(site.at("g1"), Step::Confirming);
    site.wait(minutes(30));
    assert_eq!(site.at("g1"), Step::Confirming, "what it said before does not decide");
    site.reports("g1", "1");
    assert_eq!(site.at("g1"), BACKOFF);
    site.wait(minutes(1));
    assert_eq!((site.at("g1"), site.noted(What::Offered)), (Step::Offered, 2));
}

#[test]
fn the_wrong_version_as_often_as_allowed_is_a_failure() {
    let mut site = Site::rolling(1, |spec| spec.attempts = 1);
    site.download("g1");
    site.says("g1", success());
    site.reports("g1", "1");
    site.wait(minutes(60));
    site.reports("g1", "1");
    assert_eq!(site.at("g1"), Step::Failed(FailedReason::NoFeedback), "too late to decide");

    let mut site = Site::rolling(1, |spec| spec.attempts = 1);
    site.reports("g1", "1");
    site.download("g1");
    site.says("g1", success());
    site.wait(minutes(30));
    site.reports("g1", "1");
    assert_eq!(site.at("g1"), Step::Failed(FailedReason::WrongVersion));
}

#[test]
fn an_observed_version_takes_no_feedback_back_without_lifting_the_limit() {
    let mut site = Site::rolling(3, |spec| spec.strategy.max_failures = Amount::Count(1));
    let canary = site.canary();
    site.fetch(&canary);
    site.offline(&canary);
    site.wait(minutes(120));
    assert_eq!(site.at(&canary), Step::Failed(FailedReason::NoFeedback));
    assert_eq!(site.ask(&canary), Ask::EachInterval);
    site.seen(&canary);
    site.reports(&canary, "2");
    assert_eq!(site.at(&canary), Step::Updated);
    assert!(site.main().tripped.is_some());
    site.wait(minutes(600));
    assert_eq!(site.count(Step::Waiting(WaitingReason::Paused)), 2);
}

#[test]
fn an_observed_version_does_not_take_a_reported_failure_back() {
    let mut site = Site::rolling(1, |spec| spec.attempts = 1);
    site.fail("g1");
    site.reports("g1", "2");
    assert_eq!(site.at("g1"), Step::Failed(FailedReason::Reported));
}

#[test]
fn an_old_ids_success_confirms() {
    let mut site = Site::rolling(1, |_| {});
    let old = site.order("g1");
    site.fail("g1");
    site.wait(minutes(1));
    site.happens(Event::Client(id("g1"), Client::SwUpdate));
    assert_eq!(site.says_on("g1", old, success()), Verdict::Accepted);
    assert_eq!((site.at("g1"), site.sees_link("g1")), (Step::Updated, false));
}

#[test]
fn an_old_ids_failure_counts_only_while_the_newer_id_is_unfetched() {
    let mut site = Site::rolling(1, |spec| spec.attempts = 9);
    let old = site.order("g1");
    site.fail("g1");
    site.wait(minutes(1));
    assert_eq!(site.says_on("g1", old, failure()), Verdict::Accepted);
    assert_eq!((site.at("g1"), site.member("g1").attempts), (BACKOFF, 2));
    site.wait(minutes(2));
    site.fetch("g1");
    assert_eq!(site.says_on("g1", old, failure()), Verdict::AlreadyClosed);
    assert_eq!((site.at("g1"), site.member("g1").attempts), (Step::Downloading, 2));
}

#[test]
fn the_aliases_of_an_order_are_bounded() {
    let mut site = Site::rolling(1, |_| {});
    for _ in 0..30 {
        site.download("g1");
        site.says("g1", Feedback { excused: true, ..failure() });
        site.wait(site.member("g1").retry_at.unwrap().since(site.now));
    }
    assert!(site.member("g1").action.as_ref().unwrap().aliases.len() <= 16);
}

#[test]
fn what_fails_again_and_again_through_our_fault_is_tried_less_and_less_often() {
    let mut site = Site::rolling(1, |spec| spec.attempts = 1);
    let mut waits = Vec::new();
    for _ in 0..9 {
        site.fetch("g1");
        site.says("g1", Feedback { excused: true, ..failure() });
        let wait = site.member("g1").retry_at.unwrap().since(site.now);
        waits.push(wait.as_secs() / 60);
        site.wait(wait);
    }
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
    assert_eq!(site.member("g1").attempts, 0);
}

#[test]
fn our_faults_excuse_no_more_than_32_attempts_also_over_restarts() {
    let mut site = Site::rolling(1, |spec| spec.attempts = 2);
    let fails = |site: &mut Site| {
        site.fetch("g1");
        site.says("g1", Feedback { excused: true, ..failure() });
        site.restart();
        site.list();
        let again = site.member("g1").retry_at.map(|at| at.since(site.now));
        site.wait(again.unwrap_or_default());
    };
    let begun = site.now;
    (0..32).for_each(|_| fails(&mut site));
    assert!(site.now.since(begun) > minutes(24 * 60), "a day of trouble of ours costs nobody an attempt");
    assert_eq!(site.member("g1").attempts, 0);
    fails(&mut site);
    assert_eq!((site.at("g1"), site.member("g1").attempts), (Step::Offered, 1));
    fails(&mut site);
    assert_eq!(site.at("g1"), Step::Failed(FailedReason::Reported));
}

#[test]
fn a_failure_that_was_our_fault_uses_no_attempt() {
    let mut site = Site::rolling(1, |spec| spec.attempts = 1);
    site.fetch("g1");
    site.says("g1", Feedback { excused: true, ..failure() });
    assert_eq!((site.at("g1"), site.member("g1").attempts), (BACKOFF, 0));
    site.wait(minutes(1));
    site.fail("g1");
    assert_eq!(site.at("g1"), Step::Failed(FailedReason::Reported));
}

#[test]
fn a_download_that_our_restart_cut_uses_no_attempt() {
    let mut site = Site::rolling(1, |spec| spec.attempts = 1);
    let order = site.order("g1");
    site.fetch("g1");
    site.request("g1", Bytes::Some);
    site.restart();
    site.list();
    assert_eq!((site.at("g1"), site.order("g1")), (Step::Downloading, order));
    site.says("g1", failure());
    assert_eq!(site.at("g1"), BACKOFF);
}

#[test]
fn a_restart_excuses_the_download_that_it_cut_and_no_later_one() {
    let mut site = Site::rolling(1, |spec| spec.attempts = 1);
    site.fetch("g1");
    site.request("g1", Bytes::Some);
    site.restart();
    site.list();
    site.wait(minutes(120));
    site.fetch("g1");
    site.says("g1", failure());
    assert_eq!(site.at("g1"), Step::Failed(FailedReason::Reported));

    let mut site = Site::rolling(1, |spec| spec.attempts = 1);
    site.fetch("g1");
    site.restart();
    site.list();
    site.request("g1", Bytes::Some);
    site.served("g1");
    site.says("g1", failure());
    assert_eq!(site.at("g1"), Step::Failed(FailedReason::Reported), "it was served whole after all");
}

#[test]
fn success_without_a_download_is_offered_again_under_a_new_id() {
    let mut site = Site::rolling(1, |_| {});
    let first = site.order("g1");
    site.says("g1", success());
    assert_eq!(site.at("g1"), Step::Offered);
    assert_ne!(site.order("g1"), first);
    site.fetch("g1");
    site.request("g1", Bytes::Some);
    site.says("g1", success());
    assert_eq!(site.at("g1"), Step::Offered, "half a download is none");
    site.says("g1", success());
    assert_eq!(site.at("g1"), Step::Failed(FailedReason::SuccessWithoutDownload));
}

/// RAUC may read just the parts that it installs, while it installs them.
#[test]
fn who_installs_while_it_reads_is_installing_from_its_first_progress_and_done_with_any_byte() {
    let progress = || word(Execution::Proceeding, Finished::None);
    let deadline = |site: &Site| site.member("g1").action.as_ref().unwrap().deadline;
    let mut site = Site::rolling(1, |_| {});
    site.happens(Event::Client(id("g1"), Client::Rauc));
    site.fetch("g1");
    site.says("g1", progress());
    assert_eq!(site.at("g1"), Step::Downloading, "it has no byte yet");
    site.request("g1", Bytes::Some);
    site.body_ended("g1");
    assert_eq!(site.at("g1"), Step::Downloading);
    let since = deadline(&site);
    site.says("g1", progress());
    assert_eq!(site.at("g1"), Step::Installing);
    assert_eq!(deadline(&site), since, "what is left to read keeps its time");
    site.restart();
    site.list();
    site.says("g1", success());
    assert_eq!(site.at("g1"), Step::Confirming);

    let mut site = Site::rolling(1, |_| {});
    site.happens(Event::Client(id("g1"), Client::Rauc));
    site.fetch("g1");
    site.says("g1", progress());
    site.says("g1", success());
    assert_eq!(site.at("g1"), Step::Offered, "no byte is no download");
}

#[test]
fn progress_of_a_client_that_reads_everything_first_begins_no_install() {
    for client in [Client::Generic, Client::SwUpdate, Client::Zephyr] {
        let mut site = Site::rolling(1, |_| {});
        site.happens(Event::Client(id("g1"), client));
        site.fetch("g1");
        site.request("g1", Bytes::Some);
        site.says("g1", word(Execution::Proceeding, Finished::None));
        assert_eq!(site.at("g1"), Step::Downloading);
    }
}

#[test]
fn a_complete_file_that_is_asked_for_again_under_a_new_id_is_a_download() {
    let mut site = Site::rolling(1, |_| {});
    site.fail("g1");
    site.wait(minutes(1));
    site.fetch("g1");
    // the rest of nothing: 416
    assert_eq!(site.request("g1", Bytes::None), Verdict::Deploy);
    assert_eq!(site.at("g1"), Step::Installing);
    site.says("g1", success());
    assert_eq!(site.at("g1"), Step::Confirming);
}

#[test]
fn a_file_served_under_an_earlier_order_does_not_make_the_new_one_served() {
    let mut site = Site::rolling(1, |_| {});
    let served = |site: &Site| site.board[&id("g1")].offer.as_ref().unwrap().served;
    site.fetch("g1");
    site.request("g1", Bytes::Some);
    assert!(!served(&site));
    site.served("g1");
    assert!(served(&site));
    site.says("g1", word(Execution::Closed, Finished::Failure));
    site.wait(minutes(1));
    assert!(!served(&site), "rhu would never be shown the new order");
    site.fetch("g1");
    site.request("g1", Bytes::None);
    assert!(served(&site));
}

#[test]
fn the_rest_of_nothing_is_no_download_of_a_file_that_was_not_served() {
    let mut site = Site::rolling(1, |_| {});
    site.fetch("g1");
    assert_eq!(site.request("g1", Bytes::None), Verdict::Deploy);
    assert_eq!(site.at("g1"), Step::Downloading);
}

#[test]
fn a_file_served_for_an_earlier_rollout_is_no_download_for_this_one_until_it_is_asked_for() {
    let mut site = Site::rolling(1, |_| {});
    site.update("g1");
    site.wait(minutes(60));
    site.edit("main", |spec| *spec = rollout("os", "3"));
    site.verify();
    site.update("g1");
    site.wait(minutes(60));
    site.edit("main", |spec| *spec = RolloutSpec { allow_downgrade: true, ..rollout("os", "2") });
    site.fetch("g1");
    site.says("g1", success());
    assert_eq!(site.member("g1").attempts, 1, "no request was answered under this order");
    site.fetch("g1");
    site.request("g1", Bytes::None);
    site.says("g1", success());
    assert_eq!(site.at("g1"), Step::Confirming);
}

#[test]
fn success_with_the_version_reported_needs_no_download() {
    let mut site = Site::rolling(1, |_| {});
    site.fetch("g1");
    let order = site.order("g1");
    site.reports("g1", "2");
    assert_eq!(site.at("g1"), Step::Updated);
    assert_eq!(site.says_on("g1", order, success()), Verdict::Accepted);
    assert!(!site.sees_link("g1"));
}

#[test]
fn what_was_served_survives_our_restart() {
    let mut site = Site::rolling(1, |_| {});
    site.download("g1");
    site.restart();
    site.list();
    site.says("g1", success());
    assert_eq!(site.at("g1"), Step::Confirming);
}

#[test]
fn action_ids_count_up_and_are_never_given_twice() {
    let mut site = Site::rolling(1, |spec| spec.attempts = 9);
    let mut given = vec![];
    for backoff in [1, 2, 4, 8] {
        given.push(site.order("g1"));
        site.fail("g1");
        site.restart();
        site.list();
        site.wait(minutes(backoff));
    }
    assert!(given.windows(2).all(|pair| pair[0] < pair[1]), "{given:?}");
    assert!(given.iter().all(|id| id.get() > ActionId::SMALLEST_BASE));
}

#[test]
fn a_version_reported_between_two_attempts_is_an_update() {
    let mut site = Site::rolling(1, |_| {});
    site.fail("g1");
    site.reports("g1", "2");
    assert_eq!(site.at("g1"), Step::Updated, "it was this rollout that brought it there");
}
