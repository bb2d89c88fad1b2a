//! Which artifacts must stay: those that rollouts in force bring, and those to which gateways may have to go back.

use lamplighter::engine::{may_go, needs, wanted_artifacts};
use lamplighter::model::*;

use super::site::*;

fn os(version: &str) -> Digest {
    digest(&format!("os {version}"))
}

/// The second rollout of an artifact, after everybody got the first: by an edit of the same manifest.
fn updated_twice() -> Site {
    let mut site = Site::rolling_on(3, |_| {});
    for name in site.rest() {
        site.update(&name);
    }
    site.edit("main", |spec| spec.artifact = rollout("os", "3").artifact);
    site.verify();
    let canary = site.canary();
    site.update(&canary);
    site.wait(SOAK);
    for name in site.rest() {
        site.update(&name);
    }
    site
}

fn goes(site: &mut Site, version: &str) -> bool {
    let digest = os(version);
    let may = may_go(site.core.state(), &digest);
    let verdict = site.happens(Event::Collect(digest, 1_000, "it is in the way".into()));
    assert_eq!(verdict, if may { Verdict::Accepted } else { Verdict::Needed });
    may
}

#[test]
fn what_a_rollout_in_force_brings_stays() {
    let mut site = Site::rolling(2, |_| {});
    assert!(!goes(&mut site, "2"));
    assert_eq!(needs(site.core.state())[&os("2")].rollouts, [Identity("main".into())].into());
    site.rollouts.clear();
    site.list();
    assert!(!goes(&mut site, "2"), "a manifest that is missing may come back");
    site.restart();
    assert!(!goes(&mut site, "2"));
}

#[test]
fn what_gateways_run_and_what_they_ran_before_stays_and_anything_older_goes() {
    let mut site = updated_twice();
    let needed = needs(site.core.state());
    assert_eq!((needed[&os("3")].run, needed[&os("2")].ran), (3, 3));
    assert_eq!(wanted_artifacts(site.core.state()).len(), 1, "nobody fetches the old one");
    assert!(!goes(&mut site, "2"), "a rollback leads there");
    site.restart();
    site.list();
    assert_eq!(needs(site.core.state()), needed, "the records know");

    site.edit("main", |spec| spec.artifact = rollout("os", "4").artifact);
    site.verify();
    for name in ["g1", "g2"] {
        site.reports(name, "4");
    }
    assert!(!goes(&mut site, "2"), "one gateway would still go back there");
    site.reports("g3", "4");
    assert!(!goes(&mut site, "3") && !goes(&mut site, "4"));
    assert!(goes(&mut site, "2"));
    let row = site.journal.iter().find(|row| row.what == What::ArtifactCollected).unwrap();
    assert_eq!(row.detail, format!("{} (os 2), 1000 bytes: it is in the way", os("2")));
    assert_eq!(site.last.artifacts, [(os("2"), None)], "it is forgotten in the same commit");
}

#[test]
fn a_gateway_that_falls_back_needs_what_it_fell_back_from_and_to() {
    let mut site = updated_twice();
    site.reports("g1", "2");
    let needed = needs(site.core.state());
    assert_eq!((needed[&os("2")].run, needed[&os("2")].ran), (1, 2));
    assert_eq!((needed[&os("3")].run, needed[&os("3")].ran), (2, 1));
}

#[test]
fn of_gateways_that_report_no_version_the_last_two_that_they_were_given_stay() {
    let mut site = Site::rolling(1, |spec| spec.confirm_by = ConfirmBy::Feedback);
    for version in ["3", "4"] {
        site.download("g1");
        site.says("g1", success());
        site.wait(minutes(10));
        site.seen("g1");
        site.happens(Event::Polled(id("g1")));
        site.edit("main", |spec| spec.artifact = rollout("os", version).artifact);
        site.verify();
    }
    site.download("g1");
    let needed = needs(site.core.state());
    assert_eq!((needed[&os("4")].run, needed[&os("3")].ran), (1, 1));
    assert!(goes(&mut site, "2"));
}

#[test]
fn a_rollout_that_a_newer_one_took_over_is_no_longer_in_force_until_it_gets_a_gateway_again() {
    let mut site = Site::rolling(2, |spec| spec.attempts = 1);
    let canary = site.canary();
    site.download(&canary);
    site.rollouts.insert("newer".into(), rollout("os", "3"));
    site.list();
    let wanted = |site: &Site| wanted_artifacts(site.core.state()).into_iter().map(|it| it.key.digest).collect();
    let both: Vec<_> = wanted(&site);
    assert_eq!(both, [os("2"), os("3")], "the first gateway has an order of it");
    site.says(&canary, failure());
    let one: Vec<_> = wanted(&site);
    assert_eq!(one, [os("3")]);

    let mut other = gateway("g9");
    other.labels.insert("line".into(), "b".into());
    site.edit("newer", |spec| spec.selector.match_labels = [("line".into(), "a".into())].into());
    site.gateways.insert("g9".into(), other);
    site.list();
    let again: Vec<_> = wanted(&site);
    assert!(again.contains(&os("2")), "there is a gateway that only the older one has");
}

#[test]
fn before_the_site_knows_what_is_wanted_of_it_nothing_goes() {
    let mut site = Site::new();
    assert!(!goes(&mut site, "7"), "no list was read yet");
    site.list();
    assert!(goes(&mut site, "7"));
    site.happens(Event::StoreLost("gone".into()));
    assert!(!goes(&mut site, "7"), "what gateways run is forgotten");
    site.happens(Event::Order(Order::Resume, "me".into()));
    assert!(goes(&mut site, "7"));
}
