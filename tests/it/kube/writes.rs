//! Writes that are refused hold up no other.

use std::cell::Cell;
use std::rc::Rc;

use lamplighter::kube::News;
use lamplighter::model::{Identity, ObjectName};
use serde_json::{Value, json};

use super::fake::{Reply, Request, gateway};
use super::{Lab, local, until};

const DIGEST: &str = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

fn rollout(name: &str) -> Value {
    let artifact = json!({"name": "os", "version": "2", "sources": ["file:os.swu"], "digest": DIGEST, "sizeBytes": 4});
    let spec = json!({"artifact": artifact, "selector": {"matchLabels": {"line": "3"}}});
    json!({
        "apiVersion": "lamplighter.dev/v1alpha1", "kind": "OtaRollout", "spec": spec,
        "metadata": {"name": name, "uid": "00000000-0000-0000-0000-00000000000a", "generation": 1, "resourceVersion": "1"},
    })
}

/// A server with one rollout and one gateway.
fn with_both(request: &Request) -> Reply {
    let items = match request {
        request if request.is_list("edgegateways") => vec![gateway("press-1", 1)],
        request if request.is_list("otarollouts") => vec![rollout("press-fw")],
        request => return Reply::usual(request),
    };
    Reply::Json(200, json!({"metadata": {"resourceVersion": "10"}, "items": items}))
}

fn news(note: &str) -> News {
    let object = ObjectName::Rollout(Identity("press-fw".into()));
    News { object, reason: "WaveOpened", note: note.into(), warning: false, at: 1 }
}

#[tokio::test]
async fn events_that_are_forbidden_hold_up_no_status_and_are_not_tried_for_ever() {
    local(async {
        let lab = Lab::start(move |request| match request {
            request if request.line.contains("/events") => Reply::Json(403, json!({"message": "forbidden"})),
            request => with_both(request),
        });
        until("it is adopted", || {
            lab.fake.count("PATCH /apis/lamplighter.dev/v1alpha1/namespaces/hall/otarollouts/press-fw?") == 1
        })
        .await;
        for note in ["1", "2", "3"] {
            lab.objects.tell(news(note));
        }
        until("all were tried", || lab.fake.count("/events") == 3).await;
        lab.objects.changed([(ObjectName::Gateway("press-1".into()), false)]);
        until("its status is written", || lab.fake.count("edgegateways/press-1/status") == 1).await;
        assert_eq!(lab.fake.count("/events"), 3);
    })
    .await;
}

#[tokio::test]
async fn a_status_about_an_object_that_is_another_one_by_now_is_not_forced_on_it() {
    local(async {
        let lab = Lab::start(move |request| match request {
            request if request.line.contains("/status") => Reply::Json(409, json!({"reason": "Conflict"})),
            request => with_both(request),
        });
        until("both were tried", || lab.fake.count("/status") == 2).await;
        for _ in 0..3 {
            lab.objects.changed([(ObjectName::Gateway("press-1".into()), true)]);
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        assert_eq!(lab.fake.count("/status"), 2, "the watch says what became of it");
        assert_eq!(lab.lists(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_write_that_fails_for_a_moment_is_tried_again_and_one_that_worked_is_not() {
    local(async {
        let failed = Rc::new(Cell::new(false));
        let lab = Lab::start(move |request| match request {
            request if request.line.contains("edgegateways/press-1/status") && !failed.replace(true) => {
                Reply::Json(503, json!({"message": "not now"}))
            }
            request => with_both(request),
        });
        until("it is written", || lab.fake.count("edgegateways/press-1/status") == 2).await;
        lab.objects.changed([(ObjectName::Gateway("press-1".into()), true)]);
        lab.objects.changed([(ObjectName::Rollout(Identity("press-fw".into())), true)]);
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        assert_eq!(lab.fake.count("edgegateways/press-1/status"), 2, "the server has it already");
    })
    .await;
}
