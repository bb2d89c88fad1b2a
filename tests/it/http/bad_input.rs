//! What devices, strangers and broken networks send. The server says why, or hangs up; it never falls.

use std::time::Duration;

use lamplighter::device::Caps;
use proptest::prelude::*;
use tokio::io::AsyncWriteExt;

use super::{ID, Site, run};

const POLL: &str = "GET /DEFAULT/controller/v1/gw-1";

async fn site() -> Site {
    Site::start(10, Caps::default()).await
}

#[test]
fn half_requests_leave_nothing_behind() {
    run(async {
        let site = site().await;
        let request = format!("{POLL} HTTP/1.1\r\nHost: a\r\nAuthorization: TargetToken s3cret\r\n\r\n");
        for length in 0..request.len() {
            let mut device = site.connect().await;
            device.raw(&request.as_bytes()[..length]).await;
            device.socket.shutdown().await.unwrap();
            device.is_cut().await;
        }
        let body = format!(
            "POST /DEFAULT/controller/v1/gw-1/deploymentBase/{ID}/feedback HTTP/1.1\r\nHost: a\r\n\
             Authorization: TargetToken s3cret\r\nContent-Length: 1000\r\n\r\n{{\"status\":"
        );
        let mut device = site.connect().await;
        device.raw(body.as_bytes()).await;
        device.socket.shutdown().await.unwrap();
        device.is_cut().await;
        site.polls_well().await;
        while site.context.stats.now().open > 1 {
            tokio::task::yield_now().await;
        }
        assert!(site.events.borrow().iter().all(|event| matches!(event, lamplighter::model::Event::Seen(_))));
    });
}

#[test]
fn a_header_of_10_mb_is_431() {
    run(async {
        let site = site().await;
        let mut device = site.connect().await;
        device.raw(format!("{POLL} HTTP/1.1\r\nX: ").as_bytes()).await;
        device.raw(&vec![b'x'; 10_000_000]).await;
        assert_eq!(device.hear().await.expect("the reason").status, 431);
        site.polls_well().await;
    });
}

#[test]
fn a_thousand_headers_and_a_path_of_a_megabyte_are_refused() {
    run(async {
        let site = site().await;
        let many = "X: y\r\n".repeat(1000);
        for head in
            [format!("{POLL} HTTP/1.1\r\n{many}\r\n"), format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(1_000_000))]
        {
            let mut device = site.connect().await;
            device.raw(head.as_bytes()).await;
            let status = device.hear().await.expect("the reason").status;
            assert!([414, 431].contains(&status), "{status}");
        }
        site.polls_well().await;
    });
}

#[test]
fn a_body_of_10_mb_is_413_whether_its_length_is_said_or_not() {
    run(async {
        let site = site().await;
        let path = "PUT /DEFAULT/controller/v1/gw-1/configData";
        let answer = site.ask(path, &vec![b' '; 10_000_000]).await;
        assert_eq!((answer.status, answer.text().contains("64 KiB")), (413, true));
        let mut chunks = Vec::new();
        for _ in 0..1000 {
            chunks.extend_from_slice(format!("2710\r\n{}\r\n", "x".repeat(10_000)).as_bytes());
        }
        chunks.extend_from_slice(b"0\r\n\r\n");
        assert_eq!(site.ask(&format!("{path}\nTransfer-Encoding: chunked"), &chunks).await.status, 413);
        let stranger = format!("{path}\nAuthorization: TargetToken wrong");
        assert_eq!(site.ask(&stranger, &vec![b' '; 10_000_000]).await.status, 401);
        site.polls_well().await;
    });
}

#[test]
fn a_chunked_body_is_read_like_any_other() {
    run(async {
        let site = site().await;
        let head = "PUT /DEFAULT/controller/v1/gw-1/configData\nTransfer-Encoding: chunked";
        let answer = site.ask(head, b"5\r\n{\"dat\r\n7\r\na\":{}} \r\n0\r\n\r\n").await;
        assert_eq!(answer.status, 200);
    });
}

#[test]
fn nonsense_json_is_400_and_says_what_is_wrong() {
    run(async {
        let site = site().await;
        for body in ["{", "null", "{\"data\":5}", "\u{0}", "<xml/>"] {
            let answer = site.ask("PUT /DEFAULT/controller/v1/gw-1/configData", body.as_bytes()).await;
            assert_eq!(answer.status, 400, "{body}");
            assert!(answer.text().contains("message"), "{}", answer.text());
        }
        let feedback = format!("POST /DEFAULT/controller/v1/gw-1/deploymentBase/{ID}/feedback");
        assert_eq!(site.ask(&feedback, b"{\"status\":{}}").await.status, 400);
    });
}

