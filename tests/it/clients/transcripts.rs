//! What real clients sent and got, replayed without them: the same requests in the same rhythm get answers of the same shape.
//!
//! The end-to-end tests record with `RECORD_TRANSCRIPTS=1`; times are in poll intervals.

use std::time::Duration;

use lamplighter::engine::Step;
use lamplighter::model::*;
use serde_json::Value;

use super::wire::{GATEWAY, ROOT, Wire, path_of};
use crate::engine::site::{POLL, minutes};
use crate::transcript;

/// Replays a transcript of one update, and says how it ended.
fn replay(transcript: &str) -> Step {
    let mut wire = Wire::new();
    let (mut action, mut file) = (String::new(), String::new());
    for (line, recorded) in (1..).zip(transcript.lines()) {
        let recorded: Value = serde_json::from_str(recorded).unwrap();
        if recorded["status"] == 401 {
            continue; // it was switched on before anybody declared it
        }
        wire.wait(POLL.mul_f64(recorded["after"].as_f64().unwrap()));
        let offers = recorded["answer"]["_links"]["deploymentBase"].is_object();
        if offers && wire.site.rollouts.is_empty() {
            declare(&mut wire);
        }
        let target = recorded["target"].as_str().unwrap();
        let target = if target.contains("{file}") {
            file.clone()
        } else {
            target.replace("{action}", &action).replace("{gateway}", GATEWAY)
        };
        let headers = recorded["headers"].as_object().unwrap();
        let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str().unwrap())).collect();
        let body = match &recorded["body"] {
            Value::String(text) => text.clone(),
            // SWUpdate sends its ids as numbers
            body => body.to_string().replace("\"{action}\"", "7").replace("\"{cnt}\"", "1").replace("\"{of}\"", "1"),
        };
        let method = recorded["method"].as_str().unwrap();
        let mut heard = wire.send(method, &target, &headers, body.as_bytes());
        if let Some(transfer) = heard.transfer.take() {
            wire.read_all(transfer).unwrap();
        }
        if target.contains("deploymentBase") && method == "GET" {
            let base = heard.json();
            action = base["id"].as_str().unwrap().into();
            let links = &base["deployment"]["chunks"][0]["artifacts"][0]["_links"];
            file = path_of(links["download-http"]["href"].as_str().unwrap()).into();
        } else if let Some(href) = (target == ROOT).then(|| heard.json()["_links"]["deploymentBase"]["href"].clone()) {
            action = href
                .as_str()
                .map_or(action, |href| path_of(href).rsplit('/').next().unwrap().split('?').next().unwrap().into());
        }
        let answer_headers: Vec<_> = heard.listed();
        let json = heard.header("content-type") == Some("application/json");
        let answer = json.then(|| String::from_utf8(heard.body.clone()).unwrap());
        let headers: Vec<_> = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let passed =
            transcript::entry((method, &target), &headers, "", heard.status, &answer_headers, answer.as_deref());
        for part in ["status", "answer", "answerHeaders"] {
            assert_eq!(
                without_requests(&passed[part]),
                without_requests(&recorded[part]),
                "line {line}: {method} {target}"
            );
        }
    }
    wire.step()
}

/// Whether attributes are asked for hangs on fractions of an interval.
fn without_requests(part: &Value) -> Value {
    let mut part = part.clone();
    if let Some(links) = part.get_mut("_links").and_then(Value::as_object_mut) {
        links.remove("configData");
        if links.is_empty() {
            part.as_object_mut().unwrap().remove("_links");
        }
    }
    part
}

/// What `firmware-samples` declares.
fn declare(wire: &mut Wire) {
    wire.order("2.0.0", |spec| {
        spec.artifact.key.name = "gateway-os".into();
        spec.artifact.sources = vec![Source::File { dir: "/manifests".into(), name: "gateway-os-2.0.0.swu".into() }];
        spec.strategy.waves = vec![WaveSpec { soak: minutes(5), ..WaveSpec::CANARY }];
        spec.deadlines.confirm = Duration::from_secs(3600);
    });
}

#[test]
fn b_12_swupdate_2022_12_is_updated_by_the_answers_that_it_got() {
    assert_eq!(replay(include_str!("../ddi/transcripts/swupdate-2022.12.jsonl")), Step::Updated);
}
