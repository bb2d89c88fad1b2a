//! Members, waves and the failure limit.

use lamplighter::engine::{Phase, Step};
use lamplighter::model::*;

use super::site::*;

fn waiting(reason: WaitingReason) -> Step {
    Step::Waiting(reason)
}

#[test]
fn members_are_never_frozen_before_the_first_list() {
    let mut site = Site::new();
    site.declare_gateways(3);
    site.rollouts.insert("main".into(), rollout("os", "2"));
    site.list();
    site.restart();
    site.verify();
    site.everybody_polls();
    assert!(site.main().frozen.is_none());
    site.list();
    assert_eq!(site.main().frozen.as_ref().unwrap().total, 3);
}

#[test]
fn members_are_never_frozen_at_zero() {
    let mut site = Site::rolling(0, |_| {});
    assert!(site.main().frozen.is_none());
    assert!(matches!(site.phase(), Phase::Stalled(StalledReason::NoMembers, _)), "{:?}", site.phase());
    site.declare_gateways(2);
    site.list();
    assert_eq!(site.main().frozen.as_ref().unwrap().total, 2);
}

#[test]
fn members_are_not_frozen_before_the_artifact_is_verified() {
    let mut site = Site::new();
    site.declare_gateways(2);
    site.rollouts.insert("main".into(), rollout("os", "2"));
    site.list();
    site.everybody_polls();
    assert_eq!(site.count(waiting(WaitingReason::ArtifactNotVerified)), 2);
    let digest = site.rollouts["main"].artifact.key.digest;
    site.happens(Event::Artifact(digest, ArtifactFact::Failed("another digest".into())));
    assert!(matches!(site.phase(), Phase::Stalled(StalledReason::ArtifactFailed, _)));
    assert!(site.main().frozen.is_none());
    site.verify();
    assert_eq!(site.count(Step::Offered), 1);
}

#[test]
fn members_go_in_the_order_of_their_hashes_and_it_differs_from_version_to_version() {
    let order = |version: &str| {
        let site = Site::rolling(20, |spec| *spec = rollout("os", version));
        let queue = site.queue();
        let artifact = &site.main().spec.artifact.key;
        let key =
            |id: &ControllerId| lamplighter::engine::order_key(&artifact.name, artifact.version.as_str(), id.as_str());
        assert!(queue.windows(2).all(|pair| key(&pair[0]) < key(&pair[1])));
        queue
    };
    assert_eq!(order("2"), order("2"));
    assert_ne!(order("2"), order("3"));
}

#[test]
fn by_default_one_gateway_goes_first_and_the_rest_after_its_soak() {
    let mut site = Site::rolling(10, |_| {});
    let canary = site.canary();
    assert_eq!((site.at(&canary), site.count(waiting(WaitingReason::WaveNotOpen))), (Step::Offered, 9));
    site.update(&canary);
    site.wait(SOAK - POLL);
    assert_eq!(site.count(waiting(WaitingReason::WaveNotOpen)), 9);
    assert!(matches!(site.phase(), Phase::Reconciling(ReconcilingReason::Soaking, _)));
    site.wait(POLL);
    assert_eq!(site.count(Step::Offered), 9);
}

#[test]
fn a_rollout_is_ready_when_its_last_wave_has_soaked() {
    let mut site = Site::rolling_on(4, |_| {});
    for gateway in site.rest() {
        site.update(&gateway);
    }
    assert_ne!(site.phase(), Phase::Ready);
    site.wait(SOAK);
    assert_eq!(site.phase(), Phase::Ready);
    site.wait(minutes(600));
    assert_eq!(site.noted(What::RolloutReady), 1);
}

#[test]
fn a_wave_of_one_is_the_only_wave_of_one_gateway() {
    let mut site = Site::rolling(1, |_| {});
    site.update("g1");
    site.wait(SOAK);
    assert_eq!((site.phase(), site.main().frozen.as_ref().unwrap().waves.len()), (Phase::Ready, 1));
}

#[test]
fn the_soak_counts_from_the_last_member_that_ended() {
    let mut site = Site::rolling_on(3, |_| {});
    let rest = site.rest();
    site.download(&rest[1]);
    site.update(&rest[0]);
    site.wait(SOAK + POLL);
    assert_ne!(site.phase(), Phase::Ready);
    site.reports(&rest[1], "2");
    site.wait(SOAK - POLL);
    assert_ne!(site.phase(), Phase::Ready);
    site.wait(POLL);
    assert_eq!(site.phase(), Phase::Ready);
}

