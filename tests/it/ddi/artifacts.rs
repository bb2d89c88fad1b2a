//! Artifacts: heads, ranges, conditions.

use super::*;

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
    assert_eq!(download.ended(5), Event::BodyEnded(gateway(), digest(), 5));
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
