//! The site falls silent: nothing is held against anybody until those come back that nobody was updating.

use std::time::Duration;

use lamplighter::engine::{Phase, Step};
use lamplighter::model::*;

use super::site::*;

const SILENT: Step = Step::Waiting(WaitingReason::SiteSilent);
const OFFLINE: Step = Step::Waiting(WaitingReason::Offline);
const DAY: Duration = Duration::from_secs(24 * 3_600);

/// They stop polling, one after the other within an interval.
fn switch_off(site: &mut Site, gateways: &[String]) {
    let pause = INTERVAL / u32::try_from(gateways.len()).unwrap();
    for gateway in gateways {
        site.quiet(gateway);
        site.wait(pause);
    }
}

fn go_offline(site: &mut Site, gateways: &[String]) {
    for gateway in gateways {
        site.happens(Event::Offline(id(gateway)));
    }
}

fn come_back(site: &mut Site, gateways: &[String]) {
    for gateway in gateways {
        site.seen(gateway);
    }
}

/// Thirty gateways, the canary of which is done and five of the rest of which have their orders in hand; the second wave
/// is of those five.
fn hall() -> (Site, Vec<String>, Vec<String>) {
    let mut site = Site::rolling_on(30, |spec| {
        let five = WaveSpec { size: Amount::Count(5), ..WaveSpec::CANARY };
        spec.strategy.waves = vec![WaveSpec::CANARY, five];
        spec.strategy.max_failures = Amount::Count(1);
    });
    let mut in_hand = site.rest();
    let control = in_hand.split_off(5);
    for gateway in &in_hand {
        site.download(gateway);
    }
    (site, in_hand, control)
}

fn silent(site: &Site) -> bool {
    site.core.state().site.silence.is_some()
}

#[test]
fn a_dead_switch_fails_nobody_and_offers_nothing_and_then_everything_goes_on() {
    let (mut site, in_hand, control) = hall();
    switch_off(&mut site, &[&in_hand[..], &control[..20]].concat());
    assert!(silent(&site) && matches!(site.phase(), Phase::Reconciling(ReconcilingReason::SiteSilent, _)));
    go_offline(&mut site, &in_hand);
    site.wait(minutes(180));
    assert_eq!((site.count(Step::Installing), site.noted(What::Failed)), (5, 0));
    assert_eq!(site.at(&control[23]), SILENT, "nobody is offered anything, the others neither");
    come_back(&mut site, &[&in_hand[..], &control[..20]].concat());
    assert!(!silent(&site));
    assert_eq!(site.noted(What::SiteSilent), 2);
    for gateway in &in_hand {
        site.says(gateway, success());
        site.reports(gateway, "2");
    }
    site.wait(SOAK);
    assert_eq!((site.count(Step::Updated), site.count(Step::Offered)), (6, 24));
}

#[test]
fn a_brick_among_them_fails_by_its_deadline_once_the_others_are_back() {
    let (mut site, in_hand, control) = hall();
    site.wait(minutes(20));
    switch_off(&mut site, &[&in_hand[..], &control[..20]].concat());
    site.wait(minutes(180));
    come_back(&mut site, &[&in_hand[1..], &control[..20]].concat());
    // 40 minutes were left of its hour to install
    site.wait(minutes(35));
    assert_eq!(site.at(&in_hand[0]), Step::Installing);
    site.wait(minutes(10));
    assert_eq!(site.at(&in_hand[0]), Step::Failed(FailedReason::NoFeedback));
    assert!(site.main().tripped.is_some());
}

#[test]
fn a_deadline_that_passes_before_the_others_could_be_heard_fails_nobody() {
    let (mut site, in_hand, control) = hall();
    site.wait(minutes(59));
    // it is the first whose silence shows, and its hour ends before that of the others does
    site.quiet(&in_hand[0]);
    site.wait(minutes(1));
    assert_eq!(site.at(&in_hand[0]), Step::Installing);
    switch_off(&mut site, &control[..20]);
    assert!(silent(&site));
    site.wait(minutes(180));
    assert_eq!(site.at(&in_hand[0]), Step::Installing);
}

#[test]
fn who_fell_silent_while_it_was_watched_has_not_regressed() {
    let mut site = Site::rolling(20, |spec| spec.strategy.max_failures = amount("5%"));
    let (canary, control) = (site.canary(), site.rest());
    site.update(&canary);
    site.wait(minutes(9));
    switch_off(&mut site, &[&[canary.clone()][..], &control[..10]].concat());
    site.wait(minutes(180));
    assert_eq!((site.at(&canary), site.noted(What::WaveProven)), (Step::Updated, 0));
    come_back(&mut site, &[&[canary.clone()][..], &control[..10]].concat());
    assert_eq!(site.noted(What::WaveProven), 0, "nobody watched it meanwhile");
    site.wait(SOAK);
    assert_eq!(site.noted(What::WaveProven), 1);
    assert_eq!(site.at(&canary), Step::Updated);
}

