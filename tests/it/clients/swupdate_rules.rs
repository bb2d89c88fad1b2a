//! The rules of b.9 that the real client can't be made to show: what it does on each answer is known from its source and from
//! the wire (b.12), and is played here request by request.

use lamplighter::engine::Step;
use lamplighter::model::*;
use serde_json::{Value, json};

use super::wire::{GATEWAY, Heard, ROOT, Wire, path_of};
use crate::engine::site::{POLL, SOAK, minutes};

const AGENT: [(&str, &str); 3] =
    [("user-agent", "libcurl-agent/1.0"), ("accept", "application/json"), ("content-type", "application/json")];

/// What SWUpdate takes for success, for "try again", and for a bad message (b.9.2).
#[derive(Debug, PartialEq, Eq)]
enum Taken {
    Ok,
    TryAgain,
    AccessError,
    BadMessage,
}

fn taken(heard: &Heard) -> Taken {
    match heard.status {
        200 | 201 | 204 | 206 | 226 => Taken::Ok,
        429 => Taken::TryAgain,
        401 | 403 | 405 | 407 | 503 => Taken::AccessError,
        _ => Taken::BadMessage,
    }
}

fn get(wire: &mut Wire, path: &str) -> Heard {
    wire.send("GET", path, &AGENT, b"")
}

fn link(wire: &mut Wire, name: &str) -> Option<String> {
    let root = get(wire, ROOT).json();
    assert!(root["config"]["polling"]["sleep"].is_string(), "without it the whole poll fails (b.9.3)");
    root["_links"][name]["href"].as_str().map(|href| path_of(href).to_owned())
}

fn says(wire: &mut Wire, path: &str, execution: &str, finished: &str) -> Taken {
    let result = json!({"finished": finished, "progress": {"cnt": 1, "of": 0}});
    let body = json!({"id": 7, "time": "20260101T000000", "status": {"result": result, "execution": execution, "details": ["x"]}});
    taken(&wire.send("POST", path, &AGENT, body.to_string().as_bytes()))
}

fn identify(wire: &mut Wire, version: &str) -> Taken {
    let body = json!({"id": "", "mode": "replace", "data": {"os": version}}).to_string();
    taken(&wire.send("PUT", &format!("{ROOT}/configData"), &AGENT, body.as_bytes()))
}

/// It has taken its order, and this is its id.
fn fetched(wire: &mut Wire) -> (String, Value) {
    // the first poll of all is what it is offered for
    let path = link(wire, "deploymentBase").or_else(|| link(wire, "deploymentBase")).expect("an order");
    let base = get(wire, &path).json();
    (base["id"].as_str().unwrap().to_owned(), base)
}

fn artifact(base: &Value) -> String {
    path_of(base["deployment"]["chunks"][0]["artifacts"][0]["_links"]["download-http"]["href"].as_str().unwrap()).into()
}

fn downloaded(wire: &mut Wire) -> String {
    let (id, base) = fetched(wire);
    let mut heard = get(wire, &artifact(&base));
    let transfer = heard.transfer.take().unwrap();
    wire.read_all(transfer).unwrap();
    id
}

#[test]
fn b_9_1_the_cancel_link_has_no_query_and_takes_feedback_behind_it() {
    let mut wire = Wire::with_order(|_| {});
    fetched(&mut wire);
    wire.cancel();
    let href = link(&mut wire, "cancelAction").unwrap();
    assert!(!href.contains('?'));
    assert_eq!(says(&mut wire, &format!("{href}/feedback"), "closed", "success"), Taken::Ok);
    assert_eq!(wire.step(), Step::Skipped(SkippedReason::Cancelled));
}

#[test]
fn b_9_2_temporary_trouble_is_try_again_and_never_an_access_error() {
    let mut wire = Wire::with_order(|_| {});
    wire.busy = 1;
    assert_eq!(taken(&get(&mut wire, ROOT)), Taken::TryAgain);
}

#[test]
fn b_9_3_every_poll_says_when_to_come_again() {
    let mut wire = Wire::with_order(|_| {});
    for _ in 0..4 {
        let sleep = get(&mut wire, ROOT).json()["config"]["polling"]["sleep"].clone();
        // without work and with it
        let fits = ["00:01:04", "00:00:30"].contains(&sleep.as_str().unwrap());
        assert!(fits, "{sleep}: missing or odd the whole poll fails, and zero is 45 seconds");
        wire.wait(POLL);
    }
}

