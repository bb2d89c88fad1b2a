//! Gates: whatever did not just say that it is open holds.

use std::time::Duration;

use lamplighter::engine::{Step, because, wanted_gates};
use lamplighter::model::*;

use super::site::*;

const GATE: Step = Step::Waiting(WaitingReason::Gate);

fn permit(line: &str) -> GateKey {
    GateKey::File(format!("/permits/{line}"))
}

fn file_gate() -> GateSpec {
    GateSpec { name: Some("permit".into()), question: GateQuestion::File("/permits/{line}".parse().unwrap()) }
}

/// Two gateways on line a and one on line b, all polling, behind a permit for each line.
fn gated() -> Site {
    let mut site = Site::new();
    site.declare_gateways(3);
    for (name, line) in [("g1", "a"), ("g2", "a"), ("g3", "b")] {
        site.gateways.get_mut(name).unwrap().labels.insert("line".into(), line.into());
    }
    let mut spec = rollout("os", "2");
    spec.strategy.waves = vec![WaveSpec::REST];
    spec.gates = vec![file_gate()];
    site.rollouts.insert("main".into(), spec);
    site.list();
    site.everybody_polls();
    site.verify();
    site
}

fn says(site: &mut Site, line: &str, answer: GateAnswer) {
    let asked = site.now;
    site.happens(Event::Gate(permit(line), answer, asked));
    assert!(site.last.members.is_empty() || !site.journal.is_empty());
}

fn closed() -> GateAnswer {
    GateAnswer::Closed("the file was not there".into())
}

fn unknown() -> GateAnswer {
    GateAnswer::Unknown("no answer".into())
}

fn wanted(site: &Site) -> Vec<GateKey> {
    wanted_gates(site.core.state()).into_iter().collect()
}

fn because_of(site: &Site, gateway: &str) -> String {
    let (main, _) = site.core.state().rollouts.first_key_value().unwrap();
    because(site.core.state(), site.now, *main, &id(gateway)).unwrap_or_default()
}

#[test]
fn a_gate_that_has_not_answered_holds_and_each_question_is_asked_once_for_all() {
    let site = gated();
    assert_eq!([site.at("g1"), site.at("g2"), site.at("g3")], [GATE; 3]);
    assert_eq!(wanted(&site), [permit("a"), permit("b")]);
    assert_eq!(because_of(&site, "g1"), "gate permit, /permits/a: has not answered yet");
}

#[test]
fn an_open_gate_lets_its_line_go_and_no_other() {
    let mut site = gated();
    says(&mut site, "a", GateAnswer::Open);
    assert_eq!([site.at("g1"), site.at("g2"), site.at("g3")], [Step::Offered, Step::Offered, GATE]);
    says(&mut site, "b", closed());
    assert_eq!(site.at("g3"), GATE);
    assert!(site.last.is_empty(), "answers are not written");
    assert_eq!(because_of(&site, "g3"), "gate permit, /permits/b: closed, the file was not there (0s ago)");
    says(&mut site, "b", unknown());
    assert_eq!(because_of(&site, "g3"), "gate permit, /permits/b: unknown, no answer (0s ago)");
}

#[test]
fn a_gate_that_closes_takes_an_unfetched_offer_back_in_the_same_step_and_no_fetched_one() {
    let mut site = gated();
    says(&mut site, "a", GateAnswer::Open);
    site.fetch("g1");
    let order = site.order("g2");
    says(&mut site, "a", closed());
    assert_eq!((site.at("g1"), site.at("g2"), site.sees_link("g2")), (Step::Downloading, GATE, false));
    assert_eq!(site.happens(Event::Fetched(id("g2"), order)), Verdict::Withdrawn);
    says(&mut site, "a", GateAnswer::Open);
    assert_eq!(site.at("g2"), Step::Offered);
}

