//! Feedback and attributes: what is taken, what is refused, what reaches the heart.

use super::*;

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
    let expected =
        Attributes { mode: AttributesMode::Merge, data: [pair("os_version", Some("1.0"))].into(), from: None };
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
fn b_5_all_attributes_together_are_counted_by_the_heart_and_too_many_are_429() {
    let mut world = World::new(None);
    let large: serde_json::Map<String, Value> = (0..20).map(|n| (format!("k{n}"), json!("v".repeat(120)))).collect();
    let (event, response) = world.asked(&attributes(&json!({"data": large}).to_string()), Some(Verdict::OverQuota));
    assert!(matches!(event, Event::Attributes(..)));
    assert_eq!(response.status.as_u16(), 429);
}

#[test]
fn b_5_attributes_beyond_the_limits_are_400() {
    let mut world = World::new(None);
    let many: serde_json::Map<String, Value> = (0..101).map(|n| (format!("k{n}"), json!("v"))).collect();
    for (body, why) in [
        (json!({"data": many}).to_string(), "101 attributes"),
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
