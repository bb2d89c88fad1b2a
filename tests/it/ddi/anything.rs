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
