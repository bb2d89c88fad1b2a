//! Drops: all of one or nothing, once, and never against the manifests.

use lamplighter::engine::{MOST_DROPS, Step};
use lamplighter::model::*;

use super::site::*;

fn intents(gateways: &[&str], rollouts: &[(&str, RolloutSpec)]) -> Vec<Intent> {
    let gateways = gateways.iter().map(|name| Intent::Gateway(gateway(name)));
    let rollouts = rollouts.iter().map(|(name, spec)| Intent::Rollout(Identity((*name).into()), spec.clone().into()));
    gateways.chain(rollouts).collect()
}

fn dropped(content: &str, intents: Vec<Intent>) -> Event {
    Event::Dropped(Dropped { file: "a.yaml".into(), digest: Some(digest(content)), content: Ok(intents) })
}

fn verified(site: &mut Site, spec: &RolloutSpec) {
    let sums = Sums { sha1: "1".repeat(40), md5: "5".repeat(32) };
    site.happens(Event::Artifact(spec.artifact.key.digest, ArtifactFact::Verified(sums)));
}

fn remote(mut spec: RolloutSpec) -> RolloutSpec {
    spec.artifact.sources = vec![Source::Http { url: "https://h/f".parse().unwrap() }];
    spec
}

/// A site whose manifests declare nothing, with a drop of one gateway and the rollout `main`.
fn with_drop() -> Site {
    let mut site = Site::new();
    site.list();
    let spec = rollout("os", "2");
    verified(&mut site, &spec);
    assert_eq!(site.happens(dropped("1", intents(&["g1"], &[("main", spec)]))), Verdict::Accepted);
    site.seen("g1");
    site
}

