//! Waves that a person opens.

use lamplighter::engine::{Phase, Step};
use lamplighter::model::*;

use super::site::*;

const NOT_APPROVED: Step = Step::Waiting(WaitingReason::NotApproved);
const NOT_OPEN: Step = Step::Waiting(WaitingReason::WaveNotOpen);

fn manual(size: &str) -> WaveSpec {
    WaveSpec { size: amount(size), approval: Approval::Manual, ..WaveSpec::CANARY }
}

fn approve(site: &mut Site, wave: &str) {
    site.edit("main", |spec| _ = spec.approved_waves.insert(wave.into()));
}

#[test]
fn a_manual_wave_opens_only_when_it_is_proven_before_it_and_approved() {
    let mut site = Site::rolling(6, |spec| spec.strategy.waves = vec![WaveSpec::CANARY, manual("2")]);
    assert_eq!((site.count(NOT_OPEN), site.count(NOT_APPROVED)), (5, 0), "the wave before comes first");
    let canary = site.canary();
    site.update(&canary);
    site.wait(SOAK);
    assert_eq!((site.count(NOT_APPROVED), site.count(NOT_OPEN)), (2, 3));
    let Phase::Reconciling(ReconcilingReason::WaitingForApproval, text) = site.phase() else {
        panic!("{:?}", site.phase())
    };
    assert_eq!(
        text,
        "wave 2 of 3 waits for approval: `lamplighter approve main`, or add \"2@2\" to spec.approvedWaves"
    );
    approve(&mut site, "2");
    assert_eq!((site.count(Step::Offered), site.count(NOT_OPEN)), (2, 3));
}

#[test]
fn a_manual_first_wave_is_not_even_frozen_before_it_is_approved() {
    let mut site = Site::rolling(3, |spec| spec.strategy.waves = vec![manual("1")]);
    assert!(site.main().frozen.is_none() && site.count(NOT_APPROVED) == 3);
    assert!(matches!(site.phase(), Phase::Reconciling(ReconcilingReason::WaitingForApproval, _)));
    site.restart();
    site.list();
    assert!(site.main().frozen.is_none());
    approve(&mut site, "1");
    assert_eq!(site.count(Step::Offered), 1);
}

#[test]
fn an_approval_that_was_given_before_opens_the_wave_when_its_turn_comes() {
    let mut site = Site::rolling(3, |spec| {
        spec.strategy.waves = vec![WaveSpec::CANARY, WaveSpec { name: Some("all".into()), ..manual("100%") }];
        spec.approved_waves = ["all".into()].into();
    });
    assert_eq!(site.count(Step::Offered), 1);
    let canary = site.canary();
    site.update(&canary);
    site.wait(SOAK);
    assert_eq!(site.count(Step::Offered), 2);
}

#[test]
fn an_approval_that_is_taken_back_closes_no_wave_that_opened() {
    let mut site = Site::rolling(2, |spec| {
        spec.strategy.waves = vec![manual("1")];
        spec.approved_waves = ["1".into()].into();
    });
    site.edit("main", |spec| spec.approved_waves.clear());
    assert_eq!(site.count(Step::Offered), 1);
}

#[test]
fn an_approval_does_not_lift_other_brakes() {
    let mut site = Site::rolling(2, |spec| (spec.strategy.waves, spec.paused) = (vec![manual("1")], true));
    approve(&mut site, "1");
    assert_eq!(site.count(Step::Waiting(WaitingReason::Paused)), 2);
    site.edit("main", |spec| spec.paused = false);
    assert_eq!(site.count(Step::Offered), 1);
}
