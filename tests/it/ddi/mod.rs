//! The device contract, rule by rule, against the pure function. Tests are named after the rule they pin.

mod access;
mod anything;
mod artifacts;
mod cancel;
mod hostile;
mod orders;
mod words;

use std::rc::Rc;
use std::time::Duration;

use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, StatusCode};
use lamplighter::device::ddi::{self, Answer, Download, Head, Response, Settings};
use lamplighter::device::{Artifact, Attendance, Board, Entry, Offer, Pacing};
use lamplighter::model::{
    ActionId, ArtifactKey, Ask, Attributes, AttributesMode, Bytes, Client, ControllerId, Digest, Event, Execution,
    Feedback, Finished, SiteTime, Sums, TokenHash, Verdict,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use sha2::Digest as _;

const TOKEN: &str = "s3cret";

/// A request.
#[derive(Debug, Clone)]
struct Request {
    method: Method,
    path: String,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Request {
    fn raw(method: Method, path: &str) -> Self {
        Self { method, path: path.into(), headers: HeaderMap::new(), body: Vec::new() }.header("host", "updates:8080")
    }

    fn new(method: Method, rest: &str) -> Self {
        Self::raw(method, &format!("/DEFAULT/controller/v1/gw-1{rest}"))
            .header("authorization", &format!("TargetToken {TOKEN}"))
    }

    fn header(mut self, name: &str, value: &str) -> Self {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        self.headers.insert(name, HeaderValue::from_str(value).unwrap());
        self
    }

    fn without(mut self, name: &str) -> Self {
        self.headers.remove(name);
        self
    }

    fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }
}

fn get(rest: &str) -> Request {
    Request::new(Method::GET, rest)
}

fn poll() -> Request {
    get("")
}

fn file() -> Request {
    get(&format!("/softwaremodules/{}/artifacts/gateway%20os.swu", digest().module_id()))
}

fn deployment() -> Request {
    get(&format!("/deploymentBase/{ID}"))
}

fn attributes(body: &str) -> Request {
    Request::new(Method::PUT, "/configData").body(body)
}

fn feedback(id: impl std::fmt::Display, body: &str) -> Request {
    Request::new(Method::POST, &format!("/deploymentBase/{id}/feedback")).body(body)
}

fn says(execution: &str, finished: &str) -> String {
    json!({"status": {"execution": execution, "result": {"finished": finished}, "details": ["a", "b"]}}).to_string()
}

const ID: i64 = 1_234_567_890;

fn gateway() -> ControllerId {
    "gw-1".parse().unwrap()
}

fn action(id: i64) -> ActionId {
    ActionId::try_from(id).unwrap()
}

fn digest() -> Digest {
    Digest::new([7; 32])
}

fn sha1() -> String {
    "a1".repeat(20)
}

fn offer() -> Offer {
    let artifact = Artifact {
        key: ArtifactKey { name: "gateway-os".into(), version: "2.1.0".parse().unwrap(), digest: digest() },
        file_name: "gateway os.swu".into(),
        size: 1000,
        sums: Sums { sha1: sha1(), md5: "b2".repeat(16) },
    };
    Offer { action: action(ID), link: true, cancel: false, fetched: false, served: false, artifact: Rc::new(artifact) }
}

fn fetched() -> Offer {
    Offer { fetched: true, ..offer() }
}

/// A board with `gw-1` on it, and who is there.
struct World {
    board: Board,
    presence: Attendance,
    settings: Settings,
    now: SiteTime,
}

impl World {
    fn new(offer: Option<Offer>) -> Self {
        let mut world = Self {
            board: Board::default(),
            presence: Attendance::new(Pacing {
                told: Duration::from_secs(60),
                offline_after: Duration::from_secs(600),
            }),
            settings: Settings {
                tenants: vec!["DEFAULT".into()],
                poll_interval: Duration::from_secs(60),
                url: None,
                tokens: Default::default(),
            },
            now: SiteTime(0),
        };
        let token = TokenHash::new(sha2::Sha256::digest(TOKEN).into());
        world.board.put(gateway(), Entry { token: Some(token), offer, ..Entry::default() });
        world.board.put("other".parse().unwrap(), Entry { token: Some(TokenHash::new([1; 32])), ..Entry::default() });
        world.board.put("tokenless".parse().unwrap(), Entry::default());
        world.board.complete();
        world.presence.poll(&gateway(), world.now, None);
        world
    }

    fn set(&mut self, change: impl FnOnce(&mut Entry)) {
        let mut entry = self.board.get("gw-1").unwrap().1.clone();
        change(&mut entry);
        self.board.put(gateway(), entry);
    }

    fn send(&mut self, request: &Request) -> (Vec<Event>, Answer) {
        let Request { method, path, headers, body } = request;
        let head = Head { method, path, headers, local: "127.0.0.1:9", peer: None, secure: false, certificate: None };
        let reply = ddi::answer(&self.board, &mut self.presence, &self.settings, self.now, &head, body);
        (reply.seen, reply.answer)
    }

    fn now(&mut self, request: &Request) -> Response {
        match self.send(request) {
            (_, Answer::Now(response)) => response,
            (_, other) => panic!("not answered at once: {other:?}"),
        }
    }

    fn status(&mut self, request: &Request) -> u16 {
        self.now(request).status.as_u16()
    }

    fn json(&mut self, request: &Request) -> Value {
        let response = self.now(request);
        assert_eq!(response.status, StatusCode::OK);
        assert_eq!(response.header(&header::CONTENT_TYPE), Some("application/json"));
        serde_json::from_slice(&response.body).unwrap()
    }

    /// What the heart is asked, and the answer to its verdict.
    fn asked(&mut self, request: &Request, verdict: Option<Verdict>) -> (Event, Response) {
        match self.send(request) {
            (_, Answer::Ask(event, pending)) => (event, pending.respond(&mut self.presence, verdict)),
            (_, other) => panic!("the heart is not asked: {other:?}"),
        }
    }

    fn download(&mut self, request: &Request) -> Download {
        match self.send(request) {
            (_, Answer::Send(download)) => download,
            (_, other) => panic!("no bytes: {other:?}"),
        }
    }
}

fn text(response: &Response) -> &str {
    std::str::from_utf8(&response.body).unwrap()
}