#[test]
fn a_canary_that_is_offline_proves_nothing() {
    let mut site = Site::rolling(4, |_| {});
    let canary = site.canary();
    site.offline(&canary);
    site.wait(minutes(600));
    assert_eq!(site.at(&canary), waiting(WaitingReason::Offline));
    assert_eq!(site.count(waiting(WaitingReason::WaveNotOpen)), 3);
    site.seen(&canary);
    assert_eq!(site.at(&canary), Step::Offered);
}

#[test]
fn a_canary_that_failed_under_a_high_limit_stalls_as_unproven() {
    let mut site = Site::rolling(4, |spec| spec.attempts = 1);
    let canary = site.canary();
    site.fail(&canary);
    site.wait(minutes(600));
    assert!(site.main().tripped.is_none());
    assert!(matches!(site.phase(), Phase::Stalled(StalledReason::WaveUnproven, _)));
    assert_eq!(site.count(waiting(WaitingReason::WaveNotOpen)), 3);
}

#[test]
fn a_canary_that_has_the_version_already_proves_its_wave() {
    let mut site = Site::rolling(4, |spec| spec.paused = true);
    let canary = site.canary();
    site.reports(&canary, "2");
    site.edit("main", |spec| spec.paused = false);
    assert_eq!(site.at(&canary), Step::Skipped(SkippedReason::AlreadyInstalled));
    site.wait(SOAK);
    assert_eq!(site.count(Step::Offered), 3);
}

#[test]
fn held_and_offline_members_do_not_keep_a_wave_from_being_proven() {
    let mut site = Site::rolling_on(5, |_| {});
    let rest = site.rest();
    site.hold(&rest[0], true);
    site.offline(&rest[1]);
    site.update(&rest[2]);
    site.update(&rest[3]);
    site.wait(SOAK);
    assert_eq!(site.phase(), Phase::Ready);
    site.hold(&rest[0], false);
    site.seen(&rest[1]);
    assert_eq!((site.at(&rest[0]), site.at(&rest[1])), (Step::Offered, Step::Offered));
    assert_eq!(site.phase(), Phase::Ready);
}

#[test]
fn a_wave_of_which_less_than_half_is_updated_is_not_proven() {
    let mut site = Site::rolling_on(6, |_| {});
    let rest = site.rest();
    site.update(&rest[0]);
    site.update(&rest[1]);
    for gateway in &rest[2..] {
        site.offline(gateway);
        site.wait(minutes(10));
    }
    site.wait(minutes(600));
    assert!(matches!(site.phase(), Phase::Reconciling(ReconcilingReason::WaveOpen, _)), "{:?}", site.phase());
    site.seen(&rest[2]);
    site.update(&rest[2]);
    site.wait(SOAK);
    assert_eq!(site.phase(), Phase::Ready);
}

#[test]
fn the_failure_limit_of_a_wave_is_rounded_up_and_reached_at_it() {
    // 5 % of a wave of 39 is 2, and of all 40 it is 2 as well
    let mut site = Site::rolling_on(40, |spec| (spec.strategy.max_failures, spec.attempts) = (amount("5%"), 1));
    let rest = site.rest();
    site.fail(&rest[0]);
    assert!(site.main().tripped.is_none());
    site.fail(&rest[1]);
    let tripped = site.main().tripped.clone().unwrap();
    assert_eq!((tripped.failures, tripped.limit, tripped.wave), (2, 2, Some(1)));
    assert!(matches!(site.phase(), Phase::Stalled(StalledReason::FailureLimit, _)));
}

#[test]
fn one_failed_canary_is_a_wave_that_reached_its_limit() {
    let mut site = Site::rolling(40, |spec| (spec.strategy.max_failures, spec.attempts) = (amount("5%"), 1));
    let canary = site.canary();
    site.fail(&canary);
    assert_eq!(site.main().tripped.as_ref().unwrap().wave, Some(0));
    assert_eq!(site.count(waiting(WaitingReason::Paused)), 39);
}

