//! Servers that ask to be left alone for a while.

use std::time::Duration;

use super::server::{Answer, Server, serve};
use super::{World, firmware, local, spec};

fn busy(status: &str, seconds: &str) -> Answer {
    Answer::new(status, &[("Retry-After", seconds)], b"")
}

#[tokio::test]
async fn a_server_that_asks_for_it_is_left_alone_while_another_source_is_used() {
    local(async || {
        let (world, bytes) = (World::eager(), firmware(200_000));
        let file = bytes.clone();
        let first = Server::start(move |_, _| busy("503 Service Unavailable", "1000")).await;
        let second = Server::start(move |n, request| match n {
            0..3 => Answer::new("404 Not Found", &[], b""),
            _ => serve(request, &file, "\"a\""),
        })
        .await;
        let mut running = world.start(&spec(&bytes, &[first.url("/os"), second.url("/os")]));
        running.verified().await;
        assert_eq!((first.requests().len(), second.requests().len()), (1, 4), "the one once, the other eagerly");
    })
    .await;
}

#[tokio::test]
async fn when_all_sources_ask_for_it_the_next_try_waits_and_says_when_it_is() {
    local(async || {
        let (world, bytes) = (World::eager(), firmware(10));
        let server = Server::start(move |_, _| busy("429 Too Many Requests", "1000")).await;
        let spec = spec(&bytes, &[server.url("/os")]);
        let mut running = world.start(&spec);
        running.next().await;
        let progress = running.keeper.progress(&spec.key.digest).unwrap();
        let wait = progress.next_try.unwrap();
        assert!(wait > Duration::from_secs(900) && wait <= Duration::from_secs(1_250), "{wait:?}");
        assert!(progress.error.unwrap().contains("429 Too Many Requests; it is tried again"));
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert_eq!(server.requests().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_short_while_is_waited_out_and_then_the_rest_is_fetched() {
    local(async || {
        let size = 1 << 20;
        let (world, bytes) = (World::eager(), firmware(size));
        let file = bytes.clone();
        let server = Server::start(move |n, request| match n {
            0 => serve(request, &file, "\"a\"").cut(size / 2),
            1 => busy("503 Service Unavailable", "1"),
            _ => serve(request, &file, "\"a\""),
        })
        .await;
        let start = std::time::Instant::now();
        world.start(&spec(&bytes, &[server.url("/os")])).verified().await;
        assert!(start.elapsed() >= Duration::from_secs(1), "not before it was asked to");
        assert_eq!((server.requests()[2].offset(), server.sent()), (Some(size / 2), size));
    })
    .await;
}
