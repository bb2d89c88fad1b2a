//! Servers and links that misbehave.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use super::server::{Answer, Server, serve};
use super::{World, firmware, local, spec};
use lamplighter::model::ArtifactFact;

const SIZE: usize = 1 << 20;

#[tokio::test]
async fn a_file_comes_once_with_all_hashes_and_nothing_else_stays() {
    local(async || {
        let (world, bytes) = (World::new(), firmware(SIZE));
        let file = bytes.clone();
        let server = Server::start(move |_, request| serve(request, &file, "\"a\"")).await;
        let spec = spec(&bytes, &[server.url("/os.swu")]);
        assert_eq!(spec.file_name(), "os.swu");
        world.fetch(&spec).await.unwrap();
        assert_eq!(world.cached(), [spec.key.digest.hex()]);
        assert_eq!(server.sent(), SIZE);
        let request = &server.requests()[0];
        assert_eq!((request.header("accept-encoding"), request.header("authorization")), (Some("identity"), None));
    })
    .await;
}

#[tokio::test]
async fn that_a_fetch_begins_is_said_once_however_often_it_is_tried_and_without_secrets() {
    local(async || {
        let (world, bytes) = (World::eager(), firmware(SIZE));
        let file = bytes.clone();
        let server = Server::start(move |n, request| match n {
            0..3 => Answer::new("404 Not Found", &[], b""),
            _ => serve(request, &file, "\"a\""),
        })
        .await;
        let mut running = world.start(&spec(&bytes, &[server.url("/os?signature=secret")]));
        let facts: [_; 3] = [running.fact().await, running.fact().await, running.fact().await];
        let begins = ArtifactFact::Fetching(server.url("/os?…"));
        assert!(facts[0] == begins, "{facts:?}");
        assert!(matches!(&facts[1..], [ArtifactFact::Failed(_), ArtifactFact::Verified(_)]), "{facts:?}");
    })
    .await;
}

#[tokio::test]
async fn a_cut_is_resumed_in_the_same_run_with_the_etag_and_costs_nothing_twice() {
    local(async || {
        let (world, bytes) = (World::new(), firmware(SIZE));
        let file = bytes.clone();
        let server = Server::start(move |n, request| {
            let answer = serve(request, &file, "\"a\"");
            if n == 0 { answer.cut(SIZE / 2) } else { answer }
        })
        .await;
        let mut running = world.start(&spec(&bytes, &[server.url("/os")]));
        running.verified().await;
        assert_eq!((server.sent(), running.keeper.fetched_bytes()), (SIZE, SIZE as u64), "as metrics say");
        let requests = server.requests();
        assert_eq!((requests[1].offset(), requests[1].header("if-range")), (Some(SIZE / 2), Some("\"a\"")));
    })
    .await;
}

#[tokio::test]
async fn a_restart_goes_on_where_the_process_before_stopped() {
    local(async || {
        let (world, bytes) = (World::new(), firmware(SIZE));
        let file = bytes.clone();
        let server = Server::start(move |n, request| {
            let answer = serve(request, &file, "\"a\"");
            if n == 0 { answer.cut(SIZE / 2).hang() } else { answer }
        })
        .await;
        let spec = spec(&bytes, &[server.url("/os")]);
        let first = world.start(&spec);
        let part = world.file(&spec, ".part");
        while std::fs::metadata(&part).map_or(0, |part| part.len()) < SIZE as u64 / 4 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert!(first.keeper.fetching(&spec.key.digest).is_some());
        drop(first);
        tokio::time::sleep(Duration::from_millis(100)).await;
        world.fetch(&spec).await.unwrap();
        let kept = server.requests()[1].offset().unwrap();
        assert!(kept >= SIZE / 4, "{kept}");
        assert_eq!(world.cached(), [spec.key.digest.hex()]);
    })
    .await;
}

