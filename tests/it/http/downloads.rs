//! Artifacts over the wire: exact bytes, and nothing said that is not committed.

use std::cell::Cell;
use std::time::Duration;

use lamplighter::device::{Caps, Entry};
use lamplighter::model::{Bytes, Event, Verdict};

use super::{Site, Take, gateway, run};

const SIZE: usize = 300_001;

async fn fetched(caps: Caps) -> Site {
    // a whole artifact fits into the sockets, so that nobody need read it for its last byte to be about to leave
    let site = Site::start(SIZE, Caps { send_buffer: 1 << 20, ..caps }).await;
    site.fetched();
    site
}

fn facts(site: &Site) -> Vec<Event> {
    site.events.borrow().iter().filter(|event| !matches!(event, Event::Seen(_))).cloned().collect()
}

#[test]
fn a_whole_artifact_is_requested_served_and_ended() {
    run(async {
        let site = fetched(Caps::default()).await;
        let answer = site.ask(&format!("GET {}", site.artifact_path()), b"").await;
        assert_eq!((answer.status, answer.whole), (200, true));
        assert!(answer.body == site.bytes);
        let ended = Event::BodyEnded(gateway(), site.digest(), site.bytes.len() as u64);
        site.hears(|event| *event == ended).await;
        let requested = Event::Requested(gateway(), site.digest(), Bytes::Some);
        assert_eq!(facts(&site), [requested, Event::Served(gateway(), site.digest()), ended]);
        assert_eq!(site.context.stats.now().served_bytes, SIZE as u64);
    });
}

#[test]
fn b_6_ranges_give_exactly_their_bytes_on_one_connection() {
    run(async {
        let site = fetched(Caps::default()).await;
        let mut device = site.connect().await;
        for (range, first, last) in [
            ("0-0", 0, 0),
            ("1-99999", 1, 99_999),
            ("300000-", SIZE - 1, SIZE - 1),
            ("-7", SIZE - 7, SIZE - 1),
            ("32768-65535", 32_768, 65_535),
        ] {
            device.send(&format!("GET {}\nRange: bytes={range}", site.artifact_path()), b"").await;
            let answer = device.hear().await.unwrap();
            assert_eq!((answer.status, answer.whole), (206, true), "{range}");
            assert!(answer.body == site.bytes[first..=last], "{range}");
            assert_eq!(answer.headers["content-range"], format!("bytes {first}-{last}/{SIZE}"));
        }
        let etag = {
            device.send(&format!("HEAD {}", site.artifact_path()), b"").await;
            let head = device.hear_head().await.unwrap();
            assert_eq!((head.status, head.headers["content-length"].as_str()), (200, "300001"));
            head.headers["etag"].clone()
        };
        device.send(&format!("GET {}\nRange: bytes=5-9\nIf-Range: {etag}", site.artifact_path()), b"").await;
        assert_eq!(device.hear().await.unwrap().status, 206);
        device.send(&format!("GET {}\nRange: bytes=5-9\nIf-Range: \"other\"", site.artifact_path()), b"").await;
        let whole = device.hear().await.unwrap();
        assert_eq!((whole.status, whole.body.len()), (200, SIZE));
        device.send(&format!("GET {}\nRange: bytes=300001-", site.artifact_path()), b"").await;
        let beyond = device.hear().await.unwrap();
        assert_eq!((beyond.status, beyond.headers["content-range"].as_str()), (416, "bytes */300001"));
        let served = facts(&site).into_iter().filter(|event| matches!(event, Event::Served(..))).count();
        assert_eq!(served, 3, "only bodies with the last byte serve the artifact");
        assert_eq!(facts(&site).last(), Some(&Event::Requested(gateway(), site.digest(), Bytes::None)));
        assert_eq!(site.context.stats.now().accepted, 1);
    });
}

