//! `retryToken`: each member is acted on once per revision and token.

use lamplighter::engine::{Phase, Step};
use lamplighter::model::*;

use super::site::*;

fn token(site: &mut Site, token: &str) {
    site.edit("main", |spec| spec.retry_token = Some(token.into()));
}

fn all_fail(edit: impl FnOnce(&mut RolloutSpec)) -> Site {
    let mut site = Site::rolling(3, |spec| {
        spec.strategy.waves = vec![WaveSpec::REST];
        (spec.attempts, spec.strategy.max_failures) = (1, Amount::Count(2));
        edit(spec);
    });
    site.update("g3");
    site.fail("g1");
    site.fail("g2");
    site
}

#[test]
fn a_new_token_runs_the_failed_members_again_and_counts_failures_anew() {
    let mut site = all_fail(|_| {});
    assert!(matches!(site.phase(), Phase::Stalled(StalledReason::FailureLimit, _)));
    token(&mut site, "monday");
    assert_eq!((site.at("g1"), site.at("g2"), site.at("g3")), (Step::Offered, Step::Offered, Step::Updated));
    assert_eq!((site.member("g1").attempts, site.noted(What::Retried)), (0, 1));
    site.fail("g1");
    assert!(site.main().tripped.is_none(), "one of two");
    site.fail("g2");
    assert!(site.main().tripped.is_some());
}

#[test]
fn the_same_token_again_and_a_token_from_the_start_do_nothing() {
    let mut site = all_fail(|spec| spec.retry_token = Some("first".into()));
    let failed = Step::Failed(FailedReason::Reported);
    site.list();
    assert_eq!(site.at("g1"), failed);
    site.edit("main", |spec| spec.retry_token = None);
    token(&mut site, "first");
    assert_eq!(site.at("g1"), failed, "it acted on that one");
    site.restart();
    site.list();
    assert_eq!(site.at("g1"), failed);
    token(&mut site, "second");
    site.verify();
    site.everybody_polls();
    assert_eq!(site.at("g1"), Step::Offered);
    site.restart();
    site.list();
    assert_eq!(site.noted(What::Retried), 1);
}

#[test]
fn a_failed_gateway_that_is_switched_off_waits_in_the_new_run() {
    let mut site = all_fail(|spec| spec.strategy.max_failures = Amount::Count(10));
    site.offline("g1");
    token(&mut site, "monday");
    assert_eq!(site.at("g1"), Step::Waiting(WaitingReason::Offline));
    site.wait(minutes(600));
    assert_eq!(site.at("g1"), Step::Waiting(WaitingReason::Offline), "it has not taken anything in this run");
    site.seen("g1");
    assert_eq!(site.at("g1"), Step::Offered);
}

#[test]
fn those_go_on_of_whom_it_is_not_known_what_they_run() {
    let mut site = Site::rolling(1, |_| {});
    site.says_on("g1", "7".parse().unwrap(), success());
    assert_eq!(site.at("g1"), Step::Waiting(WaitingReason::UnknownVersion));
    token(&mut site, "it is fine");
    assert_eq!(site.at("g1"), Step::Offered);
}
