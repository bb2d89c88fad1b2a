//! The judges must cry when their rule is broken: the same world with a rule that its engine was never told.

use std::time::Duration;

use super::*;
use crate::engine::Settings;
use crate::model::{
    ActionId, Amount, ArtifactFact, Event, GateQuestion, GateSpec, GatewaySpec, Intent, Listing, Now, SiteTime, Spread,
    Sums, Verdict, Zone,
};
use crate::resources::{self, Kinds, Object};
use crate::site::Core;
use crate::store::StepRecord;
use crate::world::disk;

const PRESS: &str = "
apiVersion: lamplighter.dev/v1alpha1
kind: OtaRollout
metadata: {name: press}
spec:
  artifact:
    name: press
    version: '2'
    digest: sha256:0707070707070707070707070707070707070707070707070707070707070707
    sources: [file:press.swu]
    sizeBytes: 1000
  selector: {matchLabels: {hall: '7'}}
  strategy: {waves: [{size: 100%}], maxInFlight: 100%, maxFailures: 100%}
";

fn id(name: &str) -> ControllerId {
    name.parse().unwrap()
}

/// What is committed once two gateways of line a and one without a line have been offered an update, under no rule but its
/// caps, and these have fetched it.
fn judge_of(fetch: &[&str]) -> (Oracle, RolloutId) {
    let setting =
        resources::Setting { dir: "/manifests".into(), poll_interval: Duration::from_secs(60), secrets: false };
    let document = resources::documents(PRESS.as_bytes()).next().unwrap().unwrap();
    let Ok(Object::Rollout(object)) = Kinds::default().object(&document) else { panic!("a rollout") };
    let (identity, spec) = resources::rollout(&object, &setting).unwrap();
    let gateways = [("a-1", Some("a")), ("a-2", Some("a")), ("none", None)].map(|(name, line)| {
        let labels = [("hall", Some("7")), ("line", line)].into_iter();
        let labels = labels.filter_map(|(key, value)| Some((key.to_owned(), value?.to_owned()))).collect();
        Intent::Gateway(GatewaySpec { name: name.into(), controller_id: id(name), labels, token: None, hold: false })
    });
    let settings = Settings {
        site: "hall-7".into(),
        poll_interval: setting.poll_interval,
        offline_after: setting.poll_interval * 10,
        download_slots: 10,
        max_in_flight: 10,
        version_keys: [].into(),
        node: None,
        services: Default::default(),
        time_zone: Zone::utc(),
    };
    let mut oracle = Oracle::new(10, Zone::utc());
    let mut core = Core::rebuild(oracle.committed.clone(), settings, ActionId::base(7));
    let (digest, sums) = (spec.artifact.key.digest, Sums { sha1: "1".repeat(40), md5: "2".repeat(32) });
    let listing = Listing {
        intents: gateways.into_iter().chain([Intent::Rollout(identity, spec.into())]).collect(),
        refused: vec![],
    };
    let mut events =
        vec![Event::Started, Event::Listed(listing), Event::Artifact(digest, ArtifactFact::Verified(sums))];
    events.extend(["a-1", "a-2", "none"].map(|name| Event::Seen(id(name))));
    let now = Now { site: SiteTime(1), wall: None };
    disk::apply(&mut oracle.committed, &core.step(now, events).batch);
    let rollout = *oracle.committed.rollouts.keys().next().unwrap();
    for name in fetch {
        let action = oracle.committed.members[&(rollout, id(name))].action.as_ref().unwrap().id;
        let step = core.step(now, vec![Event::Fetched(id(name), action)]);
        assert_eq!(step.verdicts, [Verdict::Deploy]);
        disk::apply(&mut oracle.committed, &step.batch);
    }
    (oracle, rollout)
}

fn with_spread(oracle: &mut Oracle, most: Option<u32>, least: Option<u32>) {
    let spread =
        Spread { label: "line".into(), max_in_flight: most.map(Amount::Count), min_healthy: least.map(Amount::Count) };
    oracle.committed.rollouts.values_mut().for_each(|rollout| rollout.spec.strategy.spread = Some(spread.clone()));
}

