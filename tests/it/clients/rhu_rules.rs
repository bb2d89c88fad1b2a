//! The rules of b.8, with rauc-hawkbit-updater's model.

use std::time::Duration;

use lamplighter::engine::Step;
use lamplighter::model::*;

use super::rhu::{Mode, Rhu};
use super::wire::{GATEWAY, Wire};
use crate::engine::site::{SOAK, minutes};

/// Whatever it went through, it can still be updated to the next version.
fn still_lives(rhu: &mut Rhu, wire: &mut Wire) {
    wire.order("3", |_| {});
    rhu.run(wire, minutes(60));
    assert_eq!(rhu.runs, "3", "rhu is locked up: {:?}", wire.passed);
}

fn updated(mode: Mode, cuts: Vec<usize>) -> (Rhu, Wire) {
    let mut wire = Wire::with_order(|_| {});
    let mut rhu = Rhu::new(mode).with(|rhu| rhu.cuts = cuts);
    rhu.run(&mut wire, minutes(15));
    assert_eq!((rhu.installs.len(), wire.step()), (1, Step::Updated), "{:?}", wire.passed);
    (rhu, wire)
}

#[test]
fn b_8_1_to_8_6_and_8_8_a_normal_update() {
    let (mut rhu, mut wire) = updated(Mode::Downloads, vec![]);
    let words: Vec<_> = wire.passed.iter().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(words[..6], ["PUT", "GET", "GET", "POST", "POST", "POST"], "{:?}", wire.passed);
    assert!(wire.passed.iter().all(|line| line.ends_with(" 200")), "only 200 counts (b.8.2): {:?}", wire.passed);
    still_lives(&mut rhu, &mut wire);
}

#[test]
fn b_8_2_words_are_repeated_on_429_and_a_get_that_fails_keeps_it_away() {
    let mut wire = Wire::with_order(|_| {});
    let mut rhu = Rhu::new(Mode::Downloads);
    for minute in 0..30 {
        wire.busy = usize::from(minute % 3 == 0) * 2;
        rhu.run(&mut wire, minutes(1));
    }
    assert_eq!((rhu.installs.len(), wire.step()), (1, Step::Updated), "{:?}", wire.passed);
}

#[test]
fn b_8_3_staying_away_for_five_minutes_after_an_error_is_not_silence() {
    let mut wire = Wire::with_order(|_| {});
    let mut rhu = Rhu::new(Mode::Downloads);
    rhu.run(&mut wire, Duration::from_secs(2));
    wire.busy = 1;
    rhu.run(&mut wire, minutes(5));
    assert_ne!(wire.site.core.state().gateways[GATEWAY].presence, Presence::Offline);
    rhu.run(&mut wire, minutes(15));
    assert_eq!(wire.step(), Step::Updated);
}

#[test]
fn b_8_7_a_whole_file_is_answered_416_and_installs() {
    let mut wire = Wire::with_order(|_| {});
    let mut rhu = Rhu::new(Mode::Resumes).with(|rhu| rhu.failures = 1);
    rhu.run(&mut wire, minutes(20));
    assert_eq!((rhu.installs.len(), wire.step()), (1, Step::Updated), "{:?}", wire.passed);
    assert!(wire.passed.iter().any(|line| line.ends_with(" 416")), "{:?}", wire.passed);
}

#[test]
fn b_8_8_success_is_said_before_the_reboot_and_old_attributes_come_after_it() {
    let mut wire = Wire::with_order(|_| {});
    let mut rhu = Rhu::new(Mode::Downloads).with(|rhu| rhu.old_attributes_for = 600);
    rhu.run(&mut wire, minutes(8));
    assert_eq!(wire.step(), Step::Confirming, "the old version proves nothing yet");
    rhu.run(&mut wire, minutes(10));
    assert_eq!((wire.step(), rhu.installs.len()), (Step::Updated, 1));
    still_lives(&mut rhu, &mut wire);
}

#[test]
fn b_8_8_without_a_version_the_word_counts_once_it_is_back_from_its_reboot() {
    let mut wire = Wire::with_order(|_| {});
    let mut rhu = Rhu::new(Mode::Downloads).with(|rhu| rhu.reports = false);
    rhu.run(&mut wire, minutes(3));
    assert_eq!(wire.step(), Step::Confirming);
    rhu.run(&mut wire, minutes(10));
    assert_eq!(wire.step(), Step::Updated);
}

#[test]
fn b_8_9_cancelled_while_it_downloads() {
    let mut wire = Wire::with_order(|_| {});
    let mut rhu = Rhu::new(Mode::Downloads);
    while wire.step() != Step::Downloading {
        rhu.run(&mut wire, Duration::from_secs(1));
    }
    wire.cancel();
    rhu.run(&mut wire, Duration::from_secs(30));
    assert_eq!(wire.step(), Step::Skipped(SkippedReason::Cancelled), "{:?}", wire.passed);
    assert!(rhu.installs.is_empty() && rhu.is_idle());
    assert!(wire.passed.iter().any(|line| line.starts_with("GET /cancelAction/0") && line.ends_with(" 200")));
    still_lives(&mut rhu, &mut wire);
}

#[test]
fn b_8_9_cancelled_before_it_polls_again_and_while_it_installs() {
    let mut wire = Wire::with_order(|_| {});
    wire.site.seen(GATEWAY);
    wire.cancel();
    let mut rhu = Rhu::new(Mode::Downloads);
    rhu.run(&mut wire, minutes(5));
    assert!(rhu.installs.is_empty(), "an offer that nobody fetched is gone");

    let mut wire = Wire::with_order(|_| {});
    let mut rhu = Rhu::new(Mode::Downloads);
    while wire.step() != Step::Installing {
        rhu.run(&mut wire, Duration::from_secs(1));
    }
    wire.cancel();
    rhu.run(&mut wire, minutes(20));
    assert_eq!((wire.step(), rhu.installs.len()), (Step::Updated, 1), "it goes on to its end");
    still_lives(&mut rhu, &mut wire);
}

#[test]
fn b_8_9_a_streaming_rhu_refuses_and_its_success_counts() {
    let mut wire = Wire::with_order(|_| {});
    let mut rhu = Rhu::new(Mode::Streams);
    while wire.step() != Step::Installing {
        rhu.run(&mut wire, Duration::from_secs(1));
    }
    wire.cancel();
    rhu.run(&mut wire, minutes(20));
    assert_eq!((wire.step(), rhu.installs.len()), (Step::Updated, 1), "{:?}", wire.passed);
}

#[test]
fn b_8_10_a_broken_download_is_resumed_with_206() {
    let (rhu, wire) = updated(Mode::Resumes, vec![40_000, 20_000, 5_000]);
    let gets = |status: &str| wire.passed.iter().filter(|l| l.contains("/artifacts/") && l.ends_with(status)).count();
    assert_eq!((gets("200"), gets("206")), (1, 3), "{:?}", wire.passed);
    assert_eq!(rhu.installs, ["2"]);
}

#[test]
fn b_8_10_without_resuming_a_broken_download_is_a_failed_attempt_and_is_tried_again() {
    let (rhu, wire) = updated(Mode::Downloads, vec![20_000]);
    assert_eq!(wire.site.member(GATEWAY).attempts, 1);
    assert_eq!(rhu.installs, ["2"]);
}

#[test]
fn b_8_11_streaming_is_an_update_of_small_ranges() {
    let (mut rhu, mut wire) = updated(Mode::Streams, vec![]);
    wire.wait(SOAK);
    still_lives(&mut rhu, &mut wire);
    assert_eq!(rhu.installs, ["2", "3"]);
}
