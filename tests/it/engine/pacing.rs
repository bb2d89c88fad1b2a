//! A gateway's deadline stands still while the site keeps its bytes back.

use std::time::Duration;

use lamplighter::model::*;

use super::site::*;
use lamplighter::engine::Step;

fn paced(site: &mut Site, minutes_waited: u64) {
    site.happens(Event::Paced(id("g1"), minutes(minutes_waited)));
    assert!(site.last.is_empty(), "it is kept in memory");
}

#[test]
fn the_download_deadline_stands_still_while_the_site_paces() {
    let mut site = Site::rolling(1, |_| {});
    site.fetch("g1");
    site.request("g1", Bytes::Some);
    site.wait(minutes(60));
    paced(&mut site, 30);
    paced(&mut site, 10);
    site.wait(minutes(99));
    assert_eq!((site.at("g1"), site.member("g1").attempts), (Step::Downloading, 0));
    site.wait(minutes(1));
    assert_eq!(site.member("g1").attempts, 1, "two hours and forty minutes, of which forty were ours");
}

#[test]
fn what_was_added_once_is_not_added_again_and_a_restart_keeps_it() {
    let mut site = Site::rolling(1, |_| {});
    site.fetch("g1");
    site.request("g1", Bytes::Some);
    paced(&mut site, 30);
    site.wait(minutes(121));
    site.restart();
    site.list();
    site.wait(minutes(28));
    assert_eq!(site.at("g1"), Step::Downloading);
    site.wait(minutes(1));
    assert_ne!(site.at("g1"), Step::Downloading);
}

#[test]
fn what_a_download_waited_is_nothing_to_the_install_or_to_the_next_order() {
    let mut site = Site::rolling(1, |_| {});
    site.fetch("g1");
    site.request("g1", Bytes::Some);
    paced(&mut site, 300);
    site.served("g1");
    site.wait(minutes(60));
    assert_eq!(site.at("g1"), Step::Confirming, "its hour for the installation is over");

    let mut site = Site::rolling(1, |_| {});
    site.fetch("g1");
    paced(&mut site, 300);
    site.fail("g1");
    site.wait(minutes(1));
    site.fetch("g1");
    site.wait(minutes(120) - Duration::from_secs(1));
    assert_eq!(site.at("g1"), Step::Downloading);
    site.wait(Duration::from_secs(1));
    assert_ne!(site.at("g1"), Step::Downloading);
}