#[test]
fn the_failure_limit_also_counts_over_all_waves() {
    let waves = |spec: &mut RolloutSpec| {
        let two = WaveSpec { size: Amount::Count(2), ..WaveSpec::CANARY };
        spec.strategy.waves = vec![two.clone(), two];
        (spec.strategy.max_failures, spec.attempts) = (Amount::Count(2), 1);
    };
    let mut site = Site::rolling(5, waves);
    let queue: Vec<_> = site.queue().iter().map(ToString::to_string).collect();
    site.fail(&queue[0]);
    site.update(&queue[1]);
    site.wait(SOAK);
    assert!(site.main().tripped.is_none());
    site.fail(&queue[2]);
    assert_eq!(site.main().tripped.as_ref().unwrap().wave, None);
    let row = site.journal.iter().find(|row| row.what == What::LimitReached).unwrap();
    assert_eq!(row.detail, "2 failed in total, the limit is 2");
}

#[test]
fn reaching_the_limit_withdraws_every_unfetched_offer_in_the_same_commit() {
    let mut site = Site::rolling_on(10, |spec| (spec.strategy.max_failures, spec.attempts) = (Amount::Count(1), 1));
    let rest = site.rest();
    site.download(&rest[0]);
    site.download(&rest[1]);
    let late = site.order(&rest[2]);
    let failed = Event::Feedback(id(&rest[0]), site.order(&rest[0]), failure());
    let verdicts = site.step(vec![failed, Event::Fetched(id(&rest[2]), late)]);
    assert_eq!(verdicts, [Verdict::Accepted, Verdict::Withdrawn]);
    assert!(site.last.rollouts.iter().any(|(_, row)| row.as_ref().is_some_and(|row| row.tripped.is_some())));
    assert_eq!((site.count(Step::Offered), site.count(waiting(WaitingReason::Paused))), (0, 7));
    assert!(rest[2..].iter().all(|gateway| !site.sees_link(gateway)));
    // who has it in hand goes on
    site.says(&rest[1], success());
    site.reports(&rest[1], "2");
    assert_eq!(site.at(&rest[1]), Step::Updated);
}

#[test]
fn the_limit_latches() {
    let mut site = Site::rolling_on(6, |spec| (spec.strategy.max_failures, spec.attempts) = (Amount::Count(1), 1));
    let rest = site.rest();
    site.fail(&rest[0]);
    site.edit("main", |spec| spec.strategy.max_failures = Amount::Count(100));
    site.restart();
    site.list();
    site.wait(minutes(600));
    assert_eq!((site.count(Step::Offered), site.count(waiting(WaitingReason::Paused))), (0, 4));
}

#[test]
fn a_member_counts_as_failed_only_when_its_attempts_are_used() {
    let mut site = Site::rolling_on(3, |spec| spec.strategy.max_failures = Amount::Count(1));
    let first = site.rest().remove(0);
    for backoff in [1, 2] {
        site.fail(&first);
        assert!(site.main().tripped.is_none());
        site.wait(minutes(backoff));
    }
    site.fail(&first);
    assert!(site.main().tripped.is_some());
}

#[test]
fn an_updated_member_that_falls_silent_while_its_wave_soaks_has_regressed() {
    let mut site = Site::rolling(4, |spec| spec.strategy.max_failures = amount("5%"));
    let canary = site.canary();
    site.update(&canary);
    site.quiet(&canary);
    assert_eq!(site.at(&canary), Step::Updated, "the others would not have fallen silent yet");
    site.wait(3 * POLL);
    assert_eq!(site.at(&canary), Step::Failed(FailedReason::Regressed));
    assert!(site.main().tripped.is_some());
}

#[test]
fn an_updated_member_that_is_late_and_comes_back_has_not_regressed_and_proves_its_wave() {
    let mut site = Site::rolling(4, |_| {});
    let canary = site.canary();
    site.update(&canary);
    site.wait(SOAK - POLL);
    site.quiet(&canary);
    site.wait(POLL);
    assert_eq!(site.noted(What::WaveProven), 0, "nobody knows how it is");
    site.seen(&canary);
    assert_eq!((site.at(&canary), site.noted(What::WaveProven)), (Step::Updated, 1));
}

#[test]
fn an_updated_member_that_reports_another_version_while_its_wave_soaks_has_regressed() {
    let mut site = Site::rolling(4, |_| {});
    let canary = site.canary();
    site.update(&canary);
    site.reports(&canary, "1");
    assert_eq!(site.at(&canary), Step::Failed(FailedReason::Regressed));
    site.wait(SOAK);
    assert_eq!(site.count(waiting(WaitingReason::WaveNotOpen)), 3);
}

#[test]
fn what_an_updated_member_does_after_its_soak_is_drift() {
    let mut site = Site::rolling_on(4, |_| {});
    let canary = site.canary();
    site.offline(&canary);
    site.seen(&canary);
    site.reports(&canary, "1");
    assert_eq!(site.at(&canary), Step::Updated);
    assert!(!site.sees_link(&canary));
}

