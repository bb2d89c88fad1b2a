//! Devices that mean harm. The result is a status code of the contract or a closed connection, bounded memory and
//! sockets, and no effect on other gateways.

use std::cell::RefCell;
use std::collections::HashSet;
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::time::Duration;

use lamplighter::device::{Caps, Entry, Strangers};
use lamplighter::model::{Event, Labels, Registration, Verdict};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::spawn_local;

use super::crowd::from;
use super::{ID, Site, Take, gateway, run};

const POLL: &str = "GET /DEFAULT/controller/v1/gw-1";
const FLOOR: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const ATTACKER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);

/// What a good gateway, of another address, gets while something goes on.
async fn neighbour_polls(site: &Site) {
    let mut device = from(site, FLOOR).await;
    device.send("GET /DEFAULT/controller/v1/gw-2\nAuthorization: TargetToken other", b"").await;
    assert_eq!(device.hear().await.expect("an answer").status, 200);
}

async fn nothing_is_left(site: &Site) {
    while site.context.stats.now().open > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[test]
fn a_slow_loris_in_each_phase_is_cut_and_holds_nobody_up() {
    run(async {
        let soon = Duration::from_millis(300);
        let caps = Caps { header: soon, body: soon, idle: 2 * soon, stall: soon, ..Caps::default() };
        let site = Site::bounded(20_000_000, caps).await;
        site.fetched();
        let phases = [
            String::new(),
            format!("{POLL} HTT"),
            format!("{POLL} HTTP/1.1\r\nHost: a\r\nX: "),
            "PUT /DEFAULT/controller/v1/gw-1/configData HTTP/1.1\r\nHost: a\r\nAuthorization: TargetToken s3cret\r\n\
             Content-Length: 50\r\n\r\n{"
                .into(),
            format!("GET {} HTTP/1.1\r\nHost: a\r\nAuthorization: TargetToken s3cret\r\n\r\n", site.artifact_path()),
        ];
        let ended = Rc::new(RefCell::new(0));
        for phase in &phases {
            for n in 0..4 {
                let mut loris = from(&site, Ipv4Addr::new(127, 0, 1, n + 1)).await;
                let (phase, ended) = (phase.clone(), Rc::clone(&ended));
                spawn_local(async move {
                    loris.raw(phase.as_bytes()).await;
                    if phase.starts_with("GET /DEFAULT/controller/v1/gw-1/soft") {
                        // takes its bytes as slowly as it can
                        tokio::time::sleep(Duration::from_secs(5)).await;
                    }
                    loris.is_cut().await;
                    *ended.borrow_mut() += 1;
                });
            }
        }
        while *ended.borrow() < 4 * phases.len() {
            neighbour_polls(&site).await;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        nothing_is_left(&site).await;
    });
}

#[test]
fn bodies_that_never_end_are_bounded_in_bytes_and_in_time() {
    run(async {
        let site = Site::bounded(10, Caps { body: Duration::from_millis(500), ..Caps::default() }).await;
        for token in ["s3cret", "wrong"] {
            let head = format!(
                "PUT /DEFAULT/controller/v1/gw-1/configData HTTP/1.1\r\nHost: a\r\nAuthorization: TargetToken {token}\r\n\
                 Transfer-Encoding: chunked\r\n\r\n"
            );
            let mut device = from(&site, ATTACKER).await;
            device.raw(head.as_bytes()).await;
            let endless = format!("4000\r\n{}\r\n", "x".repeat(0x4000));
            let (mut reader, mut writer) = device.socket.into_split();
            let pour = async {
                // 100 MB would be far beyond what is read
                for _ in 0..6_400 {
                    if writer.write_all(endless.as_bytes()).await.is_err() {
                        return;
                    }
                }
                panic!("it was all read");
            };
            let mut answer = Vec::new();
            // what it says may be lost when it hangs up on unread bytes
            let (_, ()) = tokio::join!(reader.read_to_end(&mut answer), pour);
            let status = answer.get(9..12).map(String::from_utf8_lossy);
            assert!(status.is_none_or(|status| ["401", "413", "429"].contains(&&*status)));
            neighbour_polls(&site).await;
        }
    });
}

#[test]
fn requests_that_two_readers_could_split_differently_are_refused_or_closed() {
    run(async {
        let site = Site::bounded(10, Caps::default()).await;
        let inner = "GET /DEFAULT/controller/v1/gw-2 HTTP/1.1\r\nHost: a\r\n\r\n";
        let outer =
            "PUT /DEFAULT/controller/v1/gw-1/configData HTTP/1.1\r\nHost: a\r\nAuthorization: TargetToken s3cret\r\n";
        let length = inner.len();
        for smuggled in [
            format!("{outer}Content-Length: 0\r\nContent-Length: {length}\r\n\r\n{inner}"),
            format!("{outer}Content-Length: {length}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{inner}"),
            format!("{outer}Transfer-Encoding: xchunked\r\n\r\n{inner}"),
            format!("{outer}Content-Length: +{length}\r\n\r\n{inner}"),
            format!("{outer}X: a\r\n Content-Length: 0\r\n\r\n{inner}"),
            format!("{outer}Content-Length : 0\r\n\r\n{inner}"),
            "GET /DEFAULT/controller/v1/gw-1%0d%0aAuthorization:%20x HTTP/1.1\r\nHost: a\r\n\r\n".into(),
            format!("{POLL} HTTP/1.1\r\nHost: a\r\nX: a\rAuthorization: TargetToken s3cret\r\n\r\n"),
        ] {
            let mut device = from(&site, ATTACKER).await;
            device.raw(smuggled.as_bytes()).await;
            _ = device.socket.shutdown().await;
            while let Some(heard) = device.hear().await {
                assert!([400, 401, 411, 501].contains(&heard.status), "{} to {smuggled:?}", heard.status);
            }
            neighbour_polls(&site).await;
        }
        let attributes = |event: &Event| matches!(event, Event::Attributes(..));
        assert!(!site.events.borrow().iter().any(attributes), "nothing was taken for a request of gw-1");
    });
}

#[test]
fn another_gateways_token_opens_nothing_and_changes_nothing() {
    run(async {
        let site = Site::bounded(10, Caps::default()).await;
        let base = "/DEFAULT/controller/v1/gw-1";
        for head in [
            format!("GET {base}"),
            format!("PUT {base}/configData"),
            format!("GET {base}/deploymentBase/{ID}"),
            format!("POST {base}/deploymentBase/{ID}/feedback"),
            format!("GET {}", site.artifact_path()),
            format!("GET {}.MD5SUM", site.artifact_path()),
        ] {
            // the server waits longer and longer with its answers, so each comes from an address of its own
            let octet = u8::try_from(head.len()).unwrap();
            let mut device = from(&site, Ipv4Addr::new(127, 0, 2, octet)).await;
            device.send(&format!("{head}\nAuthorization: TargetToken other"), b"").await;
            let heard = device.hear().await.unwrap();
            assert_eq!((heard.status, heard.body.len()), (401, 0), "{head}");
        }
        assert!(site.events.borrow().is_empty());
        neighbour_polls(&site).await;
    });
}

#[test]
fn a_token_that_is_guessed_is_slowed_and_counted_and_its_neighbours_and_its_owner_are_let_in() {
    run(async {
        let site = Site::bounded(10, Caps::default()).await;
        let guess = format!("{POLL}\nAuthorization: TargetToken guess");
        let begin = std::time::Instant::now();
        for _ in 0..9 {
            let mut device = from(&site, ATTACKER).await;
            device.send(&guess, b"").await;
            assert_eq!(device.hear().await.unwrap().status, 401);
        }
        assert!(begin.elapsed() >= Duration::from_millis(700), "{:?}", begin.elapsed());
        // behind the same address
        let mut neighbour = from(&site, ATTACKER).await;
        neighbour.send("GET /DEFAULT/controller/v1/gw-2\nAuthorization: TargetToken other", b"").await;
        assert_eq!(neighbour.hear().await.unwrap().status, 200);
        let mut owner = from(&site, ATTACKER).await;
        let waits = std::time::Instant::now();
        owner.send(POLL, b"").await;
        assert_eq!(owner.hear().await.unwrap().status, 200, "late, but let in");
        assert!(waits.elapsed() >= Duration::from_millis(700), "as late as a wrong one: {:?}", waits.elapsed());
        owner.send(POLL, b"").await;
        assert_eq!(owner.hear().await.unwrap().status, 200);
        let guessers = site.context.guessers(16);
        assert_eq!((guessers.len(), guessers[0].wrong, guessers[0].address), (1, 9, ATTACKER.into()));
        assert_eq!(site.context.stats.now().unknown, 0);
    });
}

#[test]
fn ten_thousand_guesses_at_once_hold_no_more_than_their_share() {
    run(async {
        let site = Site::bounded(10, Caps::default()).await;
        let mut guesses = Vec::new();
        for n in 0..300 {
            let mut device = from(&site, ATTACKER).await;
            device.send(&format!("{POLL}\nAuthorization: TargetToken guess-{n}"), b"").await;
            guesses.push(device);
            if n % 50 == 0 {
                neighbour_polls(&site).await;
            }
        }
        let counts = site.context.stats.now();
        assert!(counts.unauthorized < 50 && counts.open <= 48, "most of them wait or were closed: {counts:?}");
    });
}

#[test]
fn a_clone_of_a_gateway_gets_its_share_of_bodies_and_no_more() {
    run(async {
        let site =
            Site::bounded(20_000_000, Caps { bodies: 6, own_bodies: 2, per_address: 8, ..Caps::default() }).await;
        site.fetched();
        let mut bodies = Vec::new();
        for n in 0..6 {
            let mut device = from(&site, Ipv4Addr::new(127, 0, 3, n + 1)).await;
            device.send(&format!("GET {}", site.artifact_path()), b"").await;
            bodies.push(device);
        }
        let requested = || site.events.borrow().iter().filter(|event| matches!(event, Event::Requested(..))).count();
        while requested() < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        neighbour_polls(&site).await;
        assert_eq!(requested(), 2);
    });
}

#[test]
fn a_storm_of_five_thousand_ranges_is_answered_and_bounded() {
    run(async {
        let site = Site::bounded(300_001, Caps { per_address: 8, ..Caps::default() }).await;
        site.fetched();
        let statuses = Rc::new(RefCell::new(HashSet::new()));
        let mut storms = Vec::new();
        for n in 0..8_u64 {
            let (path, statuses) = (site.artifact_path(), Rc::clone(&statuses));
            let mut device = from(&site, ATTACKER).await;
            storms.push(spawn_local(async move {
                let mut random = fastrand::Rng::with_seed(n);
                for _ in 0..625 {
                    let (first, more) = (random.u32(..300_000), random.u32(..64));
                    device.send(&format!("GET {path}\nRange: bytes={first}-{}", first + more), b"").await;
                    let heard = device.hear().await.expect("an answer");
                    statuses.borrow_mut().insert(heard.status);
                }
            }));
        }
        while !storms.iter().all(tokio::task::JoinHandle::is_finished) {
            neighbour_polls(&site).await;
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(statuses.borrow().iter().all(|status| [206, 429].contains(status)), "{statuses:?}");
        assert!(site.context.stats.now().open <= 48);
        let ended = |event: &&Event| matches!(event, Event::BodyEnded(id, ..) if *id == gateway());
        let requested = |event: &&Event| matches!(event, Event::Requested(..));
        let count = |what: &dyn Fn(&&Event) -> bool| site.events.borrow().iter().filter(|event| what(event)).count();
        while count(&ended) < count(&requested) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
}

#[test]
fn strangers_are_turned_away_counted_and_kept_only_where_the_site_asks_for_it() {
    run(async {
        let site = Site::bounded(10, Caps::default()).await;
        let knock = "GET /DEFAULT/controller/v1/newcomer\nAuthorization: TargetToken its-own";
        assert_eq!(site.ask(knock, b"").await.status, 401);
        assert_eq!((site.context.stats.now().unknown, site.context.strangers.borrow().iter().count()), (1, 0));

        site.context.strangers.replace(Strangers::new(Registration::Pending, Labels::new()));
        for head in [
            knock,
            "GET /DEFAULT/controller/v1/newcomer",
            "GET /OTHER/controller/v1/newcomer-2\nAuthorization: TargetToken its-own",
            "GET /DEFAULT/controller/v1/new%20comer\nAuthorization: TargetToken its-own",
            "GET /DEFAULT/controller/v1/newcomer-3\nAuthorization: Basic abc",
            "GET /DEFAULT/controller/v1/gw-1\nAuthorization: TargetToken its-own",
        ] {
            assert!([401, 404].contains(&site.ask(head, b"").await.status), "{head}");
        }
        let strangers = site.context.strangers.borrow();
        let known: Vec<_> = strangers.iter().map(|(id, known)| (id.to_string(), known.contested)).collect();
        // `ask` shows a token of its own where a test names none
        assert_eq!(known, [("newcomer".into(), true)]);
    });
}

#[test]
fn where_all_are_accepted_a_stranger_comes_again_and_is_in() {
    run(async {
        let site = Site::bounded(10, Caps::default()).await;
        site.context.strangers.replace(Strangers::new(Registration::Accept, Labels::new()));
        let board = Rc::clone(&site.context.board);
        site.script(move |event| {
            if let Event::Registered(newcomer, None) = event {
                let entry = Entry { token: newcomer.token, ..Entry::default() };
                board.borrow_mut().put(newcomer.controller_id.clone(), entry);
            }
            Take::Say(Verdict::Accepted)
        });
        let knock = "GET /DEFAULT/controller/v1/newcomer\nAuthorization: TargetToken its-own";
        assert_eq!(site.ask(knock, b"").await.status, 429);
        site.hears(|event| matches!(event, Event::Registered(..))).await;
        assert_eq!(site.ask(knock, b"").await.status, 200);
        let other = "GET /DEFAULT/controller/v1/newcomer\nAuthorization: TargetToken another";
        assert_eq!(site.ask(other, b"").await.status, 401);
    });
}