#[test]
fn who_does_not_come_back_while_it_was_watched_has_regressed() {
    let mut site = Site::rolling(20, |spec| spec.strategy.max_failures = amount("5%"));
    let (canary, control) = (site.canary(), site.rest());
    site.update(&canary);
    switch_off(&mut site, &[&[canary.clone()][..], &control[..10]].concat());
    site.wait(minutes(180));
    come_back(&mut site, &control[..10]);
    assert_eq!(site.at(&canary), Step::Updated, "it has two intervals to come back");
    site.wait(3 * POLL);
    assert_eq!(site.at(&canary), Step::Failed(FailedReason::Regressed));
}

#[test]
fn a_restart_during_the_silence_changes_nothing() {
    let (mut site, in_hand, control) = hall();
    switch_off(&mut site, &[&in_hand[..], &control[..20]].concat());
    for _ in 0..3 {
        site.wait(minutes(60));
        site.restart();
        site.list();
        site.verify();
        assert!(silent(&site));
        assert_eq!((site.count(Step::Installing), site.count(Step::Offered)), (5, 0));
    }
    come_back(&mut site, &control[..20]);
    assert!(!silent(&site));
    site.restart();
    site.list();
    site.verify();
    assert_eq!(site.count(Step::Installing), 5, "they still have their time");
    site.wait(minutes(62));
    assert_eq!(site.count(Step::Failed(FailedReason::NoFeedback)), 5);
}

#[test]
fn deadlines_stand_still_for_a_day_and_no_longer() {
    let (mut site, in_hand, control) = hall();
    switch_off(&mut site, &[&in_hand[..], &control[..20]].concat());
    site.wait(DAY - minutes(2));
    assert!(silent(&site));
    site.wait(minutes(2));
    assert!(!silent(&site));
    assert_eq!(site.at(&control[23]), Step::Waiting(WaitingReason::WaveNotOpen));
    site.wait(minutes(62));
    assert_eq!(site.count(Step::Failed(FailedReason::NoFeedback)), 5);
    assert!(!silent(&site), "who is silent for a day does not begin it again");
}

#[test]
fn a_failure_that_is_said_meanwhile_counts() {
    let (mut site, in_hand, control) = hall();
    site.edit("main", |spec| spec.attempts = 1);
    switch_off(&mut site, &control[..20]);
    site.says(&in_hand[0], failure());
    assert_eq!(site.at(&in_hand[0]), Step::Failed(FailedReason::Reported));
    assert!(site.main().tripped.is_some());
}

#[test]
fn an_offer_that_was_not_fetched_goes_back_when_the_site_falls_silent() {
    let mut site = Site::rolling_on(20, |spec| spec.strategy.max_in_flight = Amount::Count(2));
    let rest = site.rest();
    let order = site.order(&rest[0]);
    switch_off(&mut site, &rest[5..17]);
    assert_eq!((site.at(&rest[0]), site.sees_link(&rest[0])), (SILENT, false));
    assert_eq!(site.happens(Event::Fetched(id(&rest[0]), order)), Verdict::Withdrawn);
    come_back(&mut site, &rest[5..17]);
    assert_eq!(site.count(Step::Offered), 2);
}

#[test]
fn updated_gateways_that_fall_silent_are_the_updates_fault_and_not_the_sites() {
    // all but three are updated, and ten of them die of it together; the three that nobody touched are there
    let mut site = Site::rolling_on(20, |spec| {
        spec.strategy.max_failures = amount("5%");
        spec.strategy.waves = vec![WaveSpec::CANARY, WaveSpec { size: amount("16"), ..WaveSpec::CANARY }];
    });
    let rest = site.rest();
    rest[..16].iter().for_each(|gateway| site.update(gateway));
    switch_off(&mut site, &rest[..10]);
    site.wait(3 * POLL);
    assert!(!silent(&site) && site.main().tripped.is_some());
    assert_eq!(site.count(Step::Failed(FailedReason::Regressed)), 10);
}

#[test]
fn fewer_than_three_or_no_more_than_thirty_of_a_hundred_are_no_sign() {
    let mut site = Site::rolling(5, |_| {});
    let rest = site.rest();
    switch_off(&mut site, &rest[..2]);
    assert!(!silent(&site), "two of four");
    let mut site = Site::rolling(11, |_| {});
    let canary = site.canary();
    site.fetch(&canary);
    let rest = site.rest();
    switch_off(&mut site, &rest[..3]);
    assert!(!silent(&site), "three of ten");
    site.quiet(&rest[3]);
    assert!(silent(&site), "four of ten");
}

#[test]
fn gateways_that_go_off_one_by_one_are_no_sign() {
    let mut site = Site::rolling(10, |_| {});
    let canary = site.canary();
    site.fetch(&canary);
    for gateway in &site.rest()[..8] {
        site.quiet(gateway);
        site.wait(minutes(4));
    }
    assert!(!silent(&site));
}

