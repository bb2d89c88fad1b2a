//! Many sockets, a slow heart, and the end of the server.

use std::time::Duration;

use lamplighter::device::Caps;
use lamplighter::model::{Event, Verdict};

use super::{ID, Site, Take, run};

const CLOSED: &[u8] = br#"{"status":{"execution":"closed","result":{"finished":"failure"},"details":["no"]}}"#;

fn feedback() -> String {
    format!("POST /DEFAULT/controller/v1/gw-1/deploymentBase/{ID}/feedback")
}

#[test]
fn two_hundred_silent_sockets_do_not_stop_a_good_device() {
    run(async {
        let site = Site::start(10, Caps::default()).await;
        let mut silent = Vec::new();
        for n in 0..200 {
            let mut device = site.connect().await;
            if n % 2 == 0 {
                device.raw(b"GET /DEFAULT/contr").await;
            }
            silent.push(device);
            if n % 20 == 0 {
                site.polls_well().await;
            }
        }
        site.polls_well().await;
        let counts = site.context.stats.now();
        assert!(counts.evicted >= 150, "{counts:?}");
        silent[0].is_cut().await;
    });
}

#[test]
fn a_request_in_flight_is_never_dropped_for_a_newcomer() {
    run(async {
        let site = Site::start(10, Caps { connections: 2, ..Caps::default() }).await;
        site.script(
            |event| if matches!(event, Event::Feedback(..)) { Take::Hold } else { Take::Say(Verdict::Accepted) },
        );
        let mut waiting = site.connect().await;
        waiting.send(&feedback(), CLOSED).await;
        site.hears(|event| matches!(event, Event::Feedback(..))).await;
        for _ in 0..10 {
            site.polls_well().await;
        }
        let mut second = site.connect().await;
        second.send(&feedback(), CLOSED).await;
        let mut newcomer = site.connect().await;
        newcomer.send("GET /DEFAULT/controller/v1/gw-1", b"").await;
        let feedbacks = || site.events.borrow().iter().filter(|e| matches!(e, Event::Feedback(..))).count();
        while feedbacks() < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        site.release(Verdict::Accepted);
        assert_eq!(waiting.hear().await.unwrap().status, 200);
        assert_eq!(second.hear().await.unwrap().status, 200);
        assert_eq!(newcomer.hear().await.unwrap().status, 200, "it waited for its turn");
    });
}

#[test]
fn when_all_gateways_come_at_once_every_one_is_answered() {
    run(async {
        let site = Site::start(10, Caps::default()).await;
        let mut devices = Vec::new();
        for _ in 0..300 {
            let mut device = site.connect().await;
            device.send("GET /DEFAULT/controller/v1/gw-1", b"").await;
            devices.push(device);
        }
        for mut device in devices {
            assert_eq!(device.hear().await.expect("an answer").status, 200);
        }
    });
}

#[test]
fn b_0_1_a_heart_that_hangs_or_lost_its_commit_is_429_and_polls_go_on() {
    run(async {
        let site = Site::start(10, Caps { verdict: Duration::from_millis(50), ..Caps::default() }).await;
        for take in [|| Take::Drop, || Take::Hold] {
            site.script(move |_| take());
            let answer = site.ask(&feedback(), CLOSED).await;
            assert_eq!((answer.status, answer.headers.contains_key("retry-after")), (429, true));
            let fetch = format!("GET /DEFAULT/controller/v1/gw-1/deploymentBase/{ID}");
            assert_eq!(site.ask(&fetch, b"").await.status, 429);
            let put = "PUT /DEFAULT/controller/v1/gw-1/configData";
            assert_eq!(site.ask(put, b"{\"data\":{}}").await.status, 429);
            site.polls_well().await;
        }
        assert!(site.excused());
        assert_eq!(site.context.stats.now().busy, 6);
    });
}

#[test]
fn feedback_is_answered_only_after_its_commit() {
    run(async {
        let site = Site::start(10, Caps::default()).await;
        site.script(
            |event| if matches!(event, Event::Feedback(..)) { Take::Hold } else { Take::Say(Verdict::Accepted) },
        );
        let mut device = site.connect().await;
        device.send(&feedback(), CLOSED).await;
        site.hears(|event| matches!(event, Event::Feedback(..))).await;
        let early = tokio::time::timeout(Duration::from_millis(50), device.read_to(1)).await;
        assert!(early.is_err());
        site.release(Verdict::AlreadyClosed);
        assert_eq!(device.hear().await.unwrap().status, 200);
    });
}

#[test]
fn at_the_end_requests_under_way_are_answered_and_everything_is_closed() {
    run(async {
        let site = Site::start(10, Caps::default()).await;
        site.script(
            |event| if matches!(event, Event::Feedback(..)) { Take::Hold } else { Take::Say(Verdict::Accepted) },
        );
        let (mut idle, mut busy) = (site.connect().await, site.connect().await);
        idle.send("GET /DEFAULT/controller/v1/gw-1", b"").await;
        assert_eq!(idle.hear().await.unwrap().status, 200);
        busy.send(&feedback(), CLOSED).await;
        site.hears(|event| matches!(event, Event::Feedback(..))).await;
        site.stop();
        idle.is_cut().await;
        site.release(Verdict::Accepted);
        assert_eq!(busy.hear().await.unwrap().status, 200);
        busy.is_cut().await;
        site.served.take().unwrap().await.unwrap();
        assert!(tokio::net::TcpStream::connect(site.at).await.is_err());
        assert_eq!(site.context.stats.now().open, 0);
    });
}

#[test]
fn the_share_of_an_address_and_the_connections_of_all_change_while_the_server_runs() {
    run(async {
        let site = Site::bounded(10, Caps { connections: 2, per_address: 1, ..Caps::default() }).await;
        site.script(
            |event| if matches!(event, Event::Feedback(..)) { Take::Hold } else { Take::Say(Verdict::Accepted) },
        );
        let mut devices = Vec::new();
        for _ in 0..3 {
            let mut device = site.connect().await;
            device.send(&feedback(), CLOSED).await;
            devices.push(device);
        }
        let feedbacks = || site.events.borrow().iter().filter(|e| matches!(e, Event::Feedback(..))).count();
        while feedbacks() < 1 || site.context.stats.now().accepted < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(feedbacks(), 1, "its share is one, and the others wait");
        site.context.limit(3, 3, None);
        while feedbacks() < 3 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        site.release(Verdict::Accepted);
        for device in &mut devices {
            assert_eq!(device.hear().await.unwrap().status, 200);
        }
        site.context.limit(3, 1, None);
        site.polls_well().await;
    });
}