fn against(verdict: Verdict) -> Against {
    match verdict {
        Verdict::Contradicts(contradiction) => contradiction.why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_drop_waits_for_the_manifests_and_for_its_artifact_and_then_counts_as_a_whole() {
    let mut site = Site::new();
    let spec = rollout("os", "2");
    let drop = dropped("1", intents(&["g1"], &[("main", spec.clone())]));
    verified(&mut site, &spec);
    assert_eq!(site.happens(drop.clone()), Verdict::NotYet, "the manifests were not read");
    let mut site = Site::new();
    site.list();
    assert_eq!(site.happens(drop.clone()), Verdict::NotYet, "the artifact is not in the cache");
    assert!(site.last.is_empty() && site.core.state().gateways.is_empty(), "not even its gateway counts");
    verified(&mut site, &spec);
    assert_eq!(site.happens(drop), Verdict::Accepted);
    site.seen("g1");
    assert!(site.sees_link("g1"));
    let row = site.journal.iter().find(|row| row.what == What::DropAccepted).unwrap();
    let expected = format!("a.yaml ({}): EdgeGateway/g1, OtaRollout/main", digest("1"));
    assert_eq!(row.detail, expected);
}

#[test]
fn what_only_the_network_has_is_accepted_at_once() {
    let mut site = Site::new();
    site.list();
    let spec = remote(rollout("os", "2"));
    assert_eq!(site.happens(dropped("1", intents(&["g1"], &[("main", spec)]))), Verdict::Accepted);
}

#[test]
fn a_list_of_manifests_never_unlists_what_came_by_a_drop_and_a_restart_changes_nothing() {
    let mut site = with_drop();
    site.list();
    assert!(site.last.is_empty(), "{:?}", site.last);
    assert_eq!(site.at("g1"), Step::Offered);
    let before = site.core.state().rollouts.values().map(|rollout| rollout.arrival).collect::<Vec<_>>();
    site.restart();
    site.list();
    assert_eq!(site.at("g1"), Step::Offered);
    assert_eq!(site.core.state().rollouts.values().map(|rollout| rollout.arrival).collect::<Vec<_>>(), before);
}

#[test]
fn the_same_content_again_changes_nothing_even_after_a_newer_edit() {
    let mut site = with_drop();
    let first = dropped("1", intents(&["g1"], &[("main", rollout("os", "2"))]));
    assert_eq!(site.happens(first.clone()), Verdict::Accepted);
    assert!(site.last.is_empty());
    let newer = rollout("os", "3");
    verified(&mut site, &newer);
    assert_eq!(site.happens(dropped("2", intents(&[], &[("main", newer)]))), Verdict::Accepted);
    let arrival = site.main().arrival;
    site.restart();
    site.list();
    assert_eq!(site.happens(first), Verdict::Accepted);
    assert!(site.last.is_empty(), "an old stick takes nothing back");
    assert_eq!((site.main().arrival, site.main().spec.artifact.key.version.as_str()), (arrival, "3"));
    assert_eq!(site.noted(What::DropAccepted), 2);
}

#[test]
fn a_drop_edits_what_an_earlier_drop_declared() {
    let mut site = with_drop();
    let mut spec = rollout("os", "2");
    spec.paused = true;
    let arrival = site.main().arrival;
    site.happens(dropped("2", intents(&[], &[("main", spec)])));
    assert_eq!(site.at("g1"), Step::Waiting(WaitingReason::Paused));
    assert_eq!(site.main().arrival, arrival, "no new revision");
    // the same name with another controller id is another machine in its place
    let mut other = gateway("g1");
    other.controller_id = id("c2");
    site.happens(dropped("3", vec![Intent::Gateway(other)]));
    let gateways = &site.core.state().gateways;
    assert_eq!((gateways[&id("g1")].listed, gateways[&id("c2")].listed), (false, true));
}

#[test]
fn a_drop_that_names_what_a_manifest_declares_is_refused_as_a_whole() {
    let mut site = Site::rolling(1, |_| {});
    let drop = intents(&["g9"], &[("main", remote(rollout("os", "9")))]);
    let verdict = site.happens(dropped("1", drop.clone()));
    assert_eq!(verdict, Verdict::Contradicts(Contradiction { object: 1, why: Against::Declared }));
    assert!(!site.core.state().gateways.contains_key(&id("g9")));
    assert_eq!(site.noted(What::DropRejected), 1);
    assert_eq!(against(site.happens(dropped("2", intents(&["g1"], &[])))), Against::Declared);
    let mut alias = gateway("other");
    alias.controller_id = id("g1");
    assert_eq!(against(site.happens(dropped("3", vec![Intent::Gateway(alias)]))), Against::ControllerId);
    // once the manifest is gone the same drop is good
    site.rollouts.clear();
    site.list();
    assert_eq!(site.happens(dropped("1", drop)), Verdict::Accepted);
    assert_eq!(site.main().origin, DeclaredBy::Drop);
}

#[test]
fn a_digest_has_one_size() {
    let mut site = Site::rolling(1, |_| {});
    let mut spec = remote(rollout("os", "2"));
    spec.artifact.size += 1;
    assert_eq!(against(site.happens(dropped("1", intents(&[], &[("other", spec)])))), Against::Size);
}

#[test]
fn a_manifest_takes_over_what_came_by_a_drop() {
    let mut site = with_drop();
    let arrival = site.main().arrival;
    site.gateways.insert("g1".into(), gateway("g1"));
    site.rollouts.insert("main".into(), rollout("os", "2"));
    site.list();
    assert_eq!((site.main().origin, site.main().arrival), (DeclaredBy::Manifest, arrival));
    assert_eq!(site.noted(What::TakenOver), 2);
    assert_eq!(site.at("g1"), Step::Offered, "nothing is interrupted");
    // from now on it is as any manifest
    site.rollouts.clear();
    site.list();
    assert_eq!(site.at("g1"), Step::Waiting(WaitingReason::Unlisted));
}

#[test]
fn a_drop_that_was_refused_unread_is_journalled() {
    let mut site = Site::new();
    let drop = Dropped { file: "b.yaml".into(), digest: None, content: Err("holds no object".into()) };
    assert_eq!(site.happens(Event::Dropped(drop)), Verdict::Accepted);
    assert_eq!(site.journal.last().unwrap().detail, "b.yaml: holds no object");
}

#[test]
fn the_oldest_of_too_many_accepted_drops_is_forgotten() {
    let mut site = Site::new();
    site.list();
    let drop = |n: usize| dropped(&n.to_string(), intents(&["g1"], &[]));
    site.step((0..=MOST_DROPS).map(drop).collect());
    let drops = &site.core.state().drops;
    assert_eq!((drops.len(), drops.contains_key(&digest("0"))), (MOST_DROPS, false));
}

#[test]
fn a_superseded_rollout_that_came_by_a_drop_is_forgotten_a_week_after_the_newer_is_done() {
    let week = minutes(7 * 24 * 60);
    let mut site = with_drop();
    site.offline("g1");
    let newer = rollout("os", "3");
    verified(&mut site, &newer);
    assert_eq!(site.happens(dropped("2", intents(&[], &[("newer", newer)]))), Verdict::Accepted);
    let is_there = |site: &Site| site.core.state().rollouts.values().any(|rollout| rollout.identity.0 == "main");
    site.wait(week * 2);
    assert!(is_there(&site), "the newer one may be long in coming");
    site.seen("g1");
    site.download("g1");
    site.says("g1", success());
    site.reports("g1", "3");
    site.wait(SOAK);
    assert!(site.rollout("newer").ready_at.is_some());
    site.wait(week - minutes(1));
    assert!(is_there(&site), "people may still want to see what became of it");
    site.wait(minutes(2));
    assert!(!is_there(&site));
    let old = rollout("os", "2");
    assert_eq!(
        site.happens(dropped("1", intents(&["g1"], &[("main", old)]))),
        Verdict::Accepted,
        "the file still lies there"
    );
    assert!(!is_there(&site), "and is nothing new");
}

#[test]
fn a_rollout_of_a_drop_that_nobody_took_over_stays() {
    let mut site = with_drop();
    site.download("g1");
    site.says("g1", success());
    site.reports("g1", "2");
    site.wait(minutes(21 * 24 * 60));
    assert_eq!(site.core.state().rollouts.len(), 1);
}