#[test]
fn a_soaking_member_is_asked_for_its_version_each_interval() {
    let mut site = Site::rolling(2, |_| {});
    let canary = site.canary();
    site.update(&canary);
    assert_eq!(site.ask(&canary), Ask::EachInterval);
    site.wait(SOAK);
    assert_eq!(site.ask(&canary), Ask::No);
}

#[test]
fn joiners_wait_for_the_last_wave_and_never_flip_ready() {
    let mut site = Site::rolling_on(3, |spec| spec.attempts = 1);
    site.gateways.insert("late".into(), gateway("late"));
    site.list();
    site.seen("late");
    assert_eq!(site.at("late"), waiting(WaitingReason::WaveNotOpen));
    for gateway in site.rest().iter().filter(|gateway| *gateway != "late") {
        site.update(gateway);
    }
    site.wait(SOAK);
    assert_eq!((site.phase(), site.at("late")), (Phase::Ready, Step::Offered));
    site.fail("late");
    assert_eq!((site.phase(), site.at("late")), (Phase::Ready, Step::Failed(FailedReason::Reported)));
    assert_eq!(site.main().frozen.as_ref().unwrap().total, 3);
}

#[test]
fn a_joiner_that_fails_stops_further_joiners_but_ready_stays() {
    let strict = |spec: &mut RolloutSpec| (spec.strategy.max_failures, spec.attempts) = (Amount::Count(1), 1);
    let mut site = Site::rolling(1, strict);
    site.update("g1");
    site.wait(SOAK);
    site.declare_gateways(3);
    site.list();
    site.everybody_polls();
    site.fail("g2");
    assert_eq!((site.at("g3"), site.phase()), (waiting(WaitingReason::Paused), Phase::Ready));
}

#[test]
fn a_gateway_that_gets_the_labels_after_the_freeze_is_a_joiner() {
    let mut site = Site::rolling(2, |_| {});
    let mut other = gateway("other");
    other.labels = Default::default();
    site.gateways.insert("other".into(), other);
    site.list();
    assert!(!site.main().members.contains_key(&id("other")));
    site.gateways.insert("other".into(), gateway("other"));
    site.list();
    assert!(site.member("other").joiner && site.member("other").wave.is_none());
}

#[test]
fn a_wave_that_reached_its_limit_is_not_proven_however_many_are_updated() {
    let waves = |spec: &mut RolloutSpec| {
        spec.strategy.waves = vec![WaveSpec { size: Amount::Count(4), ..WaveSpec::CANARY }];
        (spec.strategy.max_failures, spec.attempts) = (Amount::Count(1), 1);
    };
    let mut site = Site::rolling(6, waves);
    let queue: Vec<_> = site.queue().iter().map(ToString::to_string).collect();
    queue[..4].iter().for_each(|gateway| site.download(gateway));
    site.says(&queue[0], failure());
    queue[1..4].iter().for_each(|gateway| {
        site.reports(gateway, "2");
    });
    site.wait(minutes(600));
    assert_eq!((site.count(Step::Updated), site.noted(What::WaveProven)), (3, 0));
}

#[test]
fn no_wave_opens_before_the_first_list() {
    let mut site = Site::rolling(3, |_| {});
    let canary = site.canary();
    site.update(&canary);
    site.restart();
    site.seen(&canary);
    site.wait(SOAK);
    assert!(site.main().frozen.as_ref().unwrap().waves[1].opened_at.is_none());
    site.list();
    assert_eq!(site.count(Step::Offered), 2);
}

#[test]
fn the_journal_calls_a_wave_by_its_place_and_by_the_name_that_it_was_given() {
    let named = WaveSpec { name: Some("bench".into()), ..WaveSpec::CANARY };
    let mut site = Site::rolling(6, |spec| spec.strategy.waves = vec![named, WaveSpec::CANARY]);
    for _ in 0..2 {
        let next = site.main().members.iter().find(|(_, member)| member.step == Step::Offered).unwrap().0.to_string();
        site.update(&next);
        site.wait(SOAK);
    }
    let opened = site.journal.iter().filter(|row| row.what == What::WaveOpened).map(|row| row.detail.as_str());
    assert_eq!(opened.collect::<Vec<_>>(), ["wave 1 (bench)", "wave 2", "wave 3"]);
}