#[test]
fn the_last_byte_is_held_back_until_that_it_was_served_is_committed() {
    run(async {
        let caps = Caps::default();
        let site = fetched(caps).await;
        site.script(|event| if matches!(event, Event::Served(..)) { Take::Hold } else { Take::Say(Verdict::Accepted) });
        let mut device = site.connect().await;
        device.send(&format!("GET {}", site.artifact_path()), b"").await;
        site.hears(|event| matches!(event, Event::Served(..))).await;
        device.read_to(SIZE - SIZE % caps.piece).await;
        let waited = tokio::time::timeout(Duration::from_millis(100), device.read_to(usize::MAX)).await;
        assert!(waited.is_err(), "it is still waiting");
        assert!(!device.pending().ends_with(&site.bytes[SIZE - 1000..]));
        site.release(Verdict::Accepted);
        let answer = device.hear().await.unwrap();
        assert!(answer.whole && answer.body == site.bytes);
    });
}

#[test]
fn no_byte_leaves_before_the_request_is_committed() {
    run(async {
        let site = fetched(Caps::default()).await;
        site.script(
            |event| if matches!(event, Event::Requested(..)) { Take::Hold } else { Take::Say(Verdict::Accepted) },
        );
        let mut device = site.connect().await;
        device.send(&format!("GET {}", site.artifact_path()), b"").await;
        site.hears(|event| matches!(event, Event::Requested(..))).await;
        assert_eq!(site.context.stats.now().served_bytes, 0);
        site.release(Verdict::Withdrawn);
        assert_eq!(device.hear().await.unwrap().status, 404);
    });
}

#[test]
fn a_body_ends_for_the_heart_exactly_if_the_heart_let_it_begin() {
    run(async {
        let site = fetched(Caps::default()).await;
        let ended = || facts(&site).iter().filter(|event| matches!(event, Event::BodyEnded(..))).count();
        let requested = || facts(&site).iter().filter(|event| matches!(event, Event::Requested(..))).count();
        let path = format!("GET {}", site.artifact_path());
        site.script(|event| match event {
            Event::Requested(..) => Take::Say(Verdict::Withdrawn),
            _ => Take::Say(Verdict::Accepted),
        });
        assert_eq!(site.ask(&path, b"").await.status, 404);
        site.script(|_| Take::Drop);
        assert_eq!(site.ask(&path, b"").await.status, 429);

        // it hangs up before the word that it may begin
        site.script(
            |event| if matches!(event, Event::Requested(..)) { Take::Hold } else { Take::Say(Verdict::Accepted) },
        );
        let mut impatient = site.connect().await;
        impatient.send(&path, b"").await;
        while requested() < 3 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        drop(impatient);
        while site.context.stats.now().open > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(ended(), 0);
        site.release(Verdict::Deploy);
        site.hears(|event| matches!(event, Event::BodyEnded(_, _, 0))).await;
        assert_eq!(ended(), 1);
    });
}

#[test]
fn a_lost_commit_is_429_before_the_first_byte_and_a_cut_after_it() {
    run(async {
        let site = fetched(Caps::default()).await;
        let path = format!("GET {}", site.artifact_path());
        site.script(|_| Take::Drop);
        assert_eq!(site.ask(&path, b"").await.status, 429);
        site.context.presence.borrow_mut().fetched(&gateway());
        site.script(|event| if matches!(event, Event::Served(..)) { Take::Drop } else { Take::Say(Verdict::Accepted) });
        let answer = site.ask(&path, b"").await;
        assert_eq!((answer.status, answer.whole), (200, false), "cut, so that the device resumes");
        assert!(site.excused());
        site.hears(|event| matches!(event, Event::BodyEnded(..))).await;
        site.script(|_| Take::Say(Verdict::Accepted));
        let rest = site.ask(&format!("{path}\nRange: bytes={}-", answer.body.len()), b"").await;
        assert!([answer.body, rest.body].concat() == site.bytes, "and it can");
    });
}

