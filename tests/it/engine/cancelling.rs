//! A rollout is called off while gateways are anywhere on their way.

use lamplighter::engine::{Phase, Step};
use lamplighter::model::*;

use super::site::*;

fn cancel(site: &mut Site) {
    site.edit("main", |spec| spec.cancelled = true);
}

/// Two gateways of which one has fetched its order, at the moment the rollout is called off.
fn cancelled_half_way(bytes: bool) -> Site {
    let mut site = Site::rolling(1, |_| {});
    site.fetch("g1");
    if bytes {
        site.request("g1", Bytes::Some);
        site.body_ended("g1");
    }
    cancel(&mut site);
    site
}

fn answers(site: &mut Site, word: Feedback) -> Verdict {
    let action = site.order("g1");
    site.happens(Event::CancelFeedback(id("g1"), action, word))
}

fn told_to_drop(site: &Site, gateway: &str) -> bool {
    site.board[&id(gateway)].offer.as_ref().is_some_and(|offer| offer.cancel && !offer.link && !offer.fetched)
}

const CANCELLED: Step = Step::Skipped(SkippedReason::Cancelled);
const CANCELLING: Step = Step::Waiting(WaitingReason::Cancelling);

#[test]
fn offers_that_nobody_fetched_are_taken_back_in_the_same_commit() {
    let mut site = Site::rolling_on(4, |_| {});
    assert_eq!(site.count(Step::Offered), 3);
    cancel(&mut site);
    assert_eq!(site.count(CANCELLED), 3);
    assert_eq!(site.last.members.len(), 3, "the commit of the list holds them");
    assert!(site.rest().iter().all(|gateway| !site.sees_link(gateway)));
    assert_eq!(site.noted(What::RolloutCancelled), 1);
    let canary = site.canary();
    assert_eq!(site.at(&canary), Step::Updated, "what is done is done");
    assert!(matches!(site.phase(), Phase::Stalled(StalledReason::Cancelled, _)));
}

#[test]
fn an_order_in_hand_is_cancelled_by_link_and_ends_with_the_gateways_word() {
    let mut site = cancelled_half_way(false);
    assert_eq!(site.at("g1"), CANCELLING);
    assert!(told_to_drop(&site, "g1"));
    assert!(matches!(site.phase(), Phase::Reconciling(ReconcilingReason::Cancelling, _)));
    for gets in [site.fetch("g1"), site.request("g1", Bytes::Some), site.served("g1")] {
        assert_eq!(gets, Verdict::Withdrawn, "it gets nothing of it any more");
    }
    assert_eq!(answers(&mut site, success()), Verdict::Accepted);
    assert_eq!(site.at("g1"), CANCELLED);
    assert!(site.board[&id("g1")].offer.is_none());
    assert!(matches!(site.phase(), Phase::Stalled(StalledReason::Cancelled, _)));
}

#[test]
fn words_that_do_not_end_a_cancellation_leave_it_open() {
    let mut site = cancelled_half_way(false);
    for execution in [Execution::Canceled, Execution::Proceeding, Execution::Scheduled, Execution::Downloaded] {
        assert_eq!(answers(&mut site, word(execution, Finished::Success)), Verdict::Accepted);
        assert_eq!(site.at("g1"), CANCELLING, "{execution:?}");
    }
    assert_eq!(answers(&mut site, word(Execution::Closed, Finished::None)), Verdict::Accepted);
    assert_eq!(site.at("g1"), CANCELLED);
}

#[test]
fn a_gateway_that_refuses_goes_on_to_its_end() {
    for refusal in [word(Execution::Rejected, Finished::Success), failure()] {
        let mut site = cancelled_half_way(true);
        site.happens(Event::Client(id("g1"), Client::Rauc));
        answers(&mut site, refusal);
        assert_eq!(site.at("g1"), Step::Installing);
        assert!(site.sees_link("g1") && !told_to_drop(&site, "g1"));
        site.says("g1", success());
        assert_eq!(site.at("g1"), Step::Confirming, "its success counts");
        site.reports("g1", "2");
        assert_eq!(site.at("g1"), Step::Updated);
    }
}

#[test]
fn a_refusal_by_a_gateway_that_cannot_be_installing_changes_nothing() {
    for refusal in [word(Execution::Rejected, Finished::Success), failure()] {
        let mut site = cancelled_half_way(true);
        answers(&mut site, refusal);
        assert_eq!(site.at("g1"), CANCELLED);
    }
}

