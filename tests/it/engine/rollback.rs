//! `failureAction: Rollback`: who has the version of a rollout that failed goes back to what it ran before.

use lamplighter::engine::{Phase, Step, Summary, may_go, summary, wanted_artifacts};
use lamplighter::model::*;

use super::site::*;

const BACK: Step = Step::RolledBack;

/// A rollout to version 2 that rolls back at the second failure, to so many gateways that report version 1, which the site
/// has because a rollout for nobody brings it.
fn site(gateways: usize, edit: impl FnOnce(&mut RolloutSpec)) -> Site {
    let mut site = Site::new();
    site.declare_gateways(gateways);
    bring(&mut site, "1");
    site.list();
    site.everybody_polls();
    site.verify();
    for name in site.gateways.keys().cloned().collect::<Vec<_>>() {
        site.reports(&name, "1");
    }
    let mut spec = rollout("os", "2");
    (spec.attempts, spec.strategy.waves) = (1, vec![WaveSpec::REST]);
    (spec.strategy.max_failures, spec.strategy.failure_action) = (Amount::Count(2), FailureAction::Rollback);
    edit(&mut spec);
    site.rollouts.insert("main".into(), spec);
    site.list();
    site.verify();
    site
}

/// Declares a rollout of an older version that selects nothing: it only brings the file.
fn bring(site: &mut Site, version: &str) {
    let nobody = Selector { match_labels: [("line".into(), "none".into())].into() };
    let spec = RolloutSpec { selector: nobody, ..rollout("os", version) };
    site.rollouts.insert(format!("old-{version}"), spec);
}

fn offered(site: &Site, gateway: &str) -> String {
    site.board[&id(gateway)].offer.as_ref().unwrap().artifact.key.version.to_string()
}

/// Takes what it is offered, and reports that version.
fn goes(site: &mut Site, gateway: &str, to: &str) {
    assert_eq!(offered(site, gateway), to);
    site.download(gateway);
    site.says(gateway, success());
    site.reports(gateway, to);
}

fn two_fail(site: &mut Site) {
    site.fail("g3");
    site.fail("g4");
}

#[test]
fn at_the_limit_the_updated_go_back_each_to_its_own_version_and_the_rest_stays_where_it_is() {
    let mut site = site(6, |_| {});
    site.reports("g6", "1");
    for gateway in ["g1", "g2"] {
        goes(&mut site, gateway, "2");
    }
    two_fail(&mut site);
    assert_eq!((offered(&site, "g1"), offered(&site, "g2")), ("1".into(), "1".into()));
    assert!(
        matches!(site.phase(), Phase::Reconciling(ReconcilingReason::RollingBack, text) if text.contains("0 of 2"))
    );
    assert!(!site.sees_link("g5") && !site.sees_link("g6"), "what was not fetched is withdrawn");
    assert_eq!(site.at("g3"), Step::Failed(FailedReason::Reported), "it still runs what it ran");
    goes(&mut site, "g1", "1");
    assert_eq!((site.at("g1"), site.member("g1").step_name()), (BACK, "RolledBack"));
    goes(&mut site, "g2", "1");
    assert!(matches!(site.phase(), Phase::Stalled(StalledReason::RolledBack, text) if text.contains("2 of 2")));
    let Summary { total, rolled_back, failed, pending, .. } = summary(site.main());
    assert_eq!((total, rolled_back, failed, pending), (6, 2, 2, 2));
    assert_eq!((site.noted(What::RollingBack), site.noted(What::RolledBack)), (3, 2));
}

