//! The failure limit: which ends of members count, and of how many.

use lamplighter::engine::Step;
use lamplighter::model::*;

use super::site::*;

fn strict(spec: &mut RolloutSpec) {
    (spec.strategy.max_failures, spec.attempts) = (Amount::Count(1), 1);
}

/// The canary ends so; the limit must be reached by it.
fn counts(reason: FailedReason, end: impl FnOnce(&mut Site, &str)) {
    let mut site = Site::rolling(4, strict);
    let canary = site.canary();
    end(&mut site, &canary);
    assert_eq!(site.at(&canary), Step::Failed(reason));
    assert!(site.main().tripped.is_some(), "{reason} does not count");
}

#[test]
fn a_reported_failure_counts() {
    counts(FailedReason::Reported, Site::fail);
}

#[test]
fn a_rejection_counts() {
    counts(FailedReason::Rejected, |site, canary| {
        site.fetch(canary);
        site.says(canary, word(Execution::Rejected, Finished::None));
    });
}

#[test]
fn a_missed_deadline_counts() {
    counts(FailedReason::NoFeedback, |site, canary| {
        site.fetch(canary);
        site.wait(minutes(120));
    });
}

#[test]
fn an_offer_that_nobody_fetches_counts() {
    counts(FailedReason::NotFetched, |site, _| site.wait(minutes(15)));
}

#[test]
fn another_version_counts() {
    counts(FailedReason::WrongVersion, |site, canary| {
        site.reports(canary, "1");
        site.download(canary);
        site.says(canary, success());
        site.wait(minutes(30));
        site.reports(canary, "1");
    });
}

#[test]
fn a_regression_counts() {
    counts(FailedReason::Regressed, |site, canary| {
        site.update(canary);
        site.reports(canary, "1");
    });
}

#[test]
fn whoever_leaves_does_not_lower_what_a_share_is_taken_of() {
    // 10 % of 20 is 2, and of the 11 that are left it would be 2 as well, of 10 it would be 1
    let mut site = Site::rolling_on(21, |spec| (spec.strategy.max_failures, spec.attempts) = (amount("10%"), 1));
    let rest = site.rest();
    site.hold(&rest[19], true);
    for name in &rest[2..19] {
        site.gateways.get_mut(name).unwrap().labels = Default::default();
    }
    site.list();
    assert_eq!(site.count(Step::Skipped(SkippedReason::NotSelected)), 17);
    site.fail(&rest[0]);
    assert!(site.main().tripped.is_none());
    site.fail(&rest[1]);
    assert_eq!(site.main().tripped.as_ref().unwrap().limit, 2);
}

fn limit_reached(site: &Site) -> &str {
    &site.journal.iter().find(|row| row.what == What::LimitReached).unwrap().detail
}

#[test]
fn the_journal_says_how_many_failed_in_which_wave_and_how_many_may() {
    let mut site = Site::rolling(4, strict);
    let canary = site.canary();
    site.fail(&canary);
    assert_eq!(limit_reached(&site), "1 failed in wave 1, the limit is 1");
}