#[test]
fn from_installing_on_an_update_goes_on_to_its_end() {
    let mut site = Site::rolling(1, |_| {});
    site.download("g1");
    cancel(&mut site);
    assert_eq!(site.at("g1"), Step::Installing);
    assert!(site.sees_link("g1"), "SWUpdate reports only while it is offered");
    assert!(matches!(site.phase(), Phase::Reconciling(ReconcilingReason::Cancelling, _)));
    site.says("g1", success());
    site.reports("g1", "2");
    assert_eq!(site.at("g1"), Step::Updated);
    site.wait(SOAK);
    assert!(matches!(site.phase(), Phase::Stalled(StalledReason::Cancelled, _)), "it is not Ready");
}

#[test]
fn an_install_that_fails_after_the_cancellation_is_not_tried_again() {
    let mut site = Site::rolling(1, |_| {});
    site.download("g1");
    cancel(&mut site);
    site.says("g1", failure());
    assert_eq!(site.at("g1"), CANCELLED);
    site.wait(minutes(240));
    assert!(site.board[&id("g1")].offer.is_none());
}

#[test]
fn a_download_that_fails_because_it_was_cancelled_is_an_answer_and_no_failure() {
    let mut site = cancelled_half_way(true);
    site.says("g1", failure());
    assert_eq!((site.at("g1"), site.member("g1").attempts), (CANCELLED, 0));
}

#[test]
fn an_unanswered_cancellation_is_closed_by_force() {
    let mut site = cancelled_half_way(false);
    site.offline("g1");
    site.wait(minutes(29));
    assert_eq!(site.at("g1"), CANCELLING, "silence is no failure");
    site.wait(minutes(1));
    assert_eq!(site.at("g1"), CANCELLED);
    assert!(site.board[&id("g1")].offer.is_none());
    let action = site.member("g1").action.clone().unwrap().id;
    let late = site.happens(Event::CancelFeedback(id("g1"), action, success()));
    assert_eq!(late, Verdict::AlreadyClosed);
    assert_eq!(site.at("g1"), CANCELLED);
}

#[test]
fn an_unanswered_cancellation_is_closed_by_force_although_another_try_was_due_before() {
    let mut site = Site::rolling(1, |_| {});
    site.fetch("g1");
    site.wait(minutes(120));
    // offered again under the same id, and left lying
    site.wait(2 * POLL);
    assert_eq!(site.at("g1"), Step::Waiting(WaitingReason::NotFetched));
    let retry_at = site.member("g1").retry_at;
    cancel(&mut site);
    assert!(site.at("g1") == CANCELLING && retry_at > Some(site.now));
    site.wait(minutes(30));
    assert_eq!(site.at("g1"), CANCELLED, "what passed in between hides no deadline");
}

#[test]
fn after_bytes_an_acknowledgement_proves_nothing_until_a_version_is_reported() {
    let mut site = cancelled_half_way(true);
    site.rollouts.insert("next".into(), rollout("os", "3"));
    site.list();
    site.verify();
    assert_eq!(site.at_in("next", "g1"), Step::Waiting(WaitingReason::Cancelling), "it still has the old order");
    answers(&mut site, success());
    assert_eq!(site.at("g1"), CANCELLED);
    assert_eq!(site.at_in("next", "g1"), Step::Waiting(WaitingReason::Cancelling));
    assert_eq!(site.ask("g1"), Ask::EachInterval);
    site.restart();
    site.list();
    site.verify();
    assert_eq!(site.at_in("next", "g1"), Step::Waiting(WaitingReason::Cancelling), "a restart forgets nothing");
    site.reports("g1", "1");
    assert_eq!(site.at_in("next", "g1"), Step::Offered);
}

#[test]
fn after_bytes_a_gateway_that_never_says_what_it_runs_waits_for_the_confirm_deadline() {
    let mut site = cancelled_half_way(true);
    site.rollouts.insert("next".into(), rollout("os", "3"));
    site.list();
    site.verify();
    answers(&mut site, success());
    site.wait(minutes(29));
    assert_eq!(site.at_in("next", "g1"), Step::Waiting(WaitingReason::Cancelling));
    site.wait(minutes(1));
    assert_eq!(site.at_in("next", "g1"), Step::Offered);
    assert_ne!(site.ask("g1"), Ask::EachInterval);
}

#[test]
fn without_bytes_the_gateway_is_free_at_once() {
    let mut site = cancelled_half_way(false);
    site.rollouts.insert("next".into(), rollout("os", "3"));
    site.list();
    site.verify();
    answers(&mut site, success());
    assert_eq!(site.at_in("next", "g1"), Step::Offered);
}