#[test]
fn several_earlier_versions_are_each_gone_back_to() {
    let mut site = Site::new();
    site.declare_gateways(4);
    for old in ["1.0.0", "1.1.0"] {
        bring(&mut site, old);
    }
    site.list();
    site.everybody_polls();
    site.verify();
    for (gateway, runs) in [("g1", "1.0.0"), ("g2", "1.1.0"), ("g3", "1.0.0"), ("g4", "1.1.0")] {
        site.reports(gateway, runs);
    }
    let mut spec = rollout("os", "2.0.0");
    (spec.attempts, spec.strategy.waves) = (1, vec![WaveSpec::REST]);
    (spec.strategy.max_failures, spec.strategy.failure_action) = (Amount::Count(2), FailureAction::Rollback);
    site.rollouts.insert("main".into(), spec);
    site.list();
    site.verify();
    goes(&mut site, "g1", "2.0.0");
    goes(&mut site, "g2", "2.0.0");
    two_fail(&mut site);
    goes(&mut site, "g1", "1.0.0");
    goes(&mut site, "g2", "1.1.0");
    assert_eq!((site.at("g1"), site.at("g2")), (BACK, BACK));
}

#[test]
fn nothing_is_offered_before_the_site_has_all_that_its_gateways_run() {
    let mut site = Site::new();
    site.declare_gateways(3);
    let mut spec = rollout("os", "2");
    spec.strategy.failure_action = FailureAction::Rollback;
    site.rollouts.insert("main".into(), spec);
    site.list();
    site.everybody_polls();
    site.verify();
    site.reports("g1", "1");
    site.reports("g2", "1");
    let Phase::Stalled(StalledReason::RollbackImpossible, why) = site.phase() else { panic!("{:?}", site.phase()) };
    assert_eq!(why, "the site has no file of os 1, which 2 of its gateways run; of 1 nobody knows what they run");
    assert_eq!(site.count(Step::Offered), 0);
    // another arrival would take over, so the older version comes by a rollout for nobody
    bring(&mut site, "1");
    site.list();
    site.verify();
    assert!(matches!(site.phase(), Phase::Stalled(StalledReason::RollbackImpossible, _)));
    site.reports("g3", "2");
    assert_eq!((site.count(Step::Offered), site.at("g3")), (1, Step::Skipped(SkippedReason::AlreadyInstalled)));
}

#[test]
fn what_is_installing_ends_first_and_then_goes_back() {
    let mut site = site(5, |_| {});
    site.download("g1");
    two_fail(&mut site);
    assert_eq!((site.at("g1"), offered(&site, "g1")), (Step::Installing, "2".into()));
    site.says("g1", success());
    site.reports("g1", "2");
    goes(&mut site, "g1", "1");
    assert_eq!(site.at("g1"), BACK);
}

#[test]
fn one_that_failed_goes_back_once_it_says_that_it_runs_the_new_version() {
    let mut site = site(5, |_| {});
    site.download("g1");
    two_fail(&mut site);
    site.offline("g1");
    site.wait(minutes(120));
    assert_eq!(site.at("g1"), Step::Failed(FailedReason::NoFeedback));
    site.seen("g1");
    assert_eq!((site.sees_link("g1"), site.ask("g1")), (false, Ask::EachInterval));
    site.reports("g1", "2");
    goes(&mut site, "g1", "1");
    assert_eq!(site.at("g1"), BACK);
}

#[test]
fn a_gateway_that_never_reports_goes_back_to_what_it_was_given_before() {
    let mut site = Site::rolling(1, |spec| spec.confirm_by = ConfirmBy::Feedback);
    let install = |site: &mut Site| {
        site.download("g1");
        site.says("g1", success());
        site.wait(minutes(6));
        site.happens(Event::Polled(id("g1")));
    };
    install(&mut site);
    assert_eq!(site.at("g1"), Step::Updated);
    site.edit("main", |spec| {
        spec.artifact = rollout("os", "3").artifact;
        (spec.attempts, spec.strategy.failure_action) = (1, FailureAction::Rollback);
        spec.strategy.max_failures = Amount::Count(1);
    });
    site.verify();
    assert_eq!(offered(&site, "g1"), "3");
    site.fail("g1");
    assert_eq!(offered(&site, "g1"), "2", "it had the whole file, so it may run it");
    install(&mut site);
    assert_eq!(site.at("g1"), BACK);
}

