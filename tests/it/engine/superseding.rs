//! Two rollouts and one gateway: the newer arrival wins, and what it took over is forgotten in the end.

use std::time::Duration;

use lamplighter::engine::{Step, names_of};
use lamplighter::model::*;

use super::site::*;

const WEEK: Duration = Duration::from_secs(7 * 86_400);
const SUPERSEDED: Step = Step::Skipped(SkippedReason::Superseded);

/// `main` to version 2 with nobody updated yet, and then `newer` to version 3 for the same gateways.
fn two(fetched: &[&str]) -> Site {
    let mut site = Site::rolling(3, |spec| {
        spec.strategy.waves = vec![WaveSpec::REST];
        spec.deadlines.install = WEEK * 3;
    });
    for gateway in fetched {
        site.download(gateway);
    }
    site.rollouts.insert("newer".into(), rollout("os", "3"));
    site.list();
    site.verify();
    site
}

#[test]
fn what_was_not_fetched_of_the_older_is_superseded_and_what_is_under_way_ends_first() {
    let mut site = two(&["g1"]);
    assert_eq!((site.at("g1"), site.at("g2"), site.at("g3")), (Step::Installing, SUPERSEDED, SUPERSEDED));
    site.says("g1", success());
    site.reports("g1", "2");
    assert_eq!(site.at("g1"), Step::Updated);
}

#[test]
fn taking_the_newer_away_never_revives_the_older() {
    let mut site = two(&[]);
    site.rollouts.remove("newer");
    site.list();
    assert_eq!(site.count(SUPERSEDED), 3);
    site.restart();
    site.list();
    site.verify();
    site.wait(WEEK + minutes(1));
    assert_eq!(site.count(SUPERSEDED), 3);
    assert_eq!(site.count(Step::Offered), 0);
}

#[test]
fn a_superseded_rollout_is_forgotten_a_week_after_its_manifest_went() {
    let mut site = two(&["g1"]);
    site.rollouts.remove("main");
    site.list();
    site.wait(WEEK * 2);
    assert!(
        site.core.state().rollouts.values().any(|rollout| rollout.identity.0 == "main"),
        "g1 has its order in hand"
    );
    site.says("g1", success());
    site.reports("g1", "2");
    site.wait(minutes(60));
    assert!(site.core.state().rollouts.values().all(|rollout| rollout.identity.0 != "main"));
    let names = names_of(site.core.state(), &digest("os 2"));
    assert_eq!(names, [("os".to_owned(), version("2"))].into(), "a rollback may lead there");
    site.restart();
    assert!(site.core.state().rollouts.values().all(|rollout| rollout.identity.0 != "main"));
}

#[test]
fn a_manifest_that_is_missing_for_a_while_comes_back_as_what_it_was() {
    let mut site = two(&[]);
    let arrival = site.main().arrival;
    let old = site.rollouts.remove("main").unwrap();
    site.list();
    site.wait(WEEK - minutes(1));
    site.restart();
    site.rollouts.insert("main".into(), old);
    site.list();
    site.wait(WEEK);
    assert_eq!((site.main().arrival, site.count(SUPERSEDED)), (arrival, 3), "it did not become the newest");
}

#[test]
fn one_that_nobody_took_over_stays_however_long_it_is_missing() {
    let mut site = Site::rolling(2, |_| {});
    site.rollouts.clear();
    site.list();
    site.wait(WEEK * 3);
    assert_eq!(site.core.state().rollouts.len(), 1);
}