#[test]
fn b_9_4_attributes_are_taken_unasked_after_every_start() {
    let mut wire = Wire::new();
    for version in ["1", "1", "2"] {
        link(&mut wire, "deploymentBase");
        assert_eq!(identify(&mut wire, version), Taken::Ok);
    }
    assert_eq!(wire.site.core.state().gateways[GATEWAY].attributes.get("os"), Some("2"));
}

/// What `identify` of its configuration says is what it sends: all of it, in 2022.12 with a status and without a mode.
#[test]
fn b_9_4_and_b_12_identify_is_the_version_that_an_update_is_confirmed_by() {
    for mode in [None, Some("replace")] {
        let mut wire = Wire::new();
        let identify = |wire: &mut Wire, data: Value| {
            let status = json!({"result": {"finished": "success"}, "execution": "closed", "details": [""]});
            let mut body = json!({"id": "", "time": "20260101T000000", "status": status, "data": data});
            if let Some(mode) = mode {
                body["mode"] = mode.into();
            }
            taken(&wire.send("PUT", &format!("{ROOT}/configData"), &AGENT, body.to_string().as_bytes()))
        };
        link(&mut wire, "deploymentBase");
        assert_eq!(identify(&mut wire, json!({"os": "1", "serial": "5"})), Taken::Ok);
        wire.order("2", |_| {});
        let id = downloaded(&mut wire);
        assert_eq!(says(&mut wire, &format!("{ROOT}/deploymentBase/{id}/feedback"), "closed", "success"), Taken::Ok);
        assert_eq!(wire.step(), Step::Confirming, "it is known by its version, so its word alone is not enough");
        assert_eq!(identify(&mut wire, json!({"os": "2"})), Taken::Ok);
        assert_eq!(wire.step(), Step::Updated);
        let serial = wire.site.core.state().gateways[GATEWAY].attributes.get("serial").is_some();
        assert_eq!(serial, mode.is_none(), "merged unless it says that this is all");
    }
}

#[test]
fn b_9_5_deployment_base_is_read_twice_and_again_while_it_downloads() {
    let mut wire = Wire::with_order(|_| {});
    let (id, base) = fetched(&mut wire);
    let mut transfer = get(&mut wire, &artifact(&base)).transfer.unwrap();
    for _ in 0..4 {
        wire.read(&mut transfer, 5_000);
        wire.wait(POLL);
        let (again, text) = fetched(&mut wire);
        assert_eq!((&again, &text), (&id, &base), "the same order, in the same words");
        for handling in ["download", "update"] {
            assert!(text["deployment"][handling].is_string(), "assert() ends the process otherwise");
        }
    }
}

#[test]
fn b_9_5_a_cancellation_is_seen_during_the_download_and_what_is_left_never_comes() {
    let mut wire = Wire::with_order(|_| {});
    let (_, base) = fetched(&mut wire);
    let mut transfer = get(&mut wire, &artifact(&base)).transfer.unwrap();
    wire.read(&mut transfer, 5_000);
    wire.cancel();
    assert!(link(&mut wire, "deploymentBase").is_none(), "one active link (b.2)");
    let href = link(&mut wire, "cancelAction").unwrap();
    assert!(wire.read_all(transfer).is_err(), "the last byte is held back");
    says(&mut wire, &format!("{href}/feedback"), "closed", "success");
    assert_eq!(wire.step(), Step::Skipped(SkippedReason::Cancelled));
}

#[test]
fn b_9_6_ids_fit_int32_as_text() {
    let mut wire = Wire::with_order(|_| {});
    let (id, _) = fetched(&mut wire);
    assert!(id.parse::<i32>().unwrap() >= 1_000_000_000);
    wire.cancel();
    let href = link(&mut wire, "cancelAction").unwrap();
    let cancel = get(&mut wire, &href).json();
    assert_eq!(cancel, json!({"id": id, "cancelAction": {"stopId": id}}));
}

#[test]
fn b_9_7_nothing_is_ever_skipped_and_a_closed_brake_withholds_the_link() {
    let mut wire = Wire::with_order(|spec| spec.paused = true);
    assert_eq!(link(&mut wire, "deploymentBase"), None);
    wire.order("2", |_| {});
    let (_, base) = fetched(&mut wire);
    assert!(!base.to_string().contains("skip"));
}

#[test]
fn b_9_8_head_comes_before_get_and_a_content_type_without_a_body_is_no_error() {
    let mut wire = Wire::with_order(|_| {});
    let (_, base) = fetched(&mut wire);
    let head = wire.send("HEAD", &artifact(&base), &AGENT, b"");
    assert_eq!((head.status, head.header("content-length")), (200, Some("50000")));
    assert_eq!(wire.step(), Step::Downloading, "a HEAD is no download");
}

