//! What no well-meaning client sends, kind by kind. Any request at all is in `anything`, and in fuzz/.

use super::*;

#[test]
fn huge_and_deep_json_is_400_and_asks_the_heart_nothing() {
    let mut world = World::new(Some(fetched()));
    let deep = |open: &str, times: usize| open.repeat(times);
    for body in [
        deep("[", ddi::LARGEST_BODY),
        deep("{\"a\":", ddi::LARGEST_BODY / 5),
        format!("{{\"status\":{}", deep("{\"status\":", 200)),
        format!("{{\"data\":{}1{}}}", deep("[", 127), deep("]", 127)),
        format!("{{\"data\":{{\"k\":\"{}\"}}}}", "x".repeat(60_000)),
        format!("{{\"data\":{{{}}}}}", (0..5_000).map(|n| format!("\"k{n}\":1")).collect::<Vec<_>>().join(",")),
        "1".repeat(60_000),
    ] {
        for request in [attributes(&body), feedback(ID, &body)] {
            let response = world.now(&request);
            assert_eq!(response.status.as_u16(), 400, "{body:.40}");
            assert!(response.body.len() < 400, "{}", text(&response));
        }
    }
}

#[test]
fn what_is_no_utf_8_is_400_in_attributes_replaced_in_words_and_nobody_in_a_path() {
    let mut world = World::new(Some(fetched()));
    for body in [
        &b"\xff\xfe{\0}\0"[..],
        b"{\"data\":{\"k\":\"\xc3\x28\"}}",
        b"{\"data\":{\"k\":\"\xed\xa0\x80\"}}",
        br#"{"data":{"k":"\ud800"}}"#,
        b"\xef\xbb\xbf{\"data\":{}}",
    ] {
        assert_eq!(world.status(&Request::new(Method::PUT, "/configData").body(body)), 400, "{body:x?}");
    }
    // an installer's log may be in any encoding: its gateway shall not repeat it for ever
    let latin = b"{\"status\":{\"execution\":\"closed\",\"result\":{\"finished\":\"failure\"},\"details\":[\"d\xe9j\xe0 vu\"]}}";
    let report = Request::new(Method::POST, &format!("/deploymentBase/{ID}/feedback")).body(&latin[..]);
    let (event, response) = world.asked(&report, Some(Verdict::Accepted));
    assert!(matches!(event, Event::Feedback(_, _, said) if said.message.as_deref() == Some("d\u{fffd}j\u{fffd} vu")));
    assert_eq!(response.status.as_u16(), 200);
    let signed = |path: &str| Request::raw(Method::GET, path).header("authorization", &format!("TargetToken {TOKEN}"));
    assert_eq!(world.status(&signed("/DEFAULT/controller/v1/gw-1%ff")), 401);
    assert_eq!(world.status(&signed("/DEFAULT%c3/controller/v1/gw-1")), 404);
    assert_eq!(world.status(&get("/softwaremodules/1/artifacts/%ed%a0%80")), 404);
}

#[test]
fn angle_brackets_quotes_and_control_characters_in_details_are_kept_as_text_and_never_said_back() {
    let mut world = World::new(Some(fetched()));
    let odd = "<script>\"'\\\u{0}\r\nX-Evil: 1\u{1b}[2J\u{7f}\u{9b}";
    let body = json!({"status": {"execution": "closed", "result": {"finished": "failure"}, "details": [odd]}});
    let (event, response) = world.asked(&feedback(ID, &body.to_string()), Some(Verdict::Accepted));
    let Event::Feedback(_, _, said) = event else { panic!("{event:?}") };
    assert_eq!(said.message.unwrap(), "<script>\"'\\   X-Evil: 1 [2J  ");
    assert_eq!((response.status.as_u16(), response.body.len()), (200, 0));

    for body in [
        json!({"status": {"execution": odd, "result": {"finished": odd}}}),
        json!({"data": {odd: "v"}}),
        json!({"data": {"k": odd}}),
        json!({"data": {}, "mode": odd}),
    ] {
        for request in [attributes(&body.to_string()), feedback(ID, &body.to_string())] {
            let response = world.now(&request);
            assert_eq!(response.status.as_u16(), 400);
            assert!(!text(&response).contains("script"), "{}", text(&response));
            serde_json::from_slice::<Value>(&response.body).unwrap();
        }
    }
}

#[test]
fn no_header_is_split_by_a_path_a_host_or_the_name_of_a_file() {
    let mut world = World::new(Some(offer()));
    let evil = "%0d%0aSet-Cookie:%20a=b";
    for rest in [format!("/{evil}"), format!("/deploymentBase/7{evil}"), format!("/softwaremodules/7/artifacts/{evil}")]
    {
        let response = world.now(&get(&rest));
        assert_eq!(response.status.as_u16(), 404, "{rest}");
        assert!(!text(&response).contains("Set-Cookie"));
    }
    for host in ["a/b", "a\"b", "<a>", "a b", "a,b", "@", ""] {
        let mut poll = poll();
        poll.headers.insert("host", HeaderValue::from_str(host).unwrap());
        let links = world.json(&poll)["_links"].to_string();
        assert!(links.contains("http://127.0.0.1:9/"), "an address of ours instead of {host:?}: {links}");
    }
    let named = |name: &str| {
        let mut offer = fetched();
        Rc::make_mut(&mut offer.artifact).file_name = name.into();
        offer
    };
    for (name, said) in [
        ("a\r\nSet-Cookie: a=b.swu", "attachment;filename=\"aSet-Cookie: a=b.swu\""),
        ("a\";x=\"b.swu", "attachment;filename=\"a;x=b.swu\""),
    ] {
        world.set(|entry| entry.offer = Some(named(name)));
        let path = name.bytes().fold(String::new(), |path, byte| path + &format!("%{byte:02x}"));
        let request = get(&format!("/softwaremodules/{}/artifacts/{path}", digest().module_id()));
        let head = Request { method: Method::HEAD, ..request };
        assert_eq!(world.now(&head).header(&header::CONTENT_DISPOSITION), Some(said));
    }
}

#[test]
fn tricks_in_paths_lead_to_no_other_gateway_and_no_other_file() {
    let mut world = World::new(Some(fetched()));
    let module = digest().module_id();
    for name in [
        "../gateway%20os.swu",
        "..%2fgateway%20os.swu",
        "%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "..%5cgateway%20os.swu",
        "/etc/passwd",
        "%2fetc%2fpasswd",
        "gateway%20os.swu%00.swu",
        "gateway%20os.swu/..",
        "gateway%2520os.swu",
        "GATEWAY%20OS.SWU",
        ".",
        "..",
        ".MD5SUM",
    ] {
        assert_eq!(world.status(&get(&format!("/softwaremodules/{module}/artifacts/{name}"))), 404, "{name}");
    }
    for module in ["0", "-1", &format!("{module}%00"), "99999999999999999999", "..", "*"] {
        assert_eq!(world.status(&get(&format!("/softwaremodules/{module}/artifacts"))), 404, "{module}");
    }
    for id in ["other", "gw-1%2f..%2fother", "gw-1%00", "GW-1", "gw-1%20", "..", "other/../gw-1"] {
        let path = format!("/DEFAULT/controller/v1/{id}");
        let request = Request::raw(Method::GET, &path).header("authorization", &format!("TargetToken {TOKEN}"));
        assert_eq!(world.status(&request), 401, "{id}");
    }
    assert_eq!(world.presence.state("other"), lamplighter::model::Presence::Never);
}