#[test]
fn who_was_offline_before_counts_neither_way() {
    let mut site = Site::rolling(30, |_| {});
    let (canary, rest) = (site.canary(), site.rest());
    site.fetch(&canary);
    for gateway in &rest[..20] {
        site.offline(gateway);
        site.wait(minutes(10));
    }
    // four of the nine that are left, which are 13 of a hundred of all
    switch_off(&mut site, &rest[20..24]);
    assert!(silent(&site));
    assert_eq!(site.at(&rest[0]), SILENT);
    come_back(&mut site, &rest[20..23]);
    assert!(!silent(&site));
    assert_eq!(site.at(&rest[0]), Step::Waiting(WaitingReason::WaveNotOpen));
}

#[test]
fn who_took_an_order_a_day_ago_and_does_not_run_it_counts_again() {
    let mut site = Site::rolling(5, |spec| (spec.attempts, spec.strategy.waves) = (1, vec![WaveSpec::REST]));
    for gateway in ["g1", "g2", "g3"] {
        site.fail(gateway);
    }
    site.wait(minutes(60));
    switch_off(&mut site, &["g1", "g2", "g3"].map(String::from));
    assert!(!silent(&site));
    come_back(&mut site, &["g1", "g2", "g3"].map(String::from));
    site.wait(DAY);
    switch_off(&mut site, &["g1", "g2", "g3"].map(String::from));
    assert!(silent(&site));
}

#[test]
fn a_silence_without_a_rollout_is_noted_and_passes() {
    let mut site = Site::new();
    site.declare_gateways(10);
    site.list();
    site.everybody_polls();
    let all: Vec<_> = site.gateways.keys().cloned().collect();
    switch_off(&mut site, &all);
    assert!(silent(&site));
    come_back(&mut site, &all);
    assert!(!silent(&site));
    site.rollouts.insert("main".into(), rollout("os", "2"));
    site.list();
    site.verify();
    assert_eq!((site.count(Step::Offered), site.count(OFFLINE)), (1, 0));
}

/// Ten gateways that nobody updates, and none else.
fn ten() -> (Site, Vec<String>) {
    let mut site = Site::new();
    site.declare_gateways(10);
    site.list();
    site.everybody_polls();
    let all = site.gateways.keys().cloned().collect();
    (site, all)
}

#[test]
fn it_is_over_when_no_more_than_15_of_a_hundred_are_left() {
    let (mut site, _, control) = hall();
    switch_off(&mut site, &control[..20]);
    come_back(&mut site, &control[..16]);
    assert!(silent(&site), "four of 24 are left");
    come_back(&mut site, &control[16..17]);
    assert!(!silent(&site), "three of 24 are left");
}

#[test]
fn it_is_over_when_fewer_than_three_are_left_of_however_few() {
    let (mut site, all) = ten();
    switch_off(&mut site, &all[..5]);
    assert!(silent(&site));
    come_back(&mut site, &all[..2]);
    assert!(silent(&site), "three of ten are left");
    come_back(&mut site, &all[2..3]);
    assert!(!silent(&site), "two of ten are left");
}

#[test]
fn who_has_been_installing_for_more_than_a_day_is_no_witness() {
    let mut site = Site::rolling(6, |spec| {
        spec.strategy.waves = vec![WaveSpec::REST];
        spec.deadlines.install = 5 * DAY;
    });
    let all: Vec<_> = site.gateways.keys().cloned().collect();
    for gateway in &all {
        site.download(gateway);
    }
    site.wait(2 * DAY);
    switch_off(&mut site, &all[..4]);
    assert!(!silent(&site));
}

#[test]
fn who_runs_what_a_rollout_in_force_brought_is_no_witness_until_a_newer_one_is_to_replace_it() {
    let mut site = Site::rolling(6, |spec| spec.strategy.waves = vec![WaveSpec::REST]);
    let all: Vec<_> = site.gateways.keys().cloned().collect();
    for gateway in &all {
        site.update(gateway);
    }
    site.wait(2 * DAY);
    switch_off(&mut site, &all[..4]);
    assert!(!silent(&site), "however long ago it was");
    come_back(&mut site, &all[..4]);
    site.rollouts.insert("newer".into(), RolloutSpec { paused: true, ..rollout("os", "3") });
    site.list();
    site.verify();
    switch_off(&mut site, &all[..4]);
    assert!(silent(&site));
}

#[test]
fn who_runs_what_was_called_off_or_given_up_is_a_witness_again() {
    let cancelled = |spec: &mut RolloutSpec| spec.cancelled = true;
    let for_others = |spec: &mut RolloutSpec| {
        *spec = rollout("os", "3");
        spec.selector.match_labels.insert("site".into(), "yard".into());
    };
    for edit in [cancelled as fn(&mut RolloutSpec), for_others] {
        let mut site = Site::rolling(6, |spec| spec.strategy.waves = vec![WaveSpec::REST]);
        let all: Vec<_> = site.gateways.keys().cloned().collect();
        for gateway in &all {
            site.update(gateway);
        }
        site.wait(2 * DAY);
        site.edit("main", edit);
        switch_off(&mut site, &all[..4]);
        assert!(silent(&site));
    }
}
