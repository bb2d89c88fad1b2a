//! The plant was switched off, the site with it, and its gateways take longer to boot than the site does.

use lamplighter::engine::{Phase, Step};
use lamplighter::model::*;

use super::site::*;

/// The power is back: the site runs, and two intervals later the gateway has not been heard.
fn power_is_back(site: &mut Site, gateway: &str) {
    site.restart();
    site.list();
    site.verify();
    site.wait(3 * INTERVAL);
    site.quiet(gateway);
    site.wait(3 * INTERVAL);
}

#[test]
fn who_boots_longer_than_the_site_while_it_is_watched_has_not_regressed() {
    let mut site = Site::rolling(20, |_| {});
    let canary = site.canary();
    site.update(&canary);
    power_is_back(&mut site, &canary);
    assert_eq!(site.at(&canary), Step::Updated);
    site.seen(&canary);
    site.wait(SOAK);
    assert_eq!((site.at(&canary), site.noted(What::WaveProven)), (Step::Updated, 1));
}

#[test]
fn who_is_not_back_when_it_counts_as_offline_has_regressed() {
    let mut site = Site::rolling(20, |_| {});
    let canary = site.canary();
    site.update(&canary);
    power_is_back(&mut site, &canary);
    assert_eq!(site.at(&canary), Step::Updated);
    site.wait(OFFLINE_AFTER - 6 * INTERVAL);
    site.offline(&canary);
    assert_eq!(site.at(&canary), Step::Failed(FailedReason::Regressed));
}

#[test]
fn who_boots_longer_than_its_deadline_had_left_has_not_failed() {
    let mut site = Site::rolling(20, |_| {});
    let canary = site.canary();
    site.download(&canary);
    site.wait(minutes(59));
    power_is_back(&mut site, &canary);
    assert_eq!(site.at(&canary), Step::Installing, "its hour was over five minutes ago");
    site.reports(&canary, "2");
    site.says(&canary, success());
    site.seen(&canary);
    assert_eq!(site.at(&canary), Step::Updated);
}

#[test]
fn who_never_comes_back_fails_as_soon_as_it_counts_as_offline() {
    let mut site = Site::rolling(20, |_| {});
    let canary = site.canary();
    site.download(&canary);
    site.wait(minutes(59));
    power_is_back(&mut site, &canary);
    site.wait(OFFLINE_AFTER - 6 * INTERVAL);
    assert_eq!(site.at(&canary), Step::Failed(FailedReason::NoFeedback));
}

#[test]
fn who_only_counts_as_there_after_a_start_proves_no_wave() {
    let mut site = Site::rolling(3, |_| {});
    let canary = site.canary();
    site.update(&canary);
    site.wait(SOAK - minutes(1));
    site.restart();
    site.list();
    site.verify();
    site.wait(minutes(5));
    assert_eq!((site.at(&canary), site.noted(What::WaveProven)), (Step::Updated, 0), "its soak is over, unheard");
    match site.phase() {
        Phase::Reconciling(ReconcilingReason::Soaking, text) => assert!(text.contains("heard of"), "{text}"),
        other => panic!("nobody is being updated: {other:?}"),
    }
    for gateway in site.rest() {
        site.seen(&gateway);
    }
    assert_eq!(site.noted(What::WaveProven), 0, "that others poll proves nothing of it");
    site.seen(&canary);
    assert_eq!((site.noted(What::WaveProven), site.noted(What::WaveOpened)), (1, 2));
}

#[test]
fn who_never_comes_back_in_its_soak_has_regressed_and_proves_nothing() {
    let mut site = Site::rolling(3, |_| {});
    let canary = site.canary();
    site.update(&canary);
    site.wait(SOAK - minutes(1));
    site.restart();
    site.list();
    site.verify();
    site.wait(minutes(3));
    site.quiet(&canary);
    site.wait(OFFLINE_AFTER);
    assert_eq!((site.at(&canary), site.noted(What::WaveProven)), (Step::Failed(FailedReason::Regressed), 0));
}

#[test]
fn who_came_back_after_the_start_and_falls_silent_has_no_time_to_boot_once_more() {
    let mut site = Site::rolling(2, |_| {});
    let canary = site.canary();
    site.update(&canary);
    site.restart_whole();
    site.everybody_polls();
    site.quiet(&canary);
    site.wait(3 * POLL);
    assert_eq!(site.at(&canary), Step::Failed(FailedReason::Regressed));
}
