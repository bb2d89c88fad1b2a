//! One name and version with two files: what a gateway reports would not say any more which of them it runs.

use lamplighter::engine::{Phase, Step};
use lamplighter::model::*;

use super::site::*;

/// `main` and `other` bring different files as `os 2`, each to a gateway of its own.
fn two_files() -> Site {
    let mut site = Site::new();
    for (name, line) in [("g1", "1"), ("g2", "2")] {
        let mut spec = gateway(name);
        spec.labels = [("line".into(), line.into())].into();
        site.gateways.insert(name.into(), spec);
    }
    for (name, line) in [("main", "1"), ("other", "2")] {
        let mut spec = rollout("os", "2");
        spec.artifact.key.digest = digest(name);
        spec.selector = Selector { match_labels: [("line".into(), line.into())].into() };
        site.rollouts.insert(name.into(), spec);
    }
    site.list();
    site.everybody_polls();
    site.verify();
    site
}

fn stalls(site: &Site, name: &str) -> bool {
    let phase = lamplighter::engine::phase(site.core.state(), site.rollout(name), site.now);
    matches!(phase, Phase::Stalled(StalledReason::DigestConflict, _))
}

#[test]
fn until_a_byte_was_served_both_stand() {
    let mut site = two_files();
    site.fetch("g1");
    site.fetch("g2");
    assert!(!stalls(&site, "main") && !stalls(&site, "other"));
}

#[test]
fn the_first_byte_of_one_stalls_the_other_whichever_came_first() {
    for (first, second, loser) in [("g1", "g2", "other"), ("g2", "g1", "main")] {
        let mut site = two_files();
        site.fetch(first);
        site.request(first, Bytes::Some);
        assert!(stalls(&site, loser));
        assert_eq!(site.at_in(loser, second), Step::Waiting(WaitingReason::DigestConflict));
        assert!(!site.sees_link(second), "the offer is taken back");
        site.restart();
        site.list();
        site.verify();
        assert!(stalls(&site, loser) && !site.sees_link(second));
        site.served(first);
        site.says(first, success());
        site.reports(first, "2");
        let winner = if loser == "other" { "main" } else { "other" };
        assert_eq!(site.at_in(winner, first), Step::Updated);
        site.rollouts.get_mut(loser).unwrap().artifact.key.version = version("2.1");
        site.list();
        assert!(!stalls(&site, loser) && site.sees_link(second), "another version is no conflict");
    }
}

#[test]
fn who_fetched_the_other_order_gets_no_byte_of_it() {
    let mut site = two_files();
    site.fetch("g1");
    site.fetch("g2");
    site.request("g1", Bytes::Some);
    assert_eq!(site.request("g2", Bytes::Some), Verdict::Withdrawn);
    assert_eq!(site.request("g1", Bytes::Some), Verdict::Deploy);
}

#[test]
fn the_same_version_made_again_is_no_update_of_the_same_rollout_either() {
    let mut site = Site::rolling(2, |_| {});
    let canary = site.canary();
    site.edit("main", |spec| spec.artifact.key.digest = digest("made again"));
    site.verify();
    assert!(!stalls(&site, "main"), "nobody had a byte of the first");
    let canary = if site.sees_link(&canary) { canary } else { site.canary() };
    site.download(&canary);
    site.edit("main", |spec| spec.artifact.key.digest = digest("and again"));
    site.verify();
    assert!(stalls(&site, "main"));
    assert_eq!(site.count(Step::Offered), 0);
}

#[test]
fn a_file_that_left_with_its_rollout_is_remembered() {
    let mut site = Site::rolling_on(2, |_| {});
    for name in site.rest() {
        site.update(&name);
    }
    site.edit("main", |spec| spec.artifact = rollout("os", "3").artifact);
    site.verify();
    assert_eq!(site.core.state().rollouts.len(), 1, "version 2 is gone");
    let mut spec = rollout("os", "2");
    spec.artifact.key.digest = digest("made again");
    site.rollouts.insert("again".into(), spec);
    site.list();
    assert!(stalls(&site, "again"));
}
