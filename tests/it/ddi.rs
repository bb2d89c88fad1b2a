//! The device contract, rule by rule, against the pure function. Tests are named after the rule they pin.

use std::rc::Rc;
use std::time::Duration;

use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, StatusCode};
use lamplighter::device::ddi::{self, Answer, Download, Head, Response, Settings};
use lamplighter::device::{Artifact, Ask, Board, Entry, Offer, Pacing, Presence};
use lamplighter::model::{
    ActionId, ArtifactKey, Attributes, AttributesMode, Bytes, Client, ControllerId, Digest, Event, Execution, Feedback,
    Finished, SiteTime, Sums, TokenHash, Verdict,
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
    Offer { action: action(ID), link: true, fetched: false, served: false, artifact: Rc::new(artifact) }
}

fn fetched() -> Offer {
    Offer { fetched: true, ..offer() }
}

/// A board with `gw-1` on it, and who is there.
struct World {
    board: Board,
    presence: Presence,
    settings: Settings,
    now: SiteTime,
}

impl World {
    fn new(offer: Option<Offer>) -> Self {
        let mut world = Self {
            board: Board::default(),
            presence: Presence::new(Pacing { told: Duration::from_secs(60), offline_after: Duration::from_secs(600) }),
            settings: Settings { tenants: vec!["DEFAULT".into()], poll_interval: Duration::from_secs(60), url: None },
            now: SiteTime(0),
        };
        let token = TokenHash::new(sha2::Sha256::digest(TOKEN).into());
        world.board.put(gateway(), Entry { token: Some(token), offer, ..Entry::default() });
        world.board.put("other".parse().unwrap(), Entry { token: Some(TokenHash::new([1; 32])), ..Entry::default() });
        world.board.put("tokenless".parse().unwrap(), Entry::default());
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
        let head = Head { method, path, headers, local: "127.0.0.1:9" };
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

#[test]
fn b_2_links_are_omitted_when_there_are_none() {
    let response = World::new(None).now(&poll());
    assert_eq!(text(&response), r#"{"config":{"polling":{"sleep":"00:01:00"}}}"#);
}

#[test]
fn b_2_links_are_absolute_on_the_address_the_device_used() {
    let mut world = World::new(Some(offer()));
    world.set(|entry| entry.ask = Ask::Once);
    let module = digest().module_id();
    assert_eq!(
        text(&world.now(&poll())),
        format!(
            "{{\"config\":{{\"polling\":{{\"sleep\":\"00:01:00\"}}}},\"_links\":{{\
             \"deploymentBase\":{{\"href\":\"http://updates:8080/DEFAULT/controller/v1/gw-1/deploymentBase/{ID}?c={module}\"}},\
             \"configData\":{{\"href\":\"http://updates:8080/DEFAULT/controller/v1/gw-1/configData\"}}}}}}"
        )
    );
    let href = |reply: Value| reply["_links"]["configData"]["href"].as_str().unwrap().to_owned();
    for (host, base) in [("", "127.0.0.1:9"), ("a<b>", "127.0.0.1:9"), ("[::1]:80", "[::1]:80")] {
        let reply = world.json(&poll().header("host", host));
        assert_eq!(href(reply), format!("http://{base}/DEFAULT/controller/v1/gw-1/configData"));
    }
    world.settings.url = Some("https://updates.hall-7:8443/".into());
    assert_eq!(href(world.json(&poll())), "https://updates.hall-7:8443/DEFAULT/controller/v1/gw-1/configData");
}

#[test]
fn b_2_a_plain_poll_tells_the_heart_nothing() {
    let mut world = World::new(Some(fetched()));
    let (seen, answer) = world.send(&poll());
    assert_eq!(seen, []);
    assert!(matches!(answer, Answer::Now(_)));
}

#[test]
fn the_first_poll_is_seen_and_a_client_that_names_itself_is_told() {
    let mut world = World::new(None);
    world.presence.start(world.now, []);
    let client = |client| Event::Client(gateway(), client);
    let (seen, _) = world.send(&poll().header("user-agent", "rauc-hawkbit-c-agent/1.4"));
    assert_eq!(seen, [Event::Seen(gateway()), client(Client::Rauc)]);
    world.presence.start(world.now, []);
    let (seen, _) = world.send(&poll().header("user-agent", "libcurl-agent/1.0"));
    assert_eq!(seen, [Event::Seen(gateway()), client(Client::SwUpdate)]);
    world.presence.start(world.now, []);
    let (seen, _) = world.send(&attributes(r#"{"mode":"merge","data":{"VIN":"00ff"}}"#));
    assert_eq!(seen, [Event::Seen(gateway()), client(Client::Zephyr)]);
}

#[test]
fn b_0_3_config_data_is_shown_on_request_and_hidden_after_the_put() {
    let shown = |world: &mut World| world.json(&poll())["_links"]["configData"].is_object();
    let mut world = World::new(None);
    assert!(!shown(&mut world));
    world.set(|entry| entry.ask = Ask::EachInterval);
    assert!(shown(&mut world));
    let (_, response) = world.asked(&attributes(r#"{"data":{}}"#), Some(Verdict::Accepted));
    assert_eq!(response.status, StatusCode::OK);
    assert!(!shown(&mut world), "Zephyr polls again at once");
    world.now = SiteTime(60_000);
    assert!(shown(&mut world), "the version is still waited for");
}

#[test]
fn b_3_the_order_has_every_member_that_a_client_demands() {
    let module = digest().module_id();
    let base =
        format!("http://updates:8080/DEFAULT/controller/v1/gw-1/softwaremodules/{module}/artifacts/gateway%20os.swu");
    let expected = json!({
        "id": ID.to_string(),
        "deployment": {
            "download": "forced",
            "update": "forced",
            "chunks": [{
                "part": "bApp",
                "version": "2.1.0",
                "name": "gateway-os",
                "artifacts": [{
                    "filename": "gateway os.swu",
                    "hashes": {"sha1": sha1(), "md5": "b2".repeat(16), "sha256": digest().hex()},
                    "size": 1000,
                    "_links": {
                        "download": {"href": base},
                        "md5sum": {"href": format!("{base}.MD5SUM")},
                        "download-http": {"href": base},
                        "md5sum-http": {"href": format!("{base}.MD5SUM")},
                    },
                }],
            }],
        },
    });
    let mut world = World::new(Some(fetched()));
    assert_eq!(world.json(&deployment()), expected);
    let list = get(&format!("/softwaremodules/{module}/artifacts"));
    assert_eq!(world.json(&list)[0], expected["deployment"]["chunks"][0]["artifacts"][0]);
    assert!(!text(&world.now(&deployment())).contains(": "), "Zephyr's parser has a small buffer (b.10.4)");
}

#[test]
fn b_0_2_the_first_fetch_is_the_decision_and_the_later_ones_are_answered_at_once() {
    let mut world = World::new(Some(offer()));
    let (event, response) = world.asked(&deployment(), Some(Verdict::Deploy));
    assert_eq!(event, Event::Fetched(gateway(), action(ID)));
    assert_eq!(response.status, StatusCode::OK);
    assert_eq!(world.asked(&deployment(), Some(Verdict::Withdrawn)).1.status, StatusCode::NOT_FOUND);
    assert_eq!(world.asked(&deployment(), None).1.status, StatusCode::TOO_MANY_REQUESTS);
    world.set(|entry| entry.offer = Some(fetched()));
    assert_eq!(world.status(&deployment()), 200);
    assert_eq!(world.status(&get(&format!("/deploymentBase/000{ID}"))), 200, "ids are read leniently (b.0.6)");
    for other in ["1", "0", "x", "99999999999999999999999"] {
        assert_eq!(world.status(&get(&format!("/deploymentBase/{other}"))), 404);
    }
}

#[test]
fn a_hidden_order_is_neither_linked_nor_given() {
    let mut world = World::new(Some(Offer { link: false, ..fetched() }));
    assert!(world.json(&poll()).get("_links").is_none());
    assert_eq!(world.status(&deployment()), 404);
}

#[test]
fn b_0_1_feedback_on_any_id_is_answered_200() {
    let mut world = World::new(Some(fetched()));
    for verdict in [Verdict::Accepted, Verdict::AlreadyClosed, Verdict::Unknown, Verdict::Withdrawn] {
        for id in [ID, 1, 77] {
            let (event, response) = world.asked(&feedback(id, &says("closed", "success")), Some(verdict));
            assert_eq!(response.status, StatusCode::OK);
            assert_eq!(text(&response), "");
            let said = Feedback {
                execution: Execution::Closed,
                finished: Finished::Success,
                message: Some("a; b".into()),
                excused: false,
            };
            assert_eq!(event, Event::Feedback(gateway(), action(id), said));
        }
    }
    for id in ["0", "-1", "99999999999", "abc"] {
        assert_eq!(world.status(&feedback(id, &says("closed", "success"))), 200);
    }
    let cancel = Request::new(Method::POST, "/cancelAction/7/feedback").body(says("closed", "success"));
    assert_eq!(world.status(&cancel), 200);
}

#[test]
fn b_0_1_temporary_trouble_is_429_never_503() {
    let mut world = World::new(Some(offer()));
    for request in [feedback(ID, &says("closed", "failure")), attributes(r#"{"data":{"a":"b"}}"#), deployment()] {
        assert_eq!(world.asked(&request, None).1.status.as_u16(), 429);
    }
}

#[test]
fn b_0_7_a_failure_after_an_error_of_ours_is_excused_until_the_next_fetch() {
    let excused = |world: &mut World| match world.asked(&feedback(ID, &says("closed", "failure")), None).0 {
        Event::Feedback(_, _, feedback) => feedback.excused,
        other => panic!("{other:?}"),
    };
    let mut world = World::new(Some(offer()));
    assert!(!excused(&mut world));
    assert!(excused(&mut world), "the first feedback was answered 429");
    world.asked(&deployment(), Some(Verdict::Deploy));
    assert!(!excused(&mut world));
    world.asked(&deployment(), Some(Verdict::Deploy));
    world.status(&file());
    assert!(excused(&mut world), "the artifact was answered 404");
}

#[test]
fn progress_on_the_open_order_stays_in_memory_and_on_another_is_told() {
    let mut world = World::new(Some(fetched()));
    let body = r#"{"id":1,"time":"20260101T000000","status":{"execution":"proceeding","details":["Installing"],
                   "result":{"finished":"none","progress":{"cnt":3,"of":0}}}}"#;
    assert_eq!(world.status(&feedback(ID, body)), 200);
    let progress = world.presence.progress("gw-1").unwrap();
    assert_eq!((progress.done, progress.of, progress.message.as_deref()), (3, 0, Some("Installing")));
    for execution in ["canceled", "scheduled", "resumed", "downloaded", "download"] {
        assert_eq!(world.status(&feedback(ID, &says(execution, "success"))), 200);
    }
    let (event, _) = world.asked(&feedback(5, body), Some(Verdict::Unknown));
    assert!(matches!(event, Event::Feedback(..)));
    let (event, _) = world.asked(&feedback(ID, &says("rejected", "none")), Some(Verdict::Accepted));
    assert!(matches!(event, Event::Feedback(_, _, said) if said.execution == Execution::Rejected));
}

#[test]
fn b_4_feedback_that_cannot_be_read_is_400_and_says_why_without_angle_brackets() {
    let mut world = World::new(Some(fetched()));
    for (body, why) in [
        ("", "not JSON"),
        ("<html>", "not JSON"),
        ("[]", "status.execution"),
        ("{}", "status.execution"),
        (r#"{"status":{"execution":"<b>","result":{"finished":"none"}}}"#, "status.execution"),
        (r#"{"status":{"execution":"closed"}}"#, "status.result.finished"),
        (r#"{"status":{"execution":"closed","result":{"finished":1}}}"#, "status.result.finished"),
        (&"[".repeat(60_000), "not JSON"),
    ] {
        let response = world.now(&feedback(ID, body));
        assert_eq!(response.status.as_u16(), 400, "{body:.40}");
        assert!(text(&response).contains(why), "{}", text(&response));
        assert!(!text(&response).contains(['<', '>']));
    }
}

#[test]
fn odd_feedback_is_taken_and_its_words_are_shortened() {
    let mut world = World::new(Some(fetched()));
    let long = json!({"status": {"execution": "closed", "result": {"finished": "failure", "progress": "half"},
                      "details": ["x\n\u{1b}[31m", null, 7, "é".repeat(60_000 / 2)], "code": "5"}});
    let (event, _) = world.asked(&feedback(ID, &long.to_string()), Some(Verdict::Accepted));
    let Event::Feedback(_, _, said) = event else { panic!() };
    let message = said.message.unwrap();
    assert_eq!(message.chars().count(), 500);
    assert!(message.starts_with("x  [31m; éé") && message.ends_with('…'));
    assert!(!message.chars().any(char::is_control));
}

#[test]
fn b_5_attributes_modes_and_legacy_bodies() {
    let mut world = World::new(None);
    let mut asked = |body: &str| match world.asked(&attributes(body), Some(Verdict::Accepted)) {
        (Event::Attributes(id, attributes), response) => {
            assert_eq!((id, response.status.as_u16()), (gateway(), 200));
            attributes
        }
        other => panic!("{other:?}"),
    };
    let pair = |key: &str, value: Option<&str>| (key.to_owned(), value.map(str::to_owned));
    let rhu = r#"{"id":"","time":"20260101T000000","status":{"result":{"finished":"success"},"execution":"closed","details":[""]},"data":{"os_version":"1.0"}}"#;
    let expected = Attributes { mode: AttributesMode::Merge, data: [pair("os_version", Some("1.0"))].into() };
    assert_eq!(asked(rhu), expected);
    let odd = asked(r#"{"mode":"replace","data":{"gone":null,"n":5,"yes":true}}"#);
    assert_eq!(odd.mode, AttributesMode::Replace);
    assert_eq!(odd.data, [pair("gone", None), pair("n", Some("5")), pair("yes", Some("true"))].into());
    assert_eq!(asked(r#"{"mode":"remove","data":{"a":""}}"#).mode, AttributesMode::Remove);
    assert_eq!(asked(r#"{"mode":null,"data":{}}"#).mode, AttributesMode::Merge);
    let most: serde_json::Map<String, Value> = (0..100).map(|n| (format!("k{n}"), json!("v"))).collect();
    assert_eq!(asked(&json!({"data": most}).to_string()).data.len(), 100);
    let longest = json!({"data": {"k".repeat(128): "é".repeat(128)}}).to_string();
    assert_eq!(asked(&longest).data.len(), 1);
}

#[test]
fn b_5_attributes_beyond_the_limits_are_400() {
    let mut world = World::new(None);
    let many: serde_json::Map<String, Value> = (0..101).map(|n| (format!("k{n}"), json!("v"))).collect();
    let large: serde_json::Map<String, Value> = (0..20).map(|n| (format!("k{n}"), json!("v".repeat(120)))).collect();
    for (body, why) in [
        (json!({"data": many}).to_string(), "101 attributes"),
        (json!({"data": large}).to_string(), "bytes of attributes"),
        (json!({"data": {"k".repeat(129): "v"}}).to_string(), "129"),
        (json!({"data": {"k": "v".repeat(129)}}).to_string(), "129"),
        (json!({"data": {"": "v"}}).to_string(), "key"),
        (json!({"data": {"k": "a\nb"}}).to_string(), "control"),
        (json!({"data": {"k": {"x": 1}}}).to_string(), "text"),
        (json!({"data": [1]}).to_string(), "data must be"),
        (json!({}).to_string(), "data must be"),
        (json!({"data": {}, "mode": "shuffle"}).to_string(), "mode"),
        ("{".to_owned(), "not JSON"),
    ] {
        let response = world.now(&attributes(&body));
        assert_eq!(response.status.as_u16(), 400, "{body:.60}");
        assert!(text(&response).contains(why), "{}", text(&response));
    }
}

#[test]
fn b_7_a_wrong_token_and_an_unknown_gateway_look_the_same() {
    let mut world = World::new(Some(fetched()));
    let at = |id: &str| {
        Request::raw(Method::GET, &format!("/DEFAULT/controller/v1/{id}"))
            .header("authorization", &format!("TargetToken {TOKEN}"))
    };
    let mut requests = vec![at("nobody"), at("other"), at("tokenless"), at("gw-10"), poll().without("authorization")];
    for bad in ["", "TargetToken", "TargetToken ", "TargetToken  s3cret", "targettoken s3cret", "s3cret"] {
        requests.push(poll().header("authorization", bad));
    }
    for bad in ["GatewayToken s3cret", "TargetToken s3crets", "TargetToken s3cre", "TargetToken S3cret"] {
        requests.push(poll().header("authorization", bad));
    }
    let mut twice = poll();
    twice.headers.append("authorization", HeaderValue::from_static("TargetToken s3cret"));
    requests.push(twice);
    for request in requests {
        let (seen, answer) = world.send(&request);
        assert_eq!(seen, [], "{request:?}");
        let Answer::Now(response) = answer else { panic!("{request:?}") };
        assert_eq!((response.status.as_u16(), response.headers.len(), text(&response)), (401, 0, ""), "{request:?}");
    }
    assert_eq!(world.status(&poll()), 200);
    let tokenless = at("tokenless").header("authorization", "TargetToken ");
    assert_eq!(world.status(&tokenless), 401);
}

#[test]
fn b_7_a_stranger_learns_nothing_but_401_whatever_it_asks_for() {
    let mut world = World::new(Some(fetched()));
    for request in [file(), deployment(), feedback(ID, "{"), attributes("{"), get("/nonsense")] {
        assert_eq!(world.status(&request.clone().without("authorization")), 401, "{request:?}");
        assert_eq!(world.status(&request.header("authorization", "TargetToken x")), 401);
    }
}

#[test]
fn b_0_8_other_tenants_and_other_paths_do_not_exist() {
    let mut world = World::new(None);
    world.settings.tenants.push("plant".into());
    let auth = |path: &str| Request::raw(Method::GET, path).header("authorization", &format!("TargetToken {TOKEN}"));
    for path in ["/", "", "*", "/DEFAULT", "/DEFAULT/controller/v2/gw-1", "/default/controller/v1/gw-1"] {
        assert_eq!(world.status(&auth(path)), 404, "{path}");
    }
    for rest in ["/installedBase/7", "/confirmationBase", "/cancelAction/7", "/deploymentBase", "/a/b/c/d/e/f/g/h"] {
        assert_eq!(world.status(&get(rest)), 404, "{rest}");
    }
    assert_eq!(world.status(&auth("/x%ff/controller/v1/gw-1")), 404);
    assert_eq!(world.status(&auth("//DEFAULT//controller/v1/gw%2D1/")), 200);
    world.set(|entry| entry.ask = Ask::Once);
    let reply = world.json(&auth("/plant/controller/v1/gw-1"));
    let href = reply["_links"]["configData"]["href"].as_str().unwrap();
    assert_eq!(href, "http://updates:8080/plant/controller/v1/gw-1/configData", "links echo the tenant");
}

#[test]
fn b_1_wrong_methods_are_405_and_say_which_work() {
    let mut world = World::new(Some(fetched()));
    let path = |request: &Request| request.path.clone();
    for (path, allowed) in [
        (path(&poll()), "GET"),
        (path(&attributes("")), "PUT"),
        (path(&deployment()), "GET"),
        (path(&feedback(ID, "")), "POST"),
        (path(&file()), "GET, HEAD"),
        (format!("{}.MD5SUM", path(&file())), "GET, HEAD"),
    ] {
        for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW"] {
            if allowed.split(", ").any(|a| a == method) {
                continue;
            }
            let request = Request { path: path.clone(), method: method.parse().unwrap(), ..poll() };
            let response = world.now(&request);
            assert_eq!(response.status.as_u16(), 405, "{method} {path}");
            assert_eq!(response.header(&header::ALLOW), Some(allowed));
        }
    }
}

#[test]
fn b_1_media_types_are_taken_leniently() {
    let mut world = World::new(Some(fetched()));
    for accept in ["application/json;charset=UTF-8", "application/hal+json", "*/*", "text/html, */*;q=0.1"] {
        assert_eq!(world.status(&poll().header("accept", accept)), 200, "{accept}");
    }
    assert_eq!(world.status(&poll().header("accept", "application/cbor")), 406);
    let file = file().header("accept", "application/cbor");
    assert!(matches!(world.send(&file).1, Answer::Send(_)), "an artifact is no JSON anyway");
    let body = says("proceeding", "none");
    for sent in ["application/json;charset=UTF-8", "application/hal+json", "APPLICATION/JSON"] {
        assert_eq!(world.status(&feedback(ID, &body).header("content-type", sent)), 200, "{sent}");
    }
    assert_eq!(world.status(&feedback(ID, &body).header("content-type", "application/cbor")), 415);
    assert_eq!(world.status(&poll().header("content-type", "text/plain")), 200, "b.9.8: a GET has no body");
}

#[test]
fn b_0_7_an_artifact_without_a_fetched_open_order_is_404() {
    let module = digest().module_id();
    let name = "gateway%20os.swu";
    for offer in [None, Some(offer())] {
        let mut world = World::new(offer);
        for rest in ["", &format!("/{name}"), &format!("/{name}.MD5SUM")] {
            assert_eq!(world.status(&get(&format!("/softwaremodules/{module}/artifacts{rest}"))), 404);
        }
    }
    let mut world = World::new(Some(fetched()));
    for (module, name) in [(module + 1, name), (module, "other.swu"), (module, "..%2f..%2fstate.redb")] {
        assert_eq!(world.status(&get(&format!("/softwaremodules/{module}/artifacts/{name}"))), 404);
    }
    assert_eq!(world.status(&get(&format!("/softwaremodules/x/artifacts/{name}"))), 404);
}

#[test]
fn b_6_a_whole_artifact_and_what_its_head_says() {
    let mut world = World::new(Some(fetched()));
    let download = world.download(&file());
    assert_eq!((download.first, download.last, download.length(), download.holds_end()), (0, 999, 1000, true));
    assert_eq!(download.requested(), Event::Requested(gateway(), digest(), Bytes::Some));
    assert_eq!(download.served(), Event::Served(gateway(), digest()));
    assert_eq!(download.ended(), Event::BodyEnded(gateway(), digest()));
    let response = download.respond(&mut world.presence, Some(Verdict::Accepted)).unwrap();
    assert_eq!(response.status.as_u16(), 200);
    assert_eq!(response.header(&header::ETAG), Some(&*format!("\"{}\"", sha1())));
    assert_eq!(response.header(&header::ACCEPT_RANGES), Some("bytes"));
    assert_eq!(response.header(&header::CONTENT_TYPE), Some("application/octet-stream"));
    assert_eq!(response.header(&header::CONTENT_DISPOSITION), Some("attachment;filename=\"gateway os.swu\""));
    assert_eq!(response.header(&header::X_CONTENT_TYPE_OPTIONS), Some("nosniff"));
    assert_eq!(response.header(&header::CONTENT_RANGE), None);
    let withdrawn = download.respond(&mut world.presence, Some(Verdict::Withdrawn)).unwrap_err();
    assert_eq!(withdrawn.status.as_u16(), 404);
    assert_eq!(download.respond(&mut world.presence, None).unwrap_err().status.as_u16(), 429);
}

#[test]
fn b_6_head_says_the_size_and_tells_the_heart_nothing() {
    let mut world = World::new(Some(fetched()));
    let head = Request { method: Method::HEAD, ..file() }.header("range", "bytes=5-");
    let (seen, answer) = world.send(&head);
    assert_eq!(seen, []);
    let Answer::Now(response) = answer else { panic!() };
    assert_eq!((response.status.as_u16(), response.header(&header::CONTENT_LENGTH)), (200, Some("1000")));
}

#[test]
fn b_6_ranges_resume_and_if_range_guards_them() {
    let mut world = World::new(Some(fetched()));
    let download = world.download(&file().header("range", "bytes=600-"));
    assert_eq!((download.first, download.last, download.holds_end()), (600, 999, true));
    let response = download.respond(&mut world.presence, Some(Verdict::Accepted)).unwrap();
    assert_eq!(response.status.as_u16(), 206);
    assert_eq!(response.header(&header::CONTENT_RANGE), Some("bytes 600-999/1000"));
    assert!(!world.download(&file().header("range", "bytes=0-998")).holds_end());
    assert_eq!(world.download(&file().header("range", "bytes=-1")).first, 999);
    let range = file().header("range", "bytes=600-");
    let quoted = format!("\"{}\"", sha1());
    assert_eq!(world.download(&range.clone().header("if-range", &quoted)).first, 600);
    for other in ["\"other\"", &sha1(), &format!("W/{quoted}"), "Wed, 21 Oct 2015 07:28:00 GMT", "?"] {
        assert_eq!(world.download(&range.clone().header("if-range", other)).first, 0, "{other}");
    }
}

#[test]
fn b_6_a_range_beyond_the_end_is_416_and_the_heart_knows() {
    let mut world = World::new(Some(fetched()));
    let beyond = file().header("range", "bytes=1000-");
    let (event, response) = world.asked(&beyond, Some(Verdict::Accepted));
    assert_eq!(event, Event::Requested(gateway(), digest(), Bytes::None));
    assert_eq!(response.status.as_u16(), 416);
    assert_eq!(response.header(&header::CONTENT_RANGE), Some("bytes */1000"));
    assert_eq!(world.asked(&beyond, Some(Verdict::Withdrawn)).1.status.as_u16(), 404);
}

#[test]
fn b_6_if_match_takes_the_sha1_bare_or_quoted() {
    let mut world = World::new(Some(fetched()));
    for tag in [&*sha1(), &format!("\"{}\"", sha1()), "*", &format!("\"x\", \"{}\"", sha1())] {
        assert!(matches!(world.send(&file().header("if-match", tag)).1, Answer::Send(_)), "{tag}");
    }
    assert_eq!(world.status(&file().header("if-match", "\"other\"")), 412);
}

#[test]
fn b_1_the_md5_sum_is_a_line_without_an_end() {
    let mut request = file();
    request.path.push_str(".MD5SUM");
    let response = World::new(Some(fetched())).now(&request);
    assert_eq!(text(&response), format!("{}  gateway os.swu", "b2".repeat(16)));
    assert_eq!(response.header(&header::CONTENT_TYPE), Some("text/plain"));
}

#[test]
fn a_refusal_comes_before_the_body_is_read() {
    let world = World::new(None);
    let admit = |request: &Request| {
        let Request { method, path, headers, .. } = request;
        let head = Head { method, path, headers, local: "127.0.0.1:9" };
        ddi::admit(&world.board, &world.settings, &head).map_err(|response| response.status.as_u16())
    };
    assert_eq!(admit(&attributes("")), Ok(ddi::LARGEST_BODY));
    assert_eq!(admit(&poll()), Ok(0));
    assert_eq!(admit(&attributes("").without("authorization")), Err(401));
    assert_eq!(admit(&Request { method: Method::POST, ..attributes("") }), Err(405));
    assert_eq!(admit(&attributes("").header("content-type", "application/cbor")), Err(415));
}

/// Pieces that requests are made of, good and bad.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "DEFAULT",
            "controller",
            "v1",
            "gw-1",
            "deploymentBase",
            "feedback",
            "configData",
            "softwaremodules",
            "artifacts",
            "gateway%20os.swu",
            "1234567890",
            "117901063",
            "..",
            "%00",
            "%ff",
            "",
        ])
        .prop_map(str::to_owned),
        "[ -~]{0,12}",
    ]
}

proptest! {
    #[test]
    fn no_request_panics_and_every_status_is_in_the_contract(
        prefix in prop::bool::weighted(0.7),
        pieces in prop::collection::vec(piece(), 0..7),
        method in prop::sample::select(vec!["GET", "HEAD", "POST", "PUT", "DELETE"]),
        token in prop::bool::weighted(0.8),
        range in prop::option::of("(bytes=)?[0-9,-]{0,12}"),
        accept in prop::option::weighted(0.1, "[ -~]{0,20}"),
        body in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..200),
            "[\\[\\]{}\":,a-z0-9. ]{0,80}".prop_map(String::into_bytes),
            Just(says("closed", "failure").into_bytes()),
        ],
        verdict in prop::sample::select(vec![None, Some(Verdict::Accepted), Some(Verdict::Withdrawn), Some(Verdict::Deploy)]),
        offered in prop::sample::select(vec![None, Some(false), Some(true)]),
    ) {
        let mut world = World::new(offered.map(|fetched| Offer { fetched, ..offer() }));
        let path = format!("{}/{}", if prefix { "/DEFAULT/controller/v1/gw-1" } else { "" }, pieces.join("/"));
        let mut request = Request::raw(method.parse().unwrap(), &path).body(body);
        if token {
            request = request.header("authorization", &format!("TargetToken {TOKEN}"));
        }
        if let Some(range) = range {
            request = request.header("range", &range);
        }
        if let Some(accept) = accept {
            request = request.header("accept", &accept);
        }
        let response = match world.send(&request).1 {
            Answer::Now(response) => response,
            Answer::Ask(_, pending) => pending.respond(&mut world.presence, verdict),
            Answer::Send(download) => {
                prop_assert!(download.first <= download.last && download.last < 1000);
                download.respond(&mut world.presence, verdict).unwrap_or_else(|refusal| refusal)
            }
        };
        let status = response.status.as_u16();
        prop_assert!([200, 206, 400, 401, 404, 405, 406, 412, 415, 416, 429].contains(&status), "{status}");
        if !token && path.starts_with("/DEFAULT/controller/v1/gw-1") {
            prop_assert_eq!(status, 401);
        }
        if status >= 400 {
            prop_assert!(!response.body.iter().any(|b| matches!(b, b'<' | b'>')));
        }
    }
}