#[test]
fn a_gateway_that_installed_all_the_same_is_updated_by_its_version() {
    let mut site = cancelled_half_way(true);
    site.reports("g1", "2");
    assert_eq!(site.at("g1"), Step::Updated, "before it answered");
    assert!(!told_to_drop(&site, "g1"));
    let mut site = cancelled_half_way(true);
    answers(&mut site, success());
    site.reports("g1", "2");
    assert_eq!(site.at("g1"), Step::Updated, "after it answered");
}

#[test]
fn taking_the_cancellation_back_revives_nothing_and_a_new_version_starts_anew() {
    let mut site = cancelled_half_way(false);
    answers(&mut site, success());
    site.edit("main", |spec| spec.cancelled = false);
    assert_eq!(site.at("g1"), CANCELLED);
    site.declare_gateways(2);
    site.list();
    site.seen("g2");
    assert_eq!(site.at("g2"), CANCELLED, "not for joiners either");
    site.edit("main", |spec| *spec = rollout("os", "3"));
    site.verify();
    assert_eq!(site.count(Step::Offered), 1);
}

#[test]
fn a_new_version_in_the_middle_of_a_cancellation_waits_for_it() {
    let mut site = cancelled_half_way(false);
    site.edit("main", |spec| *spec = rollout("os", "3"));
    site.verify();
    assert_eq!(site.at("g1"), CANCELLING, "in the new revision");
    assert!(told_to_drop(&site, "g1"), "the old order");
    answers(&mut site, success());
    assert_eq!(site.at("g1"), Step::Offered);
}

#[test]
fn a_rollout_that_is_born_cancelled_offers_nothing() {
    let site = Site::rolling(3, |spec| spec.cancelled = true);
    assert_eq!(site.count(CANCELLED), 3);
    assert!(matches!(site.phase(), Phase::Stalled(StalledReason::Cancelled, _)));
}

#[test]
fn cancelling_reaches_what_an_earlier_revision_has_under_way() {
    let mut site = Site::rolling(1, |_| {});
    site.fetch("g1");
    site.edit("main", |spec| *spec = rollout("os", "3"));
    cancel(&mut site);
    assert!(told_to_drop(&site, "g1"));
    site.wait(minutes(30));
    assert!(site.board[&id("g1")].offer.is_none());
}

#[test]
fn a_link_hidden_by_pause_or_a_lapsed_download_is_cancelled_too() {
    let mut site = Site::rolling(1, |_| {});
    site.fetch("g1");
    site.edit("main", |spec| spec.paused = true);
    site.wait(minutes(5));
    assert_eq!(site.at("g1"), Step::Waiting(WaitingReason::Paused));
    cancel(&mut site);
    assert!(told_to_drop(&site, "g1"), "it may be at work on it");
    let mut site = Site::rolling(1, |_| {});
    site.fetch("g1");
    site.wait(minutes(120));
    assert_eq!(site.at("g1"), Step::Offered, "again, under the same id");
    cancel(&mut site);
    assert!(told_to_drop(&site, "g1"));
}

#[test]
fn a_wave_with_cancelled_members_is_judged_by_the_others() {
    let mut site =
        Site::rolling(4, |spec| spec.strategy.waves = vec![WaveSpec { size: amount("2"), ..WaveSpec::CANARY }]);
    let gateway = site.canary();
    site.update(&gateway);
    cancel(&mut site);
    site.wait(SOAK);
    assert_eq!(site.noted(What::WaveProven), 1);
    assert_eq!(site.ask(&gateway), Ask::No, "it is no longer watched");
    assert_eq!(site.noted(What::WaveOpened), 1, "and nothing opens");
}

#[test]
fn a_rollout_that_is_cancelled_in_its_last_soak_is_not_called_ready() {
    let mut site = Site::rolling(1, |_| {});
    site.update("g1");
    cancel(&mut site);
    site.wait(SOAK);
    assert_eq!((site.main().ready_at, site.noted(What::RolloutReady)), (None, 0));
}

#[test]
fn whoever_waits_for_an_old_cancellation_in_a_paused_rollout_is_told_of_the_pause() {
    let mut site = cancelled_half_way(true);
    site.rollouts.insert("next".into(), rollout("os", "3"));
    site.list();
    site.verify();
    assert_eq!(site.at_in("next", "g1"), CANCELLING);
    site.edit("next", |spec| spec.paused = true);
    assert_eq!(site.at_in("next", "g1"), Step::Waiting(WaitingReason::Paused));
}
