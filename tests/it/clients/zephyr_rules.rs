//! The rules of b.10, with Zephyr's models, old and new.

use std::time::Duration;

use lamplighter::engine::Step;
use lamplighter::model::*;

use super::wire::{GATEWAY, Wire};
use super::zephyr::{Tree, Zephyr};
use crate::engine::site::minutes;

const TREES: [Tree; 3] = [Tree::Old, Tree::Smf, Tree::SavesProgress];

fn still_lives(zephyr: &mut Zephyr, wire: &mut Wire) {
    wire.order("3", |_| {});
    zephyr.run(wire, minutes(90));
    assert_eq!(zephyr.runs, "3", "Zephyr is locked up: {:?}", wire.passed);
}

#[test]
fn b_10_1_to_10_7_a_normal_update_of_each_tree() {
    for tree in TREES {
        let mut wire = Wire::with_order(|_| {});
        let mut zephyr = Zephyr::new(tree);
        zephyr.run(&mut wire, minutes(10));
        assert_eq!((zephyr.installs.len(), wire.step()), (1, Step::Updated), "{tree:?} {:?}", wire.passed);
        assert!(wire.passed.iter().all(|line| line.ends_with(" 200")), "{:?}", wire.passed);
        assert_eq!(wire.site.core.state().gateways[GATEWAY].client, Client::Zephyr, "known by its VIN");
        still_lives(&mut zephyr, &mut wire);
    }
}

#[test]
fn b_10_2_progress_that_was_saved_is_resumed_with_206_and_content_range() {
    let mut wire = Wire::with_order(|_| {});
    let mut zephyr = Zephyr::new(Tree::SavesProgress);
    zephyr.resets = vec![40_000, 10_000];
    zephyr.run(&mut wire, minutes(15));
    let gets: Vec<_> = wire.passed.iter().filter(|line| line.contains("/artifacts/")).collect();
    assert_eq!(gets.iter().filter(|line| line.ends_with("206")).count(), 2, "{gets:?}");
    assert_eq!((zephyr.installs.len(), wire.step()), (1, Step::Updated));
}

#[test]
fn b_10_2_a_tree_without_ranges_starts_over() {
    let mut wire = Wire::with_order(|_| {});
    let mut zephyr = Zephyr::new(Tree::Old);
    zephyr.resets = vec![10_000];
    zephyr.run(&mut wire, minutes(15));
    assert_eq!((zephyr.installs.len(), wire.step()), (1, Step::Updated));
}

#[test]
fn b_10_6_attributes_are_asked_for_once_per_run_also_while_a_version_is_awaited() {
    // under ReportedVersion a gateway that never reports one is asked again and again
    let mut wire = Wire::with_order(|spec| spec.confirm_by = ConfirmBy::ReportedVersion);
    let mut zephyr = Zephyr::new(Tree::Smf);
    zephyr.run(&mut wire, minutes(120));
    assert_eq!((zephyr.installs.len(), wire.step()), (1, Step::Failed(FailedReason::NoFeedback)));
}

#[test]
fn b_10_8_a_cancelled_download_is_dropped_by_the_right_id() {
    for tree in TREES {
        let mut wire = Wire::with_order(|_| {});
        let mut zephyr = Zephyr::new(tree);
        zephyr.resets = vec![10_000];
        while wire.step() != Step::Downloading {
            zephyr.poll(&mut wire);
            wire.wait(Duration::from_secs(1));
        }
        let id = wire.site.order(GATEWAY).get();
        wire.cancel();
        zephyr.run(&mut wire, minutes(3));
        assert_eq!(zephyr.dropped, [id], "{tree:?}");
        assert_eq!(wire.step(), Step::Skipped(SkippedReason::Cancelled));
        assert!(zephyr.installs.is_empty());
        still_lives(&mut zephyr, &mut wire);
    }
}

#[test]
fn b_10_8_what_is_flashed_already_is_not_dropped_and_its_success_counts() {
    let mut wire = Wire::with_order(|_| {});
    let mut zephyr = Zephyr::new(Tree::Smf);
    wire.busy = 0;
    while wire.step() != Step::Installing {
        zephyr.resets = vec![];
        zephyr.failures = 1;
        zephyr.poll(&mut wire);
        wire.wait(Duration::from_secs(1));
    }
    wire.cancel();
    zephyr.run(&mut wire, minutes(10));
    assert_eq!((wire.step(), zephyr.dropped.len()), (Step::Updated, 0), "from Installing on it goes to its end");
}

#[test]
fn b_10_9_a_failure_that_nobody_hears_of_ends_by_deadline_and_is_tried_again_by_itself() {
    let mut wire = Wire::with_order(|_| {});
    let mut zephyr = Zephyr::new(Tree::Old);
    zephyr.failures = 2;
    zephyr.run(&mut wire, minutes(10));
    assert_eq!((zephyr.installs.len(), wire.step()), (1, Step::Updated));
    let mut wire = Wire::with_order(|spec| spec.max_bytes = Some(u64::MAX));
    let mut zephyr = Zephyr::new(Tree::Old);
    zephyr.failures = usize::MAX;
    zephyr.run(&mut wire, minutes(240));
    assert_eq!(wire.step(), Step::Failed(FailedReason::NoFeedback), "the server notices (b.10.9)");
    zephyr.failures = 0;
    still_lives(&mut zephyr, &mut wire);
}

#[test]
fn b_10_9_success_is_said_while_the_offered_id_is_the_one_it_flashed() {
    let mut wire = Wire::with_order(|_| {});
    let mut zephyr = Zephyr::new(Tree::Smf);
    // from an earlier life: an id that it believes to have flashed, and never downloaded from us
    zephyr.stored = wire.site.core.state().site.action_next.get();
    zephyr.run(&mut wire, minutes(10));
    assert_eq!((zephyr.installs.len(), wire.step()), (1, Step::Updated), "offered again under a new id");
}

#[test]
fn b_10_10_there_is_no_confirmation_to_wait_for() {
    let mut wire = Wire::with_order(|_| {});
    for _ in 0..3 {
        let root = wire.send("GET", super::wire::ROOT, &[], b"").json();
        assert!(root["_links"]["confirmationBase"].is_null());
        wire.wait(minutes(1));
    }
    assert_eq!(wire.send("GET", &format!("{}/confirmationBase", super::wire::ROOT), &[], b"").status, 404);
}

#[test]
fn b_10_11_a_success_is_one_poll_of_one_gateway_and_the_wave_still_soaks() {
    let mut wire = Wire::with_order(|_| {});
    let mut zephyr = Zephyr::new(Tree::Old);
    while wire.step() != Step::Updated {
        zephyr.poll(&mut wire);
        wire.wait(Duration::from_secs(5));
    }
    assert!(wire.site.main().ready_at.is_none());
    zephyr.run(&mut wire, minutes(12));
    assert!(wire.site.main().ready_at.is_some());
}
