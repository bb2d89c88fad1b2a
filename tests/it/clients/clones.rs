//! Two machines under one id, and one machine with two addresses.

use std::net::IpAddr;
use std::time::Duration;

use lamplighter::engine::Step;
use lamplighter::model::*;
use serde_json::json;

use super::wire::{GATEWAY, ROOT, Wire};
use crate::engine::site::minutes;

const HALF: Duration = Duration::from_secs(30);

fn address(last: u8) -> IpAddr {
    [10, 0, 0, last].into()
}

/// A poll from an address, and the attributes if they are asked for.
fn polls(wire: &mut Wire, from: u8, version: &str) {
    wire.peer = Some(address(from));
    let root = wire.send("GET", ROOT, &[], b"").json();
    if root["_links"]["configData"].is_object() {
        let body = json!({"data": {"os": version}}).to_string();
        wire.send("PUT", &format!("{ROOT}/configData"), &[("content-type", "application/json")], body.as_bytes());
    }
}

/// Both poll every minute, half a minute apart.
fn takes_turns(wire: &mut Wire, (one, other): (&str, &str), rounds: usize) {
    for _ in 0..rounds {
        polls(wire, 1, one);
        wire.wait(HALF);
        polls(wire, 2, other);
        wire.wait(HALF);
    }
}

const HELD: Step = Step::Waiting(WaitingReason::DuplicateIdentity);

fn held() -> Wire {
    let mut wire = Wire::with_order(|_| {});
    takes_turns(&mut wire, ("1", "0.9"), 5);
    assert_eq!(wire.step(), HELD);
    wire
}

#[test]
fn two_machines_with_one_id_and_two_versions_are_held_and_explained() {
    let wire = held();
    assert!(!wire.site.sees_link(GATEWAY) || wire.site.board[GATEWAY].offer.is_none(), "the offer is taken back");
    let row = wire.site.journal.iter().find(|row| row.what == What::DuplicateIdentity).unwrap();
    assert!(row.detail.contains("10.0.0.1 reports os") && row.detail.contains("10.0.0.2 reports os"), "{}", row.detail);
    assert_eq!(wire.site.ask(GATEWAY), Ask::EachInterval, "so that it is seen when they agree");
}

#[test]
fn it_goes_on_when_only_one_was_seen_for_two_intervals() {
    let mut wire = held();
    for _ in 0..2 {
        polls(&mut wire, 1, "1");
        wire.wait(HALF * 2);
    }
    assert_eq!(wire.step(), HELD, "not yet");
    polls(&mut wire, 1, "1");
    assert_eq!(wire.step(), Step::Offered);
}

#[test]
fn it_goes_on_when_both_report_the_same() {
    let mut wire = held();
    takes_turns(&mut wire, ("1", "1"), 3);
    assert_ne!(wire.step(), HELD);
    assert_eq!(wire.site.noted(What::DuplicateIdentity), 2, "that it is over stands in the journal too");
}

#[test]
fn a_restart_does_not_let_it_go() {
    let mut wire = held();
    wire.site.restart();
    wire.site.list();
    wire.site.seen(GATEWAY);
    let version = wire.site.main().spec.artifact.key.digest;
    let sums = Sums { sha1: "1".repeat(40), md5: "5".repeat(32) };
    wire.site.happens(Event::Artifact(version, ArtifactFact::Verified(sums)));
    assert_eq!(wire.step(), HELD);
}

#[test]
fn a_machine_with_two_addresses_or_a_new_one_is_one_machine() {
    let mut wire = Wire::with_order(|_| {});
    takes_turns(&mut wire, ("1", "1"), 5);
    assert_eq!(wire.site.noted(What::DuplicateIdentity), 0, "two ways out");
    let mut wire = Wire::with_order(|_| {});
    for (from, version) in [(1, "1"), (1, "1"), (2, "1"), (2, "0.9"), (2, "0.9"), (3, "1")] {
        polls(&mut wire, from, version);
        wire.wait(minutes(1));
    }
    assert_eq!(wire.site.noted(What::DuplicateIdentity), 0, "it moved, and was flashed by hand");
}

#[test]
fn an_update_of_a_machine_with_two_addresses_is_no_second_machine() {
    let mut wire = Wire::with_order(|_| {});
    takes_turns(&mut wire, ("1", "1"), 4);
    takes_turns(&mut wire, ("1", "2"), 1);
    takes_turns(&mut wire, ("2", "2"), 4);
    assert_eq!(wire.site.noted(What::DuplicateIdentity), 0);
}