#[test]
fn an_answer_that_went_stale_or_became_unknown_holds_at_the_fetch() {
    let mut site = gated();
    says(&mut site, "a", GateAnswer::Open);
    site.wait(Duration::from_secs(15));
    assert_eq!(site.fetch("g1"), Verdict::Deploy, "just good enough");
    site.wait(Duration::from_secs(1));
    assert!(site.sees_link("g2"));
    assert_eq!((site.fetch("g2"), site.at("g2")), (Verdict::Withdrawn, GATE));
    assert!(because_of(&site, "g2").contains("was open 16s ago"), "{}", because_of(&site, "g2"));
    says(&mut site, "a", GateAnswer::Open);
    assert_eq!(site.at("g2"), Step::Offered);
    says(&mut site, "a", unknown());
    assert!(site.sees_link("g2"), "a lost answer takes nothing back");
    assert_eq!((site.fetch("g2"), site.at("g2")), (Verdict::Withdrawn, GATE));
}

#[test]
fn the_same_answer_again_keeps_an_offer_fresh_and_writes_nothing() {
    let mut site = gated();
    says(&mut site, "a", GateAnswer::Open);
    for _ in 0..10 {
        site.wait(Duration::from_secs(5));
        says(&mut site, "a", GateAnswer::Open);
        assert!(site.last.is_empty());
    }
    assert_eq!(site.fetch("g1"), Verdict::Deploy);
}

#[test]
fn all_gates_must_be_open() {
    let mut site = gated();
    let url = "http://plc.local/ready?line={line}";
    site.edit("main", |spec| {
        spec.gates.push(GateSpec { name: None, question: GateQuestion::Http(url.parse().unwrap()) });
    });
    says(&mut site, "a", GateAnswer::Open);
    assert_eq!(site.at("g1"), GATE);
    assert_eq!(because_of(&site, "g1"), "gate http://plc.local/ready?…: has not answered yet");
    let http = GateKey::Http("http://plc.local/ready?line=a".into());
    assert!(wanted(&site).contains(&http));
    let asked = site.now;
    site.happens(Event::Gate(http, GateAnswer::Open, asked));
    assert_eq!(site.at("g1"), Step::Offered);
}

#[test]
fn a_gateway_without_the_label_is_held_and_nothing_is_asked_for_it() {
    let mut site = gated();
    says(&mut site, "a", GateAnswer::Open);
    site.gateways.get_mut("g1").unwrap().labels.remove("line");
    site.list();
    assert_eq!((site.at("g1"), site.sees_link("g1")), (GATE, false));
    assert_eq!(because_of(&site, "g1"), "gate permit, /permits/{line}: cannot be asked, it has no label line");
}

#[test]
fn after_a_restart_and_a_standstill_nothing_is_known_until_it_is_asked_again() {
    let mut site = gated();
    says(&mut site, "a", GateAnswer::Open);
    let before = site.now;
    site.wait(Duration::from_secs(1));
    site.restart_whole();
    site.everybody_polls();
    assert_eq!(wanted(&site), [permit("a"), permit("b")]);
    assert_eq!(site.fetch("g1"), Verdict::Withdrawn);
    says(&mut site, "a", GateAnswer::Open);
    site.wait(Duration::from_secs(1));
    site.happens(Event::StoodStill);
    // it was asked before the standstill, which may have been a night long
    site.happens(Event::Gate(permit("a"), GateAnswer::Open, before));
    assert_eq!(site.fetch("g1"), Verdict::Withdrawn);
}

#[test]
fn nobody_is_asked_while_nobody_waits_at_a_gate() {
    let mut site = gated();
    site.edit("main", |spec| spec.strategy.max_in_flight = Amount::Count(1));
    says(&mut site, "a", GateAnswer::Open);
    says(&mut site, "b", GateAnswer::Open);
    let offered = site.main().members.iter().find(|(_, member)| member.step == Step::Offered).unwrap().0.to_string();
    assert_eq!(wanted(&site).len(), 1, "who has no room asks for nothing");
    site.fetch(&offered);
    assert_eq!(wanted(&site), []);
    site.edit("main", |spec| spec.paused = true);
    site.says(&offered, failure());
    assert_eq!(wanted(&site), []);
}