#[test]
fn b_9_9_a_resumed_download_is_206_also_to_its_end() {
    let mut wire = Wire::with_order(|_| {});
    let (_, base) = fetched(&mut wire);
    let mut transfer = get(&mut wire, &artifact(&base)).transfer.unwrap();
    wire.read(&mut transfer, 20_000);
    wire.hang_up(&transfer);
    let mut rest = wire.send("GET", &artifact(&base), &[AGENT[0], ("range", "bytes=20000-")], b"");
    assert_eq!((rest.status, rest.header("content-range")), (206, Some("bytes 20000-49999/50000")));
    let transfer = rest.transfer.take().unwrap();
    assert_eq!(wire.read_all(transfer).unwrap().len(), 30_000);
    assert_eq!(wire.step(), Step::Installing);
}

#[test]
fn b_9_10_the_link_stays_until_the_last_word_whatever_happens_in_between() {
    let mut wire = Wire::with_order(|_| {});
    let id = downloaded(&mut wire);
    for _ in 0..10 {
        wire.wait(POLL);
        assert!(link(&mut wire, "deploymentBase").is_some(), "without it no last word is sent");
        get(&mut wire, &format!("{ROOT}/deploymentBase/{id}"));
    }
    wire.site.edit("main", |spec| spec.paused = true);
    wire.wait(minutes(5));
    assert!(link(&mut wire, "deploymentBase").is_some(), "paused or not");
    assert_eq!(says(&mut wire, &format!("{ROOT}/deploymentBase/{id}/feedback"), "closed", "success"), Taken::Ok);
    assert!(link(&mut wire, "deploymentBase").is_none());
}

#[test]
fn b_9_10_a_device_that_installs_again_and_again_without_a_word_is_stopped_by_its_budget_of_bytes() {
    let mut wire = Wire::with_order(|_| {});
    downloaded(&mut wire);
    for _ in 0..180 {
        wire.wait(POLL);
        if link(&mut wire, "deploymentBase").is_none() {
            break;
        }
        let (_, base) = fetched(&mut wire);
        let mut heard = get(&mut wire, &artifact(&base));
        if let Some(transfer) = heard.transfer.take() {
            wire.read_all(transfer).ok();
        }
    }
    assert_eq!(wire.step(), Step::Failed(FailedReason::BytesSpent));
    assert_eq!(wire.site.member(GATEWAY).message.as_deref(), Some("10.0 x the artifact was sent to it"));
    assert!(link(&mut wire, "deploymentBase").is_none());
}

#[test]
fn b_9_10_and_9_11_words_on_any_old_id_are_200_so_that_the_boot_time_loop_ends() {
    let mut wire = Wire::with_order(|_| {});
    let old = downloaded(&mut wire);
    wire.order("3", |_| {});
    for id in [old.as_str(), "17", "2147483647", "0", "none"] {
        for resource in ["deploymentBase", "cancelAction"] {
            let path = format!("{ROOT}/{resource}/{id}/feedback");
            assert_eq!(says(&mut wire, &path, "closed", "success"), Taken::Ok, "{path}");
        }
    }
}

#[test]
fn b_9_11_success_on_an_id_that_was_cancelled_meanwhile_moves_nothing() {
    let mut wire = Wire::with_order(|_| {});
    let (id, _) = fetched(&mut wire);
    wire.cancel();
    wire.wait(minutes(31));
    assert_eq!(wire.step(), Step::Skipped(SkippedReason::Cancelled), "by force");
    assert_eq!(says(&mut wire, &format!("{ROOT}/deploymentBase/{id}/feedback"), "closed", "success"), Taken::Ok);
    assert_eq!(wire.step(), Step::Skipped(SkippedReason::Cancelled));
}

#[test]
fn b_9_11_a_success_after_silence_counts_on_the_alias() {
    let mut wire = Wire::with_order(|_| {});
    let id = downloaded(&mut wire);
    assert_eq!(says(&mut wire, &format!("{ROOT}/deploymentBase/{id}/feedback"), "closed", "failure"), Taken::Ok);
    for _ in 0..5 {
        wire.wait(POLL);
        link(&mut wire, "deploymentBase");
    }
    let (newer, _) = fetched(&mut wire);
    assert_ne!(newer, id, "a closed failure is tried under a new id");
    // it rebooted into what it had downloaded under the old one
    says(&mut wire, &format!("{ROOT}/deploymentBase/{id}/feedback"), "closed", "success");
    assert_eq!(wire.step(), Step::Updated);
    wire.wait(SOAK);
}