#[test]
fn the_way_back_keeps_caps_holds_pauses_and_the_guard_does_not_stop_it() {
    let mut site = site(6, |spec| spec.strategy.max_in_flight = Amount::Count(4));
    site.reports("g6", "1");
    for gateway in ["g1", "g2", "g5", "g6"].into_iter().filter(|name| site.sees_link(name)).collect::<Vec<_>>() {
        goes(&mut site, gateway, "2");
    }
    for gateway in ["g1", "g2", "g5", "g6"] {
        if site.at(gateway) != Step::Updated {
            goes(&mut site, gateway, "2");
        }
    }
    site.hold("g1", true);
    site.edit("main", |spec| spec.strategy.max_in_flight = Amount::Count(2));
    two_fail(&mut site);
    assert_eq!(site.at("g1"), Step::Waiting(WaitingReason::Held));
    assert_eq!(site.count(Step::Offered), 2);
    assert_eq!(site.count(Step::Waiting(WaitingReason::MaxInFlight)), 1);
    site.edit("main", |spec| spec.paused = true);
    assert_eq!(site.count(Step::Offered), 0);
    assert!(matches!(site.phase(), Phase::Reconciling(ReconcilingReason::Paused, _)));
    site.edit("main", |spec| spec.paused = false);
    assert_eq!(site.count(Step::Offered), 2);
}

#[test]
fn the_way_back_keeps_windows_gates_and_lines() {
    let mut site = site(4, |_| {});
    for gateway in site.gateways.values_mut() {
        gateway.labels.insert("line".into(), "a".into());
    }
    site.list();
    goes(&mut site, "g1", "2");
    goes(&mut site, "g2", "2");
    site.download("g3");
    site.download("g4");
    site.clock_says("2026-11-28T12:00Z");
    let permit = || GateKey::File("/permits/a".into());
    site.edit("main", |spec| {
        let time = |text: &str| text.parse().unwrap();
        let window = Window::new([Day::Sat].into(), (time("12:20"), time("18:00")), None, None).unwrap();
        spec.windows.list = vec![window];
        spec.strategy.spread =
            Some(Spread { label: "line".into(), max_in_flight: Some(Amount::Count(1)), min_healthy: None });
        spec.gates = vec![GateSpec { name: None, question: GateQuestion::File("/permits/{line}".parse().unwrap()) }];
    });
    site.says("g3", failure());
    site.says("g4", failure());
    assert_eq!(site.count(Step::Waiting(WaitingReason::OutsideWindow)), 2);
    site.wait_until("2026-11-28T12:20Z");
    assert_eq!(site.count(Step::Waiting(WaitingReason::Gate)), 2);
    let asked = site.now;
    site.happens(Event::Gate(permit(), GateAnswer::Open, asked));
    assert_eq!((site.count(Step::Offered), site.count(Step::Waiting(WaitingReason::Spread))), (1, 1));
    let first = if site.sees_link("g1") { "g1" } else { "g2" };
    goes(&mut site, first, "1");
    assert_eq!((site.count(BACK), site.count(Step::Offered)), (1, 1));
}

#[test]
fn one_that_does_not_come_back_stalls_the_rollout_and_a_token_tries_again() {
    let mut site = site(5, |_| {});
    goes(&mut site, "g1", "2");
    goes(&mut site, "g2", "2");
    two_fail(&mut site);
    site.fail("g1");
    assert!(matches!(site.phase(), Phase::Stalled(StalledReason::RollbackFailed, _)));
    assert!(site.sees_link("g2"), "one of them may fail");
    goes(&mut site, "g2", "1");
    site.wait(minutes(120));
    assert_eq!(site.at("g1"), Step::Failed(FailedReason::Reported), "it does not go back from there");
    site.edit("main", |spec| spec.retry_token = Some("again".into()));
    assert_eq!(site.at("g3"), Step::Failed(FailedReason::Reported), "nobody goes forward again");
    goes(&mut site, "g1", "1");
    assert!(matches!(site.phase(), Phase::Stalled(StalledReason::RolledBack, _)));
}