#[test]
fn a_cached_file_that_is_short_or_gone_cuts_the_body_and_pads_nothing() {
    run(async {
        let site = fetched(Caps { piece: 64 * 1024, ..Caps::default() }).await;
        std::fs::write(&site.file, &site.bytes[..100_000]).unwrap();
        let answer = site.ask(&format!("GET {}", site.artifact_path()), b"").await;
        assert_eq!((answer.status, answer.whole), (200, false));
        assert!(site.bytes[..100_000].starts_with(&answer.body));
        assert!(site.excused());
        assert_eq!((site.context.stats.now().broken, site.unreadable.borrow().len()), (1, 1));
        assert!(!facts(&site).iter().any(|event| matches!(event, Event::Served(..))));
    });
}

#[test]
fn b_0_7_an_artifact_that_is_being_repaired_holds_the_request() {
    run(async {
        let site = fetched(Caps { repair: Duration::from_millis(200), ..Caps::default() }).await;
        let path = format!("GET {}", site.artifact_path());
        site.ready.set(false);
        assert_eq!(site.ask(&path, b"").await.status, 429);
        assert!(site.excused());
        assert!(facts(&site).is_empty(), "nothing was asked for in vain");
        let site = fetched(Caps::default()).await;
        site.ready.set(false);
        let mut device = site.connect().await;
        device.send(&path, b"").await;
        while site.context.presence.borrow().last_poll("gw-1").is_none() {
            site.polls_well().await;
        }
        site.ready.set(true);
        assert_eq!(device.hear().await.unwrap().status, 200);
    });
}

#[test]
fn a_device_that_hangs_up_or_stops_reading_ends_its_body() {
    run(async {
        let site = Site::start(20_000_000, Caps { stall: Duration::from_millis(50), ..Caps::default() }).await;
        site.fetched();
        let ended = |site: &Site| facts(site).iter().filter(|e| matches!(e, Event::BodyEnded(..))).count();
        let mut gone = site.connect().await;
        gone.send(&format!("GET {}", site.artifact_path()), b"").await;
        gone.read_to(1000).await;
        drop(gone);
        site.hears(|event| matches!(event, Event::BodyEnded(..))).await;
        let mut asleep = site.connect().await;
        asleep.send(&format!("GET {}", site.artifact_path()), b"").await;
        while ended(&site) < 2 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(!site.excused(), "that was no fault of ours");
        assert!(!facts(&site).iter().any(|event| matches!(event, Event::Served(..))));
    });
}

#[test]
fn the_last_byte_of_an_order_that_was_withdrawn_meanwhile_never_leaves() {
    run(async {
        let site = fetched(Caps::default()).await;
        site.script(|event| {
            Take::Say(if matches!(event, Event::Served(..)) { Verdict::Withdrawn } else { Verdict::Accepted })
        });
        let answer = site.ask(&format!("GET {}", site.artifact_path()), b"").await;
        assert_eq!((answer.status, answer.whole), (200, false));
        assert!(answer.body.len() < SIZE && site.excused());
    });
}

#[test]
fn bodies_beyond_the_cap_wait_and_polls_do_not() {
    run(async {
        let site = fetched(Caps { bodies: 1, waiting: 1, ..Caps::default() }).await;
        let path = format!("GET {}", site.artifact_path());
        site.script(|event| if matches!(event, Event::Served(..)) { Take::Hold } else { Take::Say(Verdict::Accepted) });
        let (mut first, mut second) = (site.connect().await, site.connect().await);
        first.send(&path, b"").await;
        site.hears(|event| matches!(event, Event::Served(..))).await;
        second.send(&path, b"").await;
        let refused = Cell::new(0);
        while refused.get() == 0 {
            site.polls_well().await;
            let mut third = site.connect().await;
            third.send(&path, b"").await;
            let answer = tokio::time::timeout(Duration::from_millis(50), third.hear()).await;
            refused.set(answer.ok().flatten().map_or(0, |answer| answer.status));
        }
        assert_eq!(refused.get(), 429);
        site.script(|_| Take::Say(Verdict::Accepted));
        site.release(Verdict::Accepted);
        assert!(first.hear().await.unwrap().whole);
        assert!(second.hear().await.unwrap().whole);
    });
}