#[test]
fn wrong_methods_ids_and_tokens() {
    run(async {
        let site = site().await;
        let answer = site.ask("DELETE /DEFAULT/controller/v1/gw-1", b"").await;
        assert_eq!((answer.status, answer.headers["allow"].as_str()), (405, "GET"));
        for head in [
            "GET /DEFAULT/controller/v1/gw-2",
            "GET /DEFAULT/controller/v1/nobody",
            "GET /DEFAULT/controller/v1/gw-1\nAuthorization: TargetToken other",
            "GET /DEFAULT/controller/v1/gw-1\nAuthorization: Basic czNjcmV0",
        ] {
            let answer = site.ask(head, b"").await;
            assert_eq!((answer.status, answer.text()), (401, ""), "{head}");
        }
        assert_eq!(site.context.stats.now().unauthorized, 4);
        assert_eq!(site.ask("GET /OTHER/controller/v1/gw-1", b"").await.status, 404);
        assert_eq!(site.ask("OPTIONS *", b"").await.status, 404);
    });
}

#[test]
fn what_is_no_http_is_refused() {
    run(async {
        let site = site().await;
        for garbage in
            [&b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc"[..], b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\0\0\0\0\r\n\r\n"]
        {
            let mut device = site.connect().await;
            device.raw(garbage).await;
            device.socket.shutdown().await.unwrap();
            device.is_cut().await;
        }
        site.polls_well().await;
    });
}

#[test]
fn pipelined_requests_are_answered_in_order_on_one_connection() {
    run(async {
        let site = site().await;
        let mut device = site.connect().await;
        for path in ["", "/nothing", ""] {
            device.send(&format!("{POLL}{path}"), b"").await;
        }
        for status in [200, 404, 200] {
            assert_eq!(device.hear().await.unwrap().status, status);
        }
        assert_eq!(site.context.stats.now().accepted, 1);
    });
}

#[test]
fn a_header_that_dribbles_in_is_cut() {
    run(async {
        let site = Site::start(10, Caps { header: Duration::from_millis(50), ..Caps::default() }).await;
        let mut device = site.connect().await;
        device.send(POLL, b"").await;
        assert_eq!(device.hear().await.unwrap().status, 200);
        tokio::time::sleep(Duration::from_millis(100)).await;
        device.send(POLL, b"").await;
        assert_eq!(device.hear().await.unwrap().status, 200, "waiting between requests is no dribbling");
        device.raw(b"GET / HT").await;
        device.is_cut().await;
    });
}

#[test]
fn b_0_1_a_body_that_dribbles_in_is_429() {
    run(async {
        let site = Site::start(10, Caps { body: Duration::from_millis(50), ..Caps::default() }).await;
        let head = "PUT /DEFAULT/controller/v1/gw-1/configData\nTransfer-Encoding: chunked";
        assert_eq!(site.ask(head, b"1\r\n{\r\n").await.status, 429);
        site.polls_well().await;
    });
}

#[test]
fn a_connection_without_a_request_is_closed_in_the_end() {
    run(async {
        let site = Site::start(10, Caps { idle: Duration::from_millis(50), ..Caps::default() }).await;
        site.connect().await.is_cut().await;
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn no_bytes_bring_the_server_down(
        garbage in prop::collection::vec(
            prop_oneof![
                prop::collection::vec(any::<u8>(), 0..200),
                "(GET|PUT|POST) /DEFAULT/controller/v1/gw-1[ -~]{0,40} HTTP/1.1\r\n".prop_map(String::into_bytes),
                "(Authorization: TargetToken s3cret|Content-Length: [0-9]{0,12}|Transfer-Encoding: chunked)\r\n"
                    .prop_map(String::into_bytes),
                Just(b"\r\n\r\n".to_vec()),
            ],
            0..8,
        )
    ) {
        run(async {
            let site = Site::start(10, Caps { body: Duration::from_millis(50), ..Caps::default() }).await;
            let mut device = site.connect().await;
            device.raw(&garbage.concat()).await;
            _ = device.socket.shutdown().await;
            device.is_cut().await;
            site.polls_well().await;
        });
    }
}
