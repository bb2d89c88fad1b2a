//! Any request at all.

use super::*;

/// Pieces that requests are made of, good and bad.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "DEFAULT",
            "controller",
            "v1",
            "gw-1",
            "deploymentBase",
            "cancelAction",
            "01234567890",
            "other",
            "%2e%2e%2f",
            "%0d%0aX-Evil:%201",
            "%3Cscript%3E",
            "%22",
            "1234567890%00",
            "feedback",
            "configData",
            "softwaremodules",
            "artifacts",
            "gateway%20os.swu",
            "1234567890",
            "58950531",
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

/// Whom an event is about.
fn about(event: &Event) -> Option<&ControllerId> {
    match event {
        Event::Seen(id)
        | Event::Quiet(id)
        | Event::Offline(id)
        | Event::Polled(id)
        | Event::BodyEnded(id, ..)
        | Event::Pace(id, _)
        | Event::Paced(id, _)
        | Event::Client(id, _)
        | Event::Attributes(id, _)
        | Event::Shared(id, _)
        | Event::Fetched(id, _)
        | Event::Served(id, _)
        | Event::Requested(id, ..)
        | Event::Feedback(id, ..)
        | Event::CancelFeedback(id, ..) => Some(id),
        Event::Started
        | Event::StoodStill
        | Event::Gate(..)
        | Event::StoreLost(_)
        | Event::Configured(..)
        | Event::Listed(_)
        | Event::ApiAwaited(_)
        | Event::ApiListed(_)
        | Event::Api(..)
        | Event::Dropped(_)
        | Event::Artifact(..)
        | Event::Collect(..)
        | Event::Registered(..)
        | Event::Config(..)
        | Event::Unit(..)
        | Event::Order(..) => None,
    }
}

/// JSON that nobody means well with, and nearly JSON.
fn body() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        Just("closed".to_owned()),
        Just("proceeding".to_owned()),
        "[<>\"'\\\\\u{0}-\u{1f}\u{7f}é\u{202e}a-z]{0,40}",
    ];
    let said = (word.clone(), word.clone(), prop::collection::vec(word.clone(), 0..4)).prop_map(
        |(execution, finished, details)| {
            json!({"status": {"execution": execution, "result": {"finished": finished}, "details": details}})
                .to_string()
        },
    );
    let data = prop::collection::btree_map(word.clone(), word, 0..6);
    let reported = data.prop_map(|data| json!({"mode": "merge", "data": data}).to_string());
    prop_oneof![
        said.prop_map(String::into_bytes),
        reported.prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 0..400),
        (1_usize..30_000).prop_map(|deep| "[".repeat(deep).into_bytes()),
        (1_usize..10_000).prop_map(|deep| "{\"a\":".repeat(deep).into_bytes()),
        (1_usize..60_000).prop_map(|long| format!("{{\"data\":{{\"k\":\"{}\"}}}}", "x".repeat(long)).into_bytes()),
        Just(br#"{"status":{"execution":"closed","execution":"x","result":{"finished":"success"}}}"#.to_vec()),
        Just(b"{\"data\":{\"k\":1e999999}}".to_vec()),
        Just(b"\xff\xfe{\x00}".to_vec()),
    ]
}

proptest! {
    #[test]
    fn whatever_is_sent_the_answer_is_in_the_contract_small_and_about_nobody_else(
        pieces in prop::collection::vec(piece(), 0..7),
        gateway in prop_oneof![8 => Just("gw-1".to_owned()), 1 => Just("other".to_owned()), 1 => piece()],
        method in prop::sample::select(vec!["GET", "HEAD", "POST", "PUT", "OPTIONS", "TRACE", "BREW"]),
        headers in prop::collection::vec(
            (
                prop::sample::select(vec![
                    "host", "range", "if-range", "if-match", "accept", "content-type", "user-agent", "authorization", "x-controller-id",
                ]),
                prop::collection::vec(prop_oneof![32_u8..127, 128_u8..=255], 0..60),
            ),
            0..5,
        ),
        token in prop::bool::weighted(0.8),
        body in body(),
        verdict in prop::sample::select(vec![None, Some(Verdict::Accepted), Some(Verdict::Withdrawn), Some(Verdict::OverQuota)]),
        (fetched, cancel) in any::<(bool, bool)>(),
    ) {
        let mut world = World::new(Some(Offer { fetched, cancel, link: !cancel, ..offer() }));
        let path = format!("/DEFAULT/controller/v1/{gateway}/{}", pieces.join("/"));
        let mut request = Request::raw(method.parse().unwrap(), &path).body(body);
        if token {
            request = request.header("authorization", &format!("TargetToken {TOKEN}"));
        }
        for (name, value) in headers {
            if let Ok(value) = HeaderValue::from_bytes(&value) {
                request.headers.append(HeaderName::from_static(name), value);
            }
        }
        let (seen, answer) = world.send(&request);
        let mut events = seen;
        let response = match answer {
            Answer::Now(response) => response,
            Answer::Ask(event, pending) => {
                events.push(event);
                pending.respond(&mut world.presence, verdict)
            }
            Answer::Send(download) => {
                events.push(download.requested());
                download.respond(&mut world.presence, verdict).unwrap_or_else(|refusal| refusal)
            }
        };
        prop_assert!(events.iter().all(|event| about(event) == Some(&super::gateway())), "{events:?}");
        let status = response.status.as_u16();
        prop_assert!([200, 206, 400, 401, 404, 405, 406, 412, 415, 416, 429].contains(&status), "{status}");
        prop_assert!(response.body.len() <= 4_096, "{} bytes", response.body.len());
        prop_assert!(!response.body.iter().any(|b| matches!(b, b'<' | b'>' | 0..32)));
        let split = |value: &HeaderValue| value.as_bytes().iter().any(|b| matches!(b, b'\r' | b'\n'));
        prop_assert!(!response.headers.iter().any(|(_, value)| split(value)));
        // who is somebody else is as it was
        prop_assert_eq!(world.presence.state("other"), lamplighter::model::Presence::Never);
        prop_assert_eq!(world.status(&poll()), 200);
    }
}