#[test]
fn a_gateway_that_asks_over_and_over_leaves_bodies_for_the_others() {
    run(async {
        let site = fetched(Caps { bodies: 3, own_bodies: 2, waiting: 1, ..Caps::default() }).await;
        let offer = site.context.board.borrow().get("gw-1").unwrap().1.offer.clone();
        let entry = Entry { offer, ..site.context.board.borrow().get("gw-2").unwrap().1.clone() };
        site.context.board.borrow_mut().put("gw-2".parse().unwrap(), entry);
        let own = |event: &Event| matches!(event, Event::Served(id, _) if *id == gateway());
        site.script(move |event| if own(event) { Take::Hold } else { Take::Say(Verdict::Accepted) });
        let path = format!("GET {}", site.artifact_path());

        let (mut first, mut second, mut third) = (site.connect().await, site.connect().await, site.connect().await);
        first.send(&path, b"").await;
        second.send(&path, b"").await;
        let held = || site.events.borrow().iter().filter(|event| own(event)).count();
        while held() < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        third.send(&path, b"").await;
        let other = path.replace("gw-1", "gw-2") + "\nAuthorization: TargetToken other";
        let answer = site.ask(&other, b"").await;
        assert_eq!((answer.status, answer.whole), (200, true));

        site.script(|_| Take::Say(Verdict::Accepted));
        site.release(Verdict::Accepted);
        for device in [&mut first, &mut second, &mut third] {
            assert!(device.hear().await.unwrap().whole, "it waited for its turn");
        }
    });
}

#[test]
fn a_device_that_takes_little_at_a_time_is_slow_and_not_stalled() {
    run(async {
        let stall = Duration::from_secs(1);
        let site = Site::start(20_000_000, Caps { stall, ..Caps::default() }).await;
        site.fetched();
        let mut slow = site.connect().await;
        slow.send(&format!("GET {}", site.artifact_path()), b"").await;
        // the first bytes let the kernel's buffers grow as far as they will
        slow.read_to(8_000_000).await;
        let begin = std::time::Instant::now();
        for at in 0..150 {
            slow.read_to(8_000_000 + at * 16_384).await;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert!(begin.elapsed() > 2 * stall);
        assert!(!facts(&site).iter().any(|event| matches!(event, Event::BodyEnded(..))));
    });
}

#[test]
fn a_slow_reader_on_a_kept_connection_gets_every_byte_between_polls_and_heads() {
    run(async {
        let length = 3_000_001;
        let site = Site::start(length, Caps { piece: 100_000, send_buffer: 8 * 1024, ..Caps::default() }).await;
        site.fetched();
        let mut device = site.connect().await;
        for first in [0, 1, 1_234_567, length - 1] {
            device.send(&format!("HEAD {}", site.artifact_path()), b"").await;
            assert_eq!(device.hear_head().await.unwrap().headers["content-length"], length.to_string());
            device.send(&format!("GET {}\nRange: bytes={first}-", site.artifact_path()), b"").await;
            for at in 1..20 {
                device.read_to((length - first).min(at * 10_000)).await;
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            let answer = device.hear().await.unwrap();
            assert!(answer.whole && answer.body == site.bytes[first..], "from {first}");
            device.send("GET /DEFAULT/controller/v1/gw-1", b"").await;
            assert_eq!(device.hear().await.unwrap().status, 200);
        }
        assert_eq!(site.context.stats.now().accepted, 1);
    });
}

#[test]
fn a_cached_file_that_cannot_be_read_is_told_and_costs_the_gateway_nothing() {
    run(async {
        let site = fetched(Caps::default()).await;
        // its first byte is an input/output error, as on a disk with a bad sector
        std::fs::remove_file(&site.file).unwrap();
        std::os::unix::fs::symlink("/proc/self/mem", &site.file).unwrap();
        let mut device = site.connect().await;
        device.send(&format!("GET {}", site.artifact_path()), b"").await;
        // whether the head still leaves before the disk has failed is up to the disk
        if let Some(answer) = device.hear().await {
            assert_eq!((answer.status, answer.whole, answer.body.len()), (200, false, 0));
        }
        assert!(site.excused());
        assert_eq!(site.unreadable.borrow().len(), 1, "it is to be verified, and fetched again");
    });
}