/// As if it had never been offered anything.
fn take_back(oracle: &mut Oracle, rollout: RolloutId, name: &str) {
    let member = oracle.committed.members.get_mut(&(rollout, id(name))).unwrap();
    (member.step, member.action) = (StepRecord::Waiting, None);
}

#[test]
fn two_of_a_line_under_way_are_one_too_many() {
    let (mut oracle, rollout) = judge_of(&["a-1"]);
    with_spread(&mut oracle, Some(1), None);
    let said = oracle.against_spread(rollout, &id("a-1")).unwrap();
    assert_eq!(said, "as one of 2 of line a, 1 may be");
    take_back(&mut oracle, rollout, "a-2");
    assert_eq!(oracle.against_spread(rollout, &id("a-1")), None);
}

#[test]
fn one_without_the_label_may_not_be_given_anything() {
    let (mut oracle, rollout) = judge_of(&["none"]);
    with_spread(&mut oracle, Some(1), None);
    assert_eq!(oracle.against_spread(rollout, &id("none")).unwrap(), "without a label line");
}

#[test]
fn a_pair_is_not_left_without_its_other_half() {
    let (mut oracle, rollout) = judge_of(&["a-1"]);
    with_spread(&mut oracle, None, Some(1));
    let cries = |oracle: &Oracle| oracle.against_spread(rollout, &id("a-1"));
    let alone = Some("and leaves 0 of line a, 1 must stay".to_owned());
    assert_eq!(cries(&oracle), alone, "the other is offered the update too");
    take_back(&mut oracle, rollout, "a-2");
    assert_eq!(cries(&oracle), None);
    oracle.held.insert(id("a-2"));
    assert_eq!(cries(&oracle), alone, "the other is held");
    oracle.held.clear();
    oracle.field.dead.insert(id("a-2"));
    assert_eq!(cries(&oracle), alone, "the other is dead");
    oracle.field.dead.clear();
    oracle.committed.gateways.get_mut(&id("a-2")).unwrap().listed = false;
    assert_eq!(cries(&oracle), alone, "the other is no longer declared");
}

#[test]
fn a_gate_that_is_not_open_or_cannot_be_asked_lets_nobody_through() {
    let (mut oracle, rollout) = judge_of(&["a-1"]);
    let gate = GateSpec { name: None, question: GateQuestion::File("/permits/{line}".parse().unwrap()) };
    oracle.committed.rollouts.values_mut().for_each(|rollout| rollout.spec.gates = vec![gate.clone()]);
    let said = oracle.against_a_gate(rollout, &id("a-1")).unwrap();
    assert!(said.ends_with("/permits/a was not open"), "{said}");
    oracle.field.open.insert(GateKey::File("/permits/b".into()));
    assert!(oracle.against_a_gate(rollout, &id("a-1")).is_some(), "that is another's");
    oracle.field.open.insert(GateKey::File("/permits/a".into()));
    assert_eq!(oracle.against_a_gate(rollout, &id("a-1")), None);
    assert!(oracle.against_a_gate(rollout, &id("none")).unwrap().starts_with("a gate cannot be asked"));
}

#[test]
fn what_the_judges_find_is_found_when_an_order_is_given() {
    let (mut oracle, rollout) = judge_of(&["a-1"]);
    with_spread(&mut oracle, Some(1), None);
    let action = oracle.committed.members[&(rollout, id("a-1"))].action.as_ref().unwrap().id;
    let before = oracle.committed.rollouts.clone();
    oracle.granted(&before, &BTreeSet::new(), &id("a-1"), action);
    assert_eq!(oracle.wrong, [format!("a-1 was given action {action} as one of 2 of line a, 1 may be")]);
    oracle.granted(&before, &BTreeSet::new(), &id("a-1"), action);
    assert_eq!(oracle.wrong.len(), 1, "the same order again is no other");
}
