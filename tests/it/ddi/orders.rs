//! What polls and orders look like, and when the heart decides.

use super::*;

#[test]
fn b_2_links_are_omitted_when_there_are_none() {
    let response = World::new(None).now(&poll());
    assert_eq!(text(&response), r#"{"config":{"polling":{"sleep":"00:00:58"}}}"#);
}

#[test]
fn b_11_each_gateway_is_told_its_own_interval_and_a_shorter_one_while_it_has_work() {
    let sleep = |world: &mut World| world.json(&poll())["config"]["polling"]["sleep"].as_str().unwrap().to_owned();
    let mut world = World::new(Some(offer()));
    world.settings.poll_interval = Duration::from_secs(600);
    assert_eq!(sleep(&mut world), "00:03:13");
    world.set(|entry| entry.offer = None);
    assert_eq!(sleep(&mut world), "00:09:38");
    world.set(|entry| entry.ask = Ask::EachInterval);
    assert_eq!(sleep(&mut world), "00:03:13", "what it reports is waited for");
}

#[test]
fn b_2_links_are_absolute_on_the_address_the_device_used() {
    let mut world = World::new(Some(offer()));
    world.set(|entry| entry.ask = Ask::Once);
    let module = digest().module_id();
    assert_eq!(
        text(&world.now(&poll())),
        format!(
            "{{\"config\":{{\"polling\":{{\"sleep\":\"00:00:30\"}}}},\"_links\":{{\
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
fn b_0_2_the_link_is_withdrawn_from_rhu_once_the_artifact_was_served() {
    let shown = |offer: Offer, agent: &str| {
        let mut world = World::new(Some(offer));
        world.json(&poll().header("user-agent", agent))["_links"]["deploymentBase"].is_object()
    };
    let served = || Offer { served: true, ..fetched() };
    assert!(shown(fetched(), "rauc-hawkbit-c-agent/1.4"));
    assert!(!shown(served(), "rauc-hawkbit-c-agent/1.4"));
    assert!(shown(served(), "libcurl-agent/1.0"), "SWUpdate reports only while it is offered");
}

#[test]
fn b_8_11_the_progress_of_an_rhu_that_downloads_is_decided_by_the_heart_and_all_other_is_answered_at_once() {
    let asks = |offer: Offer, agent: &str| {
        let mut world = World::new(Some(offer));
        let (_, answer) = world.send(&feedback(ID, &says("proceeding", "none")).header("user-agent", agent));
        assert_eq!(world.presence.progress("gw-1").unwrap().message.as_deref(), Some("a; b"));
        matches!(answer, Answer::Ask(Event::Feedback(..), _))
    };
    let installing = || Offer { served: true, ..fetched() };
    assert!(asks(fetched(), "rauc-hawkbit-c-agent/1.4"));
    assert!(!asks(offer(), "rauc-hawkbit-c-agent/1.4"), "it has no order yet");
    assert!(!asks(installing(), "rauc-hawkbit-c-agent/1.4"));
    assert!(!asks(fetched(), "libcurl-agent/1.0"));
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
