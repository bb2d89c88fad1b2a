//! The downgrade guard.

use lamplighter::engine::{Phase, Step};
use lamplighter::model::*;

use super::site::*;

/// Everybody at once, to `to`; each gateway says first what it runs.
fn running(to: &str, runs: &[&str], edit: impl FnOnce(&mut RolloutSpec)) -> Site {
    let mut site = Site::new();
    site.declare_gateways(runs.len());
    let mut spec = rollout("os", to);
    spec.strategy.waves = vec![WaveSpec::REST];
    edit(&mut spec);
    site.list();
    site.everybody_polls();
    for (at, version) in runs.iter().enumerate().filter(|(_, version)| !version.is_empty()) {
        site.reports(&format!("g{}", at + 1), version);
    }
    site.rollouts.insert("main".into(), spec);
    site.list();
    site.verify();
    site
}

#[test]
fn who_runs_a_newer_version_is_skipped_and_one_that_never_said_is_not() {
    let site = running("2.0.0", &["2.1.0", "2.0.0-rc.1", "", "2.0.0"], |_| {});
    assert_eq!(site.at("g1"), Step::Skipped(SkippedReason::DowngradeRefused));
    assert_eq!((site.at("g2"), site.at("g3")), (Step::Offered, Step::Offered));
    assert_eq!(site.at("g4"), Step::Skipped(SkippedReason::AlreadyInstalled));
}

#[test]
fn what_is_no_semantic_version_is_compared_as_debian_does() {
    let site = running("2024.07-2", &["2024.07-10", "2024.07-1", "2024.07-2~bpo1"], |_| {});
    assert_eq!(site.at("g1"), Step::Skipped(SkippedReason::DowngradeRefused));
    assert_eq!((site.at("g2"), site.at("g3")), (Step::Offered, Step::Offered));
}

#[test]
fn one_that_cannot_be_compared_waits_for_a_persons_word_and_holds_nobody_up() {
    let mut site = running("2.0.0", &["kirkstone", "1.0.0"], |_| {});
    assert_eq!(site.at("g1"), Step::Waiting(WaitingReason::NotComparable));
    site.update("g2");
    site.wait(SOAK);
    assert_eq!(site.phase(), Phase::Ready);
    site.edit("main", |spec| spec.allow_downgrade = true);
    assert_eq!(site.at("g1"), Step::Offered);
    site.edit("main", |spec| spec.allow_downgrade = false);
    assert_eq!(site.at("g1"), Step::Waiting(WaitingReason::NotComparable), "the offer was not fetched");
}

#[test]
fn allowed_later_it_goes_on_across_a_restart_too() {
    let mut site = running("2.0.0", &["3.0.0", "1.0.0"], |_| {});
    site.restart();
    site.list();
    assert_eq!(site.at("g1"), Step::Skipped(SkippedReason::DowngradeRefused));
    site.edit("main", |spec| spec.allow_downgrade = true);
    site.verify();
    assert_eq!(site.at("g1"), Step::Offered);
    site.update("g1");
    assert_eq!(site.at("g1"), Step::Updated);
}

#[test]
fn who_took_the_update_is_not_stopped_half_way() {
    let mut site = running("2.0.0", &["1.0.0"], |_| {});
    site.fail("g1");
    site.reports("g1", "9.0.0");
    site.wait(minutes(2));
    assert_eq!(site.at("g1"), Step::Offered, "whatever it says now, its first update has to end");
}
