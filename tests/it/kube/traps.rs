//! Answers that are none, and watches that break.

use serde_json::{Value, json};

use super::fake::{Reply, gateway, line};
use super::{Lab, local, until};

/// The first list of gateways is answered so; everything else as by a server without objects.
async fn first_list(reply: impl Fn() -> Reply + 'static) -> Lab {
    let lab = Lab::start(move |request| {
        if request.is_list("edgegateways") && request.before == 0 { reply() } else { Reply::usual(request) }
    });
    until("it lists", || lab.fake.count("edgegateways?limit") > 0).await;
    lab
}

fn page(items: &[Value], next: &str) -> Reply {
    Reply::Json(200, json!({"metadata": {"resourceVersion": "10", "continue": next}, "items": items}))
}

#[tokio::test]
async fn a_200_with_an_empty_body_is_no_empty_list() {
    local(async {
        let lab = first_list(|| Reply::Bytes(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_vec())).await;
        lab.until_down("not understood").await;
        assert_eq!(lab.lists(), 0);
        until("the next try is a list", || lab.lists() == 1).await;
    })
    .await;
}

#[tokio::test]
async fn half_an_answer_is_no_list() {
    local(async {
        let half = br#"{"metadata":{"resourceVersion":"10"},"items":["#;
        let text = [b"HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n", half.as_slice()].concat();
        let lab = first_list(move || Reply::Bytes(text.clone())).await;
        lab.until_down("cannot be reached").await;
        assert_eq!(lab.lists(), 0);
    })
    .await;
}

#[tokio::test]
async fn an_answer_that_lacks_its_items_or_its_version_is_no_list() {
    local(async {
        for body in [
            json!({"kind": "Status", "status": "Success"}),
            json!({"metadata": {"resourceVersion": "10"}}),
            json!({"metadata": {"resourceVersion": ""}, "items": []}),
            json!({"metadata": {}, "items": []}),
            json!({"metadata": {"resourceVersion": "10"}, "items": null}),
        ] {
            let lab = first_list(move || Reply::Json(200, body.clone())).await;
            lab.until_down("not understood").await;
            assert_eq!(lab.lists(), 0);
        }
    })
    .await;
}

#[tokio::test]
async fn an_answer_without_end_is_given_up() {
    local(async {
        let lab = first_list(|| {
            let head = b"HTTP/1.1 200 OK\r\ncontent-length: 9000000\r\n\r\n".to_vec();
            Reply::Bytes([head, vec![b' '; 9_000_000]].concat())
        })
        .await;
        lab.until_down("longer than 8 MiB").await;
        assert_eq!(lab.lists(), 0);
    })
    .await;
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    local(async {
        let moved = b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n";
        let lab = first_list(|| Reply::Bytes(moved.to_vec())).await;
        lab.until_down("302").await;
        assert_eq!(lab.lists(), 0);
    })
    .await;
}

#[tokio::test]
async fn a_page_that_expired_half_way_is_no_end_of_the_list() {
    local(async {
        let mut expired = false;
        let lab = Lab::start(move |request| match request {
            request if request.is_list("edgegateways") && request.line.contains("continue=") && !expired => {
                expired = true;
                Reply::Json(410, json!({"reason": "Expired", "message": "too old"}))
            }
            request if request.is_list("edgegateways") && request.line.contains("continue=") => {
                page(&[gateway("press-2", 2)], "")
            }
            request if request.is_list("edgegateways") => page(&[gateway("press-1", 1)], "more"),
            request => Reply::usual(request),
        });
        until("it has a list", || lab.lists() == 1).await;
        assert_eq!(lab.declared(), ["EdgeGateway/press-1", "EdgeGateway/press-2"]);
    })
    .await;
}

#[tokio::test]
async fn expired_inside_a_stream_reads_everything_again() {
    local(async {
        let status = json!({"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"});
        let lab = Lab::start(move |request| {
            let first = request.is_watch("edgegateways") && request.line.contains("resourceVersion=10&");
            if first { Reply::Ended(vec![line("ERROR", status.clone())]) } else { Reply::usual(request) }
        });
        until("it lists again", || lab.lists() >= 2).await;
        assert_eq!(lab.declared(), [""; 0], "and nothing is gone by that");
    })
    .await;
}

#[tokio::test]
async fn an_error_inside_a_stream_is_no_end_in_order_and_no_deletion() {
    local(async {
        let status = json!({"kind": "Status", "code": 500, "message": "the store is gone"});
        let lab = Lab::start(move |request| {
            if request.is_watch("edgegateways") {
                Reply::Ended(vec![line("ERROR", status.clone())])
            } else {
                Reply::usual(request)
            }
        });
        lab.until_down("the store is gone").await;
        assert_eq!((lab.lists(), lab.declared().len()), (1, 0));
    })
    .await;
}