/// Unsynced bytes are lost in a power cut: what lies behind the last safe one may be anything.
#[tokio::test]
async fn after_a_power_cut_only_what_was_made_safe_counts() {
    local(async || {
        let (world, bytes) = (World::new(), firmware(SIZE));
        let file = bytes.clone();
        let server = Server::start(move |_, request| serve(request, &file, "\"a\"")).await;
        let spec = spec(&bytes, &[server.url("/os")]);
        std::fs::create_dir_all(world.file(&spec, "").parent().unwrap()).unwrap();
        let mut part = bytes.clone();
        part[SIZE / 2..].fill(0);
        std::fs::write(world.file(&spec, ".part"), part).unwrap();
        let record = format!(
            r#"{{"version":1,"source":"{}","etag":"\"a\"","safe":{},"bootId":"another"}}"#,
            server.url("/os"),
            SIZE / 2
        );
        std::fs::write(world.file(&spec, ".resume"), record).unwrap();
        world.fetch(&spec).await.unwrap();
        assert_eq!((server.requests()[0].offset(), server.sent()), (Some(SIZE / 2), SIZE / 2));
    })
    .await;
}

#[tokio::test]
async fn garbage_in_a_part_or_its_record_costs_a_fetch_and_never_a_wrong_byte() {
    local(async || {
        let bytes = firmware(SIZE);
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        let good = format!(r#"{{"version":1,"source":"x","safe":1000,"bootId":"{}"}}"#, boot.trim());
        let longer = [&bytes[..], b"more"].concat();
        let wrong = vec![7; SIZE];
        let records = [good.as_str(), "", "{", r#"{"version":9,"source":"x","safe":9,"bootId":""}"#];
        for (part, record) in
            [&wrong[..], &wrong[..1000], &longer, b""].into_iter().flat_map(|p| records.map(|r| (p, r)))
        {
            let (world, file) = (World::new(), bytes.clone());
            let server = Server::start(move |_, request| serve(request, &file, "\"a\"")).await;
            let spec = spec(&bytes, &[server.url("/os")]);
            std::fs::create_dir_all(world.file(&spec, "").parent().unwrap()).unwrap();
            std::fs::write(world.file(&spec, ".part"), part).unwrap();
            std::fs::write(world.file(&spec, ".resume"), record).unwrap();
            world.fetch(&spec).await.unwrap();
            assert_eq!(world.cached(), [spec.key.digest.hex()]);
        }
    })
    .await;
}

#[tokio::test]
async fn a_whole_part_needs_no_server() {
    local(async || {
        let (world, bytes) = (World::new(), firmware(SIZE));
        let spec = spec(&bytes, &["http://127.0.0.1:1/os".to_owned()]);
        std::fs::create_dir_all(world.file(&spec, "").parent().unwrap()).unwrap();
        std::fs::write(world.file(&spec, ".part"), &bytes).unwrap();
        let record = format!(r#"{{"version":1,"source":"x","safe":{SIZE},"bootId":""}}"#);
        std::fs::write(world.file(&spec, ".resume"), record).unwrap();
        world.fetch(&spec).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_body_without_a_length_that_breaks_off_is_no_whole_file() {
    local(async || {
        let (world, bytes) = (World::new(), firmware(SIZE));
        let file = bytes.clone();
        let server = Server::start(move |n, request| match n {
            0 => Answer::bare("200 OK", &[("ETag", "\"a\"")], &file).cut(SIZE / 2),
            _ => serve(request, &file, "\"a\""),
        })
        .await;
        world.fetch(&spec(&bytes, &[server.url("/os")])).await.unwrap();
        assert_eq!(server.sent(), SIZE);
    })
    .await;
}

#[tokio::test]
async fn the_whole_file_in_answer_to_a_range_is_never_appended() {
    local(async || {
        let (world, bytes) = (World::new(), firmware(SIZE));
        let file = bytes.clone();
        let server = Server::start(move |n, _| {
            let answer = Answer::new("200 OK", &[], &file);
            if n == 0 { answer.cut(SIZE / 2) } else { answer }
        })
        .await;
        world.fetch(&spec(&bytes, &[server.url("/os")])).await.unwrap();
        assert!(server.requests()[1].offset().is_some());
    })
    .await;
}

#[tokio::test]
async fn a_rest_with_another_start_total_or_etag_starts_over() {
    local(async || {
        let total = SIZE;
        let ranges = [
            ("0-9", total, "\"a\""),
            (&*format!("{}-{}", SIZE / 2 + 1, SIZE - 1), total, "\"a\""),
            (&*format!("{}-{}", SIZE / 2, SIZE), total + 1, "\"a\""),
            (&*format!("{}-{}", SIZE / 2, SIZE - 1), total, "\"b\""),
        ]
        .map(|(span, total, etag)| (format!("bytes {span}/{total}"), etag.to_owned()));
        for (range, etag) in ranges {
            let (world, bytes) = (World::new(), firmware(SIZE));
            let file = bytes.clone();
            let server = Server::start(move |n, request| match n {
                0 => serve(request, &file, "\"a\"").cut(SIZE / 2),
                1 => {
                    Answer::new("206 Partial Content", &[("Content-Range", &range), ("ETag", &etag)], &file[SIZE / 2..])
                }
                _ => serve(request, &file, "\"b\""),
            })
            .await;
            world.fetch(&spec(&bytes, &[server.url("/os")])).await.unwrap();
            assert_eq!(server.requests()[2].offset(), None, "from the start");
        }
    })
    .await;
}

#[tokio::test]
async fn a_file_that_changes_in_the_middle_is_fetched_whole() {
    local(async || {
        let (world, bytes, old) = (World::new(), firmware(SIZE), firmware(SIZE + 1));
        let file = bytes.clone();
        let server = Server::start(move |n, request| match n {
            0 => serve(request, &old[..SIZE], "\"old\"").cut(SIZE / 2),
            _ => serve(request, &file, "\"new\""),
        })
        .await;
        world.fetch(&spec(&bytes, &[server.url("/os")])).await.unwrap();
        assert_eq!(server.requests().len(), 2, "If-Range made it the whole file at once");
    })
    .await;
}

/// Neither `ETag` nor date tell: the digest does.
#[tokio::test]
async fn parts_that_do_not_fit_together_are_fetched_again_whole() {
    local(async || {
        let (world, bytes, old) = (World::new(), firmware(SIZE), firmware(SIZE + 1));
        let file = bytes.clone();
        let server = Server::start(move |n, request| match n {
            0 => serve(request, &old[..SIZE], "W/\"x\"").cut(SIZE / 2),
            _ => serve(request, &file, "W/\"x\""),
        })
        .await;
        world.fetch(&spec(&bytes, &[server.url("/os")])).await.unwrap();
        assert_eq!(server.requests().len(), 3);
    })
    .await;
}

#[tokio::test]
async fn another_source_goes_on_where_the_first_broke_off() {
    local(async || {
        let (world, bytes) = (World::new(), firmware(SIZE));
        let (first, second) = (bytes.clone(), bytes.clone());
        let a = Server::start(move |n, request| match n {
            0 => serve(request, &first, "\"a\"").cut(SIZE / 2),
            _ => Answer::new("503 Service Unavailable", &[], b""),
        })
        .await;
        let b = Server::start(move |_, request| serve(request, &second, "\"b\"")).await;
        world.fetch(&spec(&bytes, &[a.url("/os"), b.url("/os")])).await.unwrap();
        assert_eq!((b.requests()[0].offset(), b.requests()[0].header("if-range")), (Some(SIZE / 2), None));
    })
    .await;
}

#[tokio::test]
async fn ten_gigabytes_for_a_megabyte_are_cut_at_the_limit() {
    local(async || {
        let bytes = firmware(SIZE);
        let endless = bytes.repeat(64);
        let world = World::new();
        let said = endless.clone();
        let server = Server::start(move |_, _| {
            let mut answer = Answer::bare("200 OK", &[("Content-Length", "10000000000")], &said);
            answer.hang = true;
            answer
        })
        .await;
        world.refused(&spec(&bytes, &[server.url("/os")]), &["sizeBytes"]).await;
        let server = Server::start(move |_, _| Answer::bare("200 OK", &[], &endless)).await;
        world.refused(&spec(&bytes, &[server.url("/os")]), &["sizeBytes"]).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(server.sent() < 32 * SIZE, "the kernel's buffers come on top: {}", server.sent());
        assert_eq!(world.cached(), Vec::<String>::new());
    })
    .await;
}

#[tokio::test]
async fn a_captive_portal_is_named() {
    local(async || {
        let (world, bytes) = (World::new(), firmware(1000));
        let html = [("Content-Type", "text/html; charset=utf-8")];
        let page = [&b"<html>"[..], &[b' '; 994]].concat();
        let server = Server::start(move |n, _| match n {
            0 => Answer::new("200 OK", &html, b"<html>please log in</html>"),
            1 => Answer::bare("200 OK", &html, b"<html>please log in</html>"),
            _ => Answer::new("200 OK", &html, &page),
        })
        .await;
        let spec = spec(&bytes, &[server.url("/os")]);
        world.refused(&spec, &["sizeBytes", "captive portal"]).await;
        world.refused(&spec, &["captive portal"]).await;
        let _ = std::fs::remove_file(world.file(&spec, ".part"));
        world.refused(&spec, &["digest", "captive portal"]).await;
    })
    .await;
}

#[tokio::test]
async fn a_wrong_digest_a_wrong_length_a_status_and_an_encoding_are_named() {
    local(async || {
        let (world, bytes) = (World::new(), firmware(1000));
        for (answer, words) in [
            (("200 OK", vec![], 1000), vec!["has digest sha256:", "spec.artifact.digest says"]),
            (("200 OK", vec![], 999), vec!["sizeBytes says (1000)"]),
            (("404 Not Found", vec![], 0), vec!["404", "put the file there"]),
            (("503 Service Unavailable", vec![], 0), vec!["503", "tried again"]),
            (("401 Unauthorized", vec![], 0), vec!["401", "uplink.credentials"]),
            (("204 No Content", vec![], 0), vec!["204"]),
            (("206 Partial Content", vec![("Content-Range", "bytes 0-999/1000")], 1000), vec!["206"]),
            (("200 OK", vec![("Content-Encoding", "gzip")], 1000), vec!["compressed (gzip)"]),
        ] {
            let server = Server::start(move |_, _| Answer::new(answer.0, &answer.1, &vec![1; answer.2])).await;
            let why = world.refused(&spec(&bytes, &[server.url("/os?signature=secret")]), &words).await;
            assert!(why.starts_with("http://127.0.0.1:") && !why.contains("secret"), "{why}");
        }
        assert_eq!(world.cached(), Vec::<String>::new());
    })
    .await;
}

#[tokio::test]
async fn no_server_and_no_name_are_named() {
    local(async || {
        let (world, bytes) = (World::new(), firmware(10));
        let both = ["http://127.0.0.1:1/os".to_owned(), "http://no-such-host.invalid/os".to_owned()];
        let why = world.refused(&spec(&bytes, &both), &["127.0.0.1:1/os cannot be reached", "no-such-host"]).await;
        assert!(why.to_lowercase().contains("refused"), "{why}");
    })
    .await;
}

#[tokio::test]
async fn silence_and_a_trickle_end_an_answer_and_a_slow_steady_one_does_not() {
    local(async || {
        let (world, bytes) = (World::impatient(), firmware(100_000));
        let (silent, trickle, steady) = (bytes.clone(), bytes.clone(), bytes.clone());
        let server = Server::start(move |_, request| serve(request, &silent, "\"a\"").cut(50_000).hang()).await;
        world.refused(&spec(&bytes, &[server.url("/os")]), &["too slow or sends nothing"]).await;
        let world = World::impatient();
        let pause = Duration::from_millis(50);
        let server = Server::start(move |_, request| serve(request, &trickle, "\"a\"").slow(10, pause)).await;
        world.refused(&spec(&bytes, &[server.url("/os")]), &["too slow"]).await;
        let world = World::impatient();
        let server = Server::start(move |_, request| serve(request, &steady, "\"a\"").slow(8_000, pause)).await;
        world.fetch(&spec(&bytes, &[server.url("/os")])).await.unwrap();
        assert_eq!(server.requests().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn the_uplink_is_paced_and_progress_is_seen() {
    local(async || {
        let (mut world, bytes) = (World::new(), firmware(600_000));
        world.uplink.bytes_per_second = std::num::NonZeroU64::new(300_000);
        let file = bytes.clone();
        let server = Server::start(move |_, request| serve(request, &file, "\"a\"")).await;
        let spec = spec(&bytes, &[server.url("/os")]);
        let start = std::time::Instant::now();
        let mut running = world.start(&spec);
        let (mut seen, mut speed) = (0, 0);
        let fact = loop {
            tokio::select! {
                fact = running.next() => break fact,
                () = tokio::time::sleep(Duration::from_millis(20)) => {
                    let progress = running.keeper.progress(&spec.key.digest).unwrap_or_default();
                    assert!(progress.source.is_none_or(|source| source == server.url("/os")));
                    seen = seen.max(progress.bytes.unwrap_or(0));
                    speed = speed.max(progress.bytes_per_second.unwrap_or(0));
                }
            }
        };
        assert!((1..=600_000).contains(&speed), "{speed} bytes per second");
        assert!(matches!(fact, ArtifactFact::Verified(_)));
        assert!(start.elapsed() >= Duration::from_millis(1_700), "never faster than said: {:?}", start.elapsed());
        assert!(seen > 0 && running.keeper.fetching(&spec.key.digest).is_none());
    })
    .await;
}

#[tokio::test]
async fn what_nobody_wants_any_more_is_no_longer_fetched_and_goes_on_when_it_is_wanted_again() {
    local(async || {
        let (world, bytes) = (World::new(), firmware(SIZE));
        let file = bytes.clone();
        let pause = Duration::from_millis(20);
        let server = Server::start(move |_, request| serve(request, &file, "\"a\"").slow(20_000, pause)).await;
        let spec = spec(&bytes, &[server.url("/os")]);
        let mut running = world.start(&spec);
        while running.keeper.fetching(&spec.key.digest).is_none_or(|bytes| bytes < 200_000) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        running.wanted.send_replace(vec![]);
        while running.keeper.fetching(&spec.key.digest).is_some() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        running.wanted.send_replace(vec![spec]);
        running.verified().await;
        assert!(server.requests()[1].offset().unwrap() >= 200_000);
    })
    .await;
}

#[tokio::test]
async fn a_fetch_of_hours_holds_up_no_other_artifact() {
    local(async || {
        let (world, bytes) = (World::new(), firmware(SIZE));
        let file = bytes.clone();
        let server = Server::start(move |_, request| serve(request, &file, "\"a\"").cut(1000).hang()).await;
        let slow = spec(&bytes, &[server.url("/os")]);
        let mut running = world.start(&slow);
        while running.keeper.fetching(&slow.key.digest).is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        std::fs::write(world.state.path().join("other.swu"), "other").unwrap();
        let mut other = spec(b"other", &[]);
        other.sources =
            vec![lamplighter::model::Source::File { dir: world.state.path().to_owned(), name: "other.swu".into() }];
        running.wanted.send_replace(vec![slow, other.clone()]);
        running.verified().await;
        assert!(running.keeper.ready(&other.key.digest));
    })
    .await;
}

#[tokio::test]
async fn stops_and_cuts_at_random_never_bring_a_wrong_byte() {
    local(async || {
        let size = 4 << 20;
        let bytes = firmware(size);
        for seed in 0..4 {
            let (world, file) = (World::eager(), bytes.clone());
            let dice = Rc::new(Cell::new(fastrand::Rng::with_seed(seed)));
            let throw = dice.clone();
            let server = Server::start(move |_, request| {
                let mut dice = throw.take();
                let cut = dice.usize(1..2 << 20);
                throw.set(dice);
                serve(request, &file, "\"a\"").cut(cut)
            })
            .await;
            let spec = spec(&bytes, &[server.url("/os")]);
            let mut running = world.start(&spec);
            loop {
                let mut dice_now = dice.take();
                let wait = Duration::from_millis(dice_now.u64(1..500));
                dice.set(dice_now);
                if tokio::time::timeout(wait, running.verified()).await.is_ok() {
                    break;
                }
                running = world.start(&spec);
            }
            assert_eq!(std::fs::read(world.file(&spec, "")).unwrap(), bytes);
        }
    })
    .await;
}
