//! Tokens, tenants, paths, methods and media types.

use super::*;

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
fn a_refusal_comes_before_the_body_is_read() {
    let world = World::new(None);
    let admit = |request: &Request| {
        let Request { method, path, headers, .. } = request;
        let head = Head { method, path, headers, local: "127.0.0.1:9", peer: None, secure: false, certificate: None };
        ddi::admit(&world.board, &world.settings, &head)
            .map(|admitted| admitted.most)
            .map_err(|response| response.status.as_u16())
    };
    assert_eq!(admit(&attributes("")), Ok(ddi::LARGEST_BODY));
    assert_eq!(admit(&poll()), Ok(0));
    assert_eq!(admit(&attributes("").without("authorization")), Err(401));
    assert_eq!(admit(&Request { method: Method::POST, ..attributes("") }), Err(405));
    assert_eq!(admit(&attributes("").header("content-type", "application/cbor")), Err(415));
}

#[test]
fn b_0_1_before_the_first_commit_nobody_is_a_stranger() {
    let mut world = World::new(None);
    world.board.clear();
    let Request { method, path, headers, .. } = &feedback(ID, "{}");
    let head = Head { method, path, headers, local: "127.0.0.1:9", peer: None, secure: false, certificate: None };
    let status = |world: &World| ddi::admit(&world.board, &world.settings, &head).unwrap_err().status.as_u16();
    assert_eq!(status(&world), 429, "rhu says it again only after 429");
    world.board.complete();
    assert_eq!(status(&world), 401);
}
