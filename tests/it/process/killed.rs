//! kill -9 between any two steps of an update: gateways see the same order, and nothing happens twice.

use super::device::{Device, Order};
use super::site::{Site, digest, firmware};
use super::wire::ALL;

/// Much larger than a part and what the kernel buffers between two processes, so that a part of it is a part of it.
const SIZE: usize = 6 << 20;
const PART: u64 = 256 << 10;

/// A moment of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    Report,
    Offer,
    Fetch,
    PartOfTheDownload,
    Download,
    Feedback,
    Update,
}

const ALL_MOMENTS: &[After] = &[
    After::Report,
    After::Offer,
    After::Fetch,
    After::PartOfTheDownload,
    After::Download,
    After::Feedback,
    After::Update,
];

/// Plays an update and kills the site at the given moments.
fn update_with_kills(at: &[After]) {
    let firmware = firmware(1, SIZE);
    let site = Site::with_one_gateway(&firmware);
    let device = Device::new(&site, "press-1");
    let kill = |now: After| {
        if at.contains(&now) {
            site.kill_and_restart();
        }
    };
    device.report("1.0.0");
    kill(After::Report);
    let offered = device.offered();
    kill(After::Offer);
    let href = device.offered();
    assert_eq!(href, offered, "the same order at the same place");
    let order = device.fetch_at(&href);
    let etag = device.etag(&order);
    kill(After::Fetch);
    same_order(&device, &order, &etag);
    let part = device.download(&order, PART);
    assert_eq!(site.step("press-1"), "Downloading");
    kill(After::PartOfTheDownload);
    same_order(&device, &order, &etag);
    let whole = device.resume(&order, &part, &etag);
    assert_eq!((digest(&whole), &order.sha256), (digest(&firmware), &digest(&firmware)));
    kill(After::Download);
    assert_eq!(site.step("press-1"), "Installing");
    same_order(&device, &order, &etag);
    assert_eq!(device.feedback(&order, "closed", "success"), 200);
    kill(After::Feedback);
    assert_eq!(site.step("press-1"), "Confirming");
    device.report("2.0.0");
    site.until_step("press-1", "Updated");
    kill(After::Update);
    assert_eq!(device.poll(), None, "nothing is offered again");
    site.until_reason("Done");
    assert_eq!(site.step("press-1"), "Updated");
    for what in ["Offered", "Fetched", "Served", "Reported", "Updated"] {
        assert_eq!(site.journalled("press-1", what), 1, "{what}");
    }
}

fn same_order(device: &Device<'_>, order: &Order, etag: &str) {
    assert_eq!(device.poll().as_ref(), Some(&order.href), "the link stays until the order is closed");
    assert_eq!(&device.fetch_at(&order.href), order);
    assert_eq!(device.etag(order), etag);
}

#[test]
fn killed_after_the_order_was_offered() {
    update_with_kills(&[After::Offer]);
}

#[test]
fn killed_after_the_order_was_fetched() {
    update_with_kills(&[After::Fetch]);
}

#[test]
fn killed_in_the_middle_of_the_download() {
    update_with_kills(&[After::PartOfTheDownload]);
}

#[test]
fn killed_after_the_last_byte() {
    update_with_kills(&[After::Download]);
}

#[test]
fn killed_after_the_feedback_was_answered() {
    update_with_kills(&[After::Feedback]);
}

#[test]
fn killed_between_any_two_steps_of_one_update() {
    update_with_kills(ALL_MOMENTS);
}

#[test]
fn killed_while_a_download_runs_the_gateway_resumes_where_its_connection_broke() {
    let firmware = firmware(2, SIZE);
    let site = Site::with_one_gateway(&firmware);
    let device = Device::new(&site, "press-1");
    device.report("1.0.0");
    let order = device.fetch();
    let etag = device.etag(&order);
    // the site dies with the connection open and the gateway still reading
    let part = device.download_through(&order, PART, || site.kill());
    assert!(part.len() < SIZE, "the connection broke with the site");
    site.start();
    assert_eq!(digest(&device.resume(&order, &part, &etag)), digest(&firmware));
    assert_eq!(device.feedback(&order, "closed", "success"), 200);
    device.report("2.0.0");
    site.until_step("press-1", "Updated");
    let again = device.send("GET", &order.artifact, &[], b"", ALL);
    assert_eq!(again.status, 404, "the order is closed");
}