#[test]
fn so_many_that_do_not_come_back_stop_the_others_too() {
    let mut site = site(6, |spec| spec.strategy.max_in_flight = Amount::Count(2));
    let mut left: Vec<_> = ["g1", "g2", "g3", "g4", "g5", "g6"].into();
    while left.len() > 2 {
        let at = left.iter().position(|name| site.sees_link(name)).unwrap();
        goes(&mut site, left.remove(at), "2");
    }
    site.fail(left[0]);
    site.fail(left[1]);
    for _ in 0..2 {
        let next = site.queue().iter().find(|name| site.sees_link(name.as_str())).unwrap().to_string();
        site.fail(&next);
    }
    assert_eq!(site.count(Step::Offered), 0);
    assert_eq!(site.count(Step::Waiting(WaitingReason::Paused)), 2);
}

#[test]
fn a_fixed_version_goes_forward_again_also_in_the_middle_of_it() {
    let mut site = site(5, |_| {});
    goes(&mut site, "g1", "2");
    goes(&mut site, "g2", "2");
    two_fail(&mut site);
    site.download("g1");
    site.edit("main", |spec| {
        spec.artifact = rollout("os", "3").artifact;
        spec.strategy.failure_action = FailureAction::Pause;
    });
    site.verify();
    assert_eq!(offered(&site, "g2"), "3");
    assert_eq!(offered(&site, "g1"), "1", "what is under way ends first");
    site.says("g1", success());
    site.reports("g1", "1");
    assert_eq!(offered(&site, "g1"), "3");
}

#[test]
fn it_survives_restarts_and_what_it_leads_to_is_kept_and_wanted() {
    let mut site = site(5, |_| {});
    site.rollouts.remove("old-1");
    site.list();
    goes(&mut site, "g1", "2");
    two_fail(&mut site);
    assert!(!may_go(site.core.state(), &digest("os 1")));
    assert!(wanted_artifacts(site.core.state()).iter().any(|file| file.key.digest == digest("os 1")));
    site.restart();
    site.list();
    site.verify();
    goes(&mut site, "g1", "1");
    site.restart();
    site.list();
    assert_eq!(site.at("g1"), BACK);
    assert!(matches!(site.phase(), Phase::Stalled(StalledReason::RolledBack, _)));
}

#[test]
fn pause_said_before_the_limit_keeps_them_where_they_are_and_a_proven_rollout_is_not_taken_back() {
    let mut site = site(5, |_| {});
    goes(&mut site, "g1", "2");
    site.edit("main", |spec| spec.strategy.failure_action = FailureAction::Pause);
    two_fail(&mut site);
    assert_eq!(site.at("g1"), Step::Updated);
    assert!(matches!(site.phase(), Phase::Stalled(StalledReason::FailureLimit, _)));

    let mut site = self::site(2, |_| {});
    goes(&mut site, "g1", "2");
    goes(&mut site, "g2", "2");
    site.wait(SOAK);
    site.declare_gateways(4);
    site.list();
    site.everybody_polls();
    two_fail(&mut site);
    assert!(site.main().tripped.is_some());
    assert_eq!((site.at("g1"), site.phase()), (Step::Updated, Phase::Ready));
}

#[test]
fn a_late_word_on_the_way_there_is_no_word_on_the_way_back() {
    let mut site = site(5, |_| {});
    goes(&mut site, "g1", "2");
    let forward = site.member("g1").action.as_ref().unwrap().id;
    two_fail(&mut site);
    assert_eq!(site.says_on("g1", forward, success()), Verdict::AlreadyClosed);
    assert_eq!(site.says_on("g1", forward, failure()), Verdict::AlreadyClosed);
    assert_eq!((site.at("g1"), site.member("g1").attempts), (Step::Offered, 0));
}