#[tokio::test]
async fn one_object_that_nobody_can_read_hides_no_other() {
    local(async {
        let broken = || json!({"metadata": {"name": 7, "uid": "none"}});
        let lab = Lab::start(move |request| match request {
            request if request.is_list("edgegateways") => page(&[broken(), gateway("press-1", 1)], ""),
            request if request.is_watch("edgegateways") => {
                Reply::Lines(vec![line("MODIFIED", broken()), line("ADDED", gateway("press-2", 11))])
            }
            request => Reply::usual(request),
        });
        until("both are known", || lab.declared() == ["EdgeGateway/press-1", "EdgeGateway/press-2"]).await;
        let passed_over: Vec<_> = lab.objects.undecodable().filter(|(_, count)| *count > 0).collect();
        assert_eq!(passed_over, [("EdgeGateway", 2)], "and is counted where it is met, in lists and in watches");
    })
    .await;
}

#[tokio::test]
async fn half_a_line_of_a_watch_says_nothing_and_comes_again() {
    local(async {
        let lab = Lab::start(move |request| match request {
            request if request.is_watch("edgegateways") && request.line.contains("resourceVersion=10&") => {
                Reply::Cut(vec![line("ADDED", gateway("press-1", 11))], r#"{"type":"DELETED","object":{"meta"#)
            }
            request => Reply::usual(request),
        });
        until("it goes on from what it knows", || lab.fake.count("edgegateways?watch=1") > 1).await;
        assert!(lab.fake.count("resourceVersion=11&") > 0, "{:?}", lab.fake.asked.borrow());
        assert_eq!((lab.declared(), lab.lists()), (vec!["EdgeGateway/press-1".to_owned()], 1));
    })
    .await;
}

#[tokio::test]
async fn a_bookmark_moves_the_place_from_which_a_watch_goes_on() {
    local(async {
        let lab = Lab::start(move |request| match request {
            request if request.line.contains("watch=1") && request.line.contains("resourceVersion=10&") => {
                Reply::Ended(vec![line("BOOKMARK", json!({"metadata": {"resourceVersion": "77"}}))])
            }
            request => Reply::usual(request),
        });
        until("all kinds go on from there", || lab.fake.count("resourceVersion=77&") == 3).await;
        assert_eq!(lab.lists(), 1);
    })
    .await;
}

#[tokio::test]
async fn another_kind_of_line_and_an_empty_one_are_passed_over() {
    local(async {
        let lab = Lab::start(move |request| match request {
            request if request.is_watch("edgegateways") => Reply::Lines(vec![
                line("SOMETHING", json!({})),
                line("BOOKMARK", json!({})),
                line("ADDED", gateway("press-1", 11)),
            ]),
            request => Reply::usual(request),
        });
        until("the object is known", || lab.declared() == ["EdgeGateway/press-1"]).await;
    })
    .await;
}

/// `press-1`, whose token is in a Secret.
fn naming(secret: &str, generation: u32, version: u32) -> Value {
    let mut object = gateway("press-1", version);
    object["metadata"]["generation"] = generation.into();
    object["spec"] = json!({"auth": {"tokenSecretRef": {"name": secret}}});
    object
}

/// A server with Secrets and `press-1`, which says these lines about gateways.
fn with_secrets(lines: Vec<Value>) -> Lab {
    Lab::start(move |request| match request {
        request if request.line.contains("/secrets/") => {
            Reply::Json(200, json!({"data": {"token": "MDEyMzQ1Njc4OWFiY2RlZg=="}}))
        }
        request if request.is_list("edgegateways") => page(&[naming("old", 1, 1)], ""),
        request if request.is_watch("edgegateways") => Reply::Lines(lines.clone()),
        request => Reply::usual(request),
    })
}

#[tokio::test]
async fn a_secret_is_not_asked_for_again_with_each_status_that_we_wrote() {
    local(async {
        let statuses = [11, 12].map(|version| line("MODIFIED", naming("old", 1, version)));
        let lab = with_secrets([statuses.to_vec(), vec![line("ADDED", gateway("press-2", 13))]].concat());
        until("all is taken in", || lab.declared().iter().any(|object| object == "EdgeGateway/press-2")).await;
        assert_eq!(lab.fake.count("/secrets/"), 1);
    })
    .await;
}

#[tokio::test]
async fn the_secret_that_an_edit_names_is_asked_for_at_once() {
    local(async {
        let lab = with_secrets(vec![line("MODIFIED", naming("new", 2, 11))]);
        until("the edit is taken in", || lab.declared().len() == 2).await;
        assert_eq!((lab.fake.count("/secrets/old"), lab.fake.count("/secrets/new")), (1, 1));
    })
    .await;
}
