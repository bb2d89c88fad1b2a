//! The site's rate for downloads: kept, shared, never too slow for a client, and no gateway's fault.

use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use lamplighter::device::{Caps, Entry};
use lamplighter::model::Event;

use super::{Device, Site, gateway, run};

async fn at_rate(length: usize, rate: u64) -> Site {
    let caps = Caps { bytes_per_second: NonZeroU64::new(rate), ..Caps::default() };
    let site = Site::start(length, caps).await;
    site.fetched();
    let offer = site.context.board.borrow().get("gw-1").unwrap().1.offer.clone();
    let entry = Entry { offer, ..site.context.board.borrow().get("gw-2").unwrap().1.clone() };
    site.context.board.borrow_mut().put("gw-2".parse().unwrap(), entry);
    site
}

async fn asks(site: &Site, gateway: &str, token: &str) -> Device {
    let mut device = site.connect().await;
    let path = site.artifact_path().replace("gw-1", gateway);
    device.send(&format!("GET {path}\nAuthorization: TargetToken {token}"), b"").await;
    device
}

fn paced_time(site: &Site) -> Duration {
    let events = site.events.borrow();
    let times = events.iter().filter_map(|event| match event {
        Event::Paced(id, time) if *id == gateway() => Some(*time),
        _ => None,
    });
    times.sum()
}

#[test]
fn a_download_takes_as_long_as_the_rate_says_and_what_it_waited_is_told() {
    run(async {
        let site = at_rate(600_000, 300_000).await;
        let begin = Instant::now();
        let answer = asks(&site, "gw-1", "s3cret").await.hear().await.unwrap();
        let took = begin.elapsed();
        assert!(answer.whole && answer.body == site.bytes);
        assert!(took >= Duration::from_millis(1_800), "2 s at the rate, and it took {took:?}");
        site.hears(|event| matches!(event, Event::BodyEnded(..))).await;
        let waited = paced_time(&site);
        assert!(waited >= took / 2 && waited <= took, "{waited:?} of {took:?}");
    });
}

#[test]
fn without_a_rate_nothing_is_told_of_waiting() {
    run(async {
        let site = Site::start(300_000, Caps::default()).await;
        site.fetched();
        assert!(asks(&site, "gw-1", "s3cret").await.hear().await.unwrap().whole);
        site.hears(|event| matches!(event, Event::BodyEnded(..))).await;
        assert!(paced_time(&site) < Duration::from_secs(1), "at most the time until it began");
    });
}

#[test]
fn two_gateways_share_the_rate_and_one_that_stops_reading_leaves_its_share() {
    run(async {
        let site = at_rate(2_000_000, 400_000).await;
        let (mut one, mut other) = (asks(&site, "gw-1", "s3cret").await, asks(&site, "gw-2", "other").await);
        let read = async |device: &mut Device| {
            _ = tokio::time::timeout(Duration::from_secs(3), device.read_to(usize::MAX)).await;
            device.pending().len()
        };
        let (first, second) = tokio::join!(read(&mut one), read(&mut other));
        assert!(first > 200_000 && first < 2 * second && second < 2 * first, "{first} and {second} bytes");
        // nobody reads the other any more: what its sockets take is soon taken, and the rest is for the first
        one.read_to(1_990_000).await;
        assert!(other.pending().len() < 1_000_000);
    });
}

#[test]
fn polls_do_not_wait_for_paced_downloads() {
    run(async {
        let site = at_rate(2_000_000, 32 << 10).await;
        let mut bodies = Vec::new();
        for _ in 0..4 {
            bodies.push(asks(&site, "gw-1", "s3cret").await);
        }
        for body in &mut bodies {
            body.read_to(1_000).await;
        }
        for _ in 0..50 {
            site.polls_well().await;
        }
        assert!(site.context.stats.now().served_bytes < 2_000_000);
    });
}

#[test]
fn b_0_7_thirty_two_bodies_at_the_lowest_rate_each_get_a_kibibyte_a_second() {
    run(async {
        let caps = Caps { bytes_per_second: NonZeroU64::new(32 << 10), own_bodies: 32, ..Caps::default() };
        let site = Site::start(1_000_000, caps).await;
        site.fetched();
        let mut bodies = Vec::new();
        for _ in 0..32 {
            bodies.push(asks(&site, "gw-1", "s3cret").await);
        }
        let begin = Instant::now();
        for body in &mut bodies {
            // beside the head
            body.read_to(3 * 1024).await;
        }
        let served = u128::from(site.context.stats.now().served_bytes);
        assert!(served <= 33 * begin.elapsed().as_millis() + 64 * 1024, "{served}");
        let behind = bodies.iter().map(|body| body.pending().len()).min().unwrap();
        assert!(behind >= 3 * 1024, "{behind}");
    });
}
