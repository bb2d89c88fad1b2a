//! Orders on the spot: they count at once, once, and until they are lifted on the spot, whatever the manifests say.

use lamplighter::engine::{Phase, Step, unapproved};
use lamplighter::model::*;

use super::site::*;

const PAUSED: Step = Step::Waiting(WaitingReason::Paused);
const HELD: Step = Step::Waiting(WaitingReason::Held);
const CANCELLED: Step = Step::Skipped(SkippedReason::Cancelled);

fn main_rollout() -> Identity {
    Identity("main".into())
}

fn pause() -> StandingOrder {
    StandingOrder::Pause(main_rollout())
}

fn cancel() -> StandingOrder {
    StandingOrder::Cancel(main_rollout())
}

fn hold(gateway: &str) -> StandingOrder {
    StandingOrder::Hold(id(gateway))
}

impl Site {
    fn orders(&mut self, order: Order) -> Verdict {
        self.happens(Event::Order(order, "alice (uid 1000)".into()))
    }

    fn gives(&mut self, order: StandingOrder) -> Verdict {
        self.orders(Order::Give(order, Some("bearing noise".into())))
    }

    fn lifts(&mut self, order: StandingOrder) -> Verdict {
        self.orders(Order::Lift(order))
    }

    fn ordered(&self) -> Vec<&str> {
        self.journal.iter().filter(|row| row.what == What::Ordered).map(|row| row.detail.as_str()).collect()
    }
}

#[test]
fn a_pause_takes_unfetched_offers_back_in_the_same_commit_and_says_whose_it_is() {
    let mut site = Site::rolling_on(4, |_| {});
    assert_eq!(site.count(Step::Offered), 3);
    assert_eq!(site.gives(pause()), Verdict::Accepted);
    assert_eq!((site.count(PAUSED), site.last.orders.len()), (3, 1), "one commit");
    let Phase::Reconciling(ReconcilingReason::Paused, text) = site.phase() else { panic!("{:?}", site.phase()) };
    assert!(text.contains("by alice (uid 1000): bearing noise") && text.contains("resume main"), "{text}");
    assert_eq!(site.lifts(pause()), Verdict::Accepted);
    assert_eq!(site.count(Step::Offered), 3);
    let rows = site.ordered();
    let lifted = "resume, by alice (uid 1000); lifts pause, by alice (uid 1000)";
    assert_eq!(rows, ["pause, by alice (uid 1000): bearing noise", lifted]);
}

#[test]
fn the_same_order_twice_is_one_row_and_already_so() {
    let mut site = Site::rolling(2, |_| {});
    for order in [pause(), cancel(), hold("g1")] {
        assert_eq!(site.gives(order.clone()), Verdict::Accepted);
        let rows = site.ordered().len();
        assert_eq!(site.gives(order.clone()), Verdict::Already, "{order}");
        assert!(site.last.is_empty(), "nothing is written: {:?}", site.last);
        assert_eq!(site.lifts(order.clone()), Verdict::Accepted);
        assert_eq!(site.lifts(order), Verdict::Already);
        assert_eq!(site.ordered().len(), rows + 1);
    }
}

#[test]
fn names_that_the_site_never_knew_are_unknown_and_those_that_it_knew_are_not() {
    let mut site = Site::rolling(1, |_| {});
    let nobody = Identity("nobody".into());
    for order in [StandingOrder::Pause(nobody.clone()), StandingOrder::Cancel(nobody.clone()), hold("nobody")] {
        assert_eq!(site.gives(order), Verdict::Unknown);
    }
    assert_eq!(site.orders(Order::Retry(nobody, vec![])), Verdict::Unknown);
    assert!(site.ordered().is_empty());
    site.gateways.clear();
    site.rollouts.clear();
    site.list();
    assert_eq!(site.gives(hold("g1")), Verdict::Accepted, "it is only missing in the manifests");
    assert_eq!(site.gives(pause()), Verdict::Accepted);
}

#[test]
fn paused_offline_it_stays_so_when_the_hub_says_go() {
    let mut site = Site::rolling(3, |spec| spec.paused = true);
    site.gives(pause());
    site.edit("main", |spec| spec.paused = false);
    assert_eq!(site.count(PAUSED), 3, "the spec says go");
    site.edit("main", |spec| spec.strategy.max_in_flight = amount("1"));
    assert_eq!(site.count(PAUSED), 3, "an edit");
    site.edit("main", |spec| *spec = rollout("os", "3"));
    site.verify();
    assert_eq!((site.count(PAUSED), site.noted(What::Offered)), (3, 0), "another version");
    site.restart();
    site.list();
    site.verify();
    site.everybody_polls();
    assert_eq!((site.count(PAUSED), site.noted(What::Offered)), (3, 0), "a restart");
    site.rollouts.remove("main");
    site.list();
    site.rollouts.insert("main".into(), rollout("os", "4"));
    site.list();
    site.verify();
    assert_eq!((site.count(PAUSED), site.noted(What::Offered)), (3, 0), "the same name made again");
    site.lifts(pause());
    assert_eq!(site.count(Step::Offered), 1);
}

#[test]
fn a_pause_of_the_spec_is_not_lifted_by_a_person_nor_the_other_way_round() {
    let mut site = Site::rolling(2, |spec| spec.paused = true);
    site.gives(pause());
    site.lifts(pause());
    assert_eq!(site.count(PAUSED), 2);
    site.edit("main", |spec| spec.paused = false);
    assert_eq!(site.count(Step::Offered), 1);
}

#[test]
fn a_paused_rollout_opens_no_wave_and_its_soak_runs_on() {
    let mut site = Site::rolling(3, |_| {});
    let canary = site.canary();
    site.update(&canary);
    site.gives(pause());
    site.wait(SOAK);
    assert_eq!((site.noted(What::WaveProven), site.noted(What::WaveOpened)), (1, 1));
    site.lifts(pause());
    assert_eq!(site.noted(What::WaveOpened), 2, "at once");
}

#[test]
fn a_download_that_idles_is_hidden_by_an_order_and_goes_on_under_its_id() {
    for order in [pause(), hold("g1")] {
        let mut site = Site::rolling(1, |_| {});
        site.fetch("g1");
        let action = site.order("g1");
        site.gives(order.clone());
        site.wait(minutes(5));
        assert!(matches!(site.at("g1"), PAUSED | HELD) && !site.sees_link("g1"), "{order}");
        site.lifts(order);
        assert_eq!((site.at("g1"), site.order("g1")), (Step::Offered, action));
    }
}

#[test]
fn a_hold_takes_the_offer_back_and_outlives_everything_until_it_is_lifted() {
    let mut site = Site::rolling(1, |_| {});
    assert_eq!(site.gives(hold("g1")), Verdict::Accepted);
    assert!(site.at("g1") == HELD && !site.sees_link("g1"));
    site.hold("g1", true);
    site.hold("g1", false);
    assert_eq!(site.at("g1"), HELD, "its spec says go");
    site.gateways.clear();
    site.list();
    site.declare_gateways(1);
    site.list();
    site.edit("main", |spec| *spec = rollout("os", "3"));
    site.verify();
    site.restart();
    site.list();
    site.verify();
    site.seen("g1");
    assert_eq!(site.at("g1"), HELD);
    assert_eq!(site.lifts(hold("g1")), Verdict::Accepted);
    assert_eq!(site.at("g1"), Step::Offered);
}

#[test]
fn a_hold_of_the_spec_is_not_lifted_by_a_person() {
    let mut site = Site::rolling(1, |_| {});
    site.hold("g1", true);
    assert_eq!(site.lifts(hold("g1")), Verdict::Already);
    site.gives(hold("g1"));
    site.lifts(hold("g1"));
    assert_eq!(site.at("g1"), HELD);
    site.hold("g1", false);
    assert_eq!(site.at("g1"), Step::Offered);
}

#[test]
fn cancelled_on_the_spot_a_rollout_is_called_off_as_by_its_spec() {
    let mut site = Site::rolling_on(4, |_| {});
    let rest = site.rest();
    site.fetch(&rest[0]);
    assert_eq!(site.gives(cancel()), Verdict::Accepted);
    assert_eq!(site.count(CANCELLED), 2);
    assert_eq!(site.at(&rest[0]), Step::Waiting(WaitingReason::Cancelling));
    let row = site.journal.iter().find(|row| row.what == What::RolloutCancelled).unwrap();
    assert_eq!(row.detail, "on the spot, by alice (uid 1000)");
}

#[test]
fn no_later_version_of_a_cancelled_name_begins_until_it_is_resumed_and_what_was_called_off_stays_so() {
    let mut site = Site::rolling(3, |_| {});
    site.gives(cancel());
    site.edit("main", |spec| *spec = rollout("os", "3"));
    site.verify();
    site.restart();
    site.list();
    site.verify();
    site.everybody_polls();
    assert_eq!((site.count(PAUSED), site.noted(What::Offered)), (3, 1), "only the canary of before");
    let Phase::Stalled(StalledReason::Cancelled, text) = site.phase() else { panic!("{:?}", site.phase()) };
    assert!(text.contains("by alice (uid 1000)") && text.contains("resume main"), "{text}");
    site.lifts(cancel());
    assert_eq!(site.count(Step::Offered), 1, "the version that came meanwhile begins");

    let mut site = Site::rolling(3, |_| {});
    site.gives(cancel());
    site.lifts(cancel());
    assert_eq!(site.count(CANCELLED), 3, "what was called off stays so");
    assert!(matches!(site.phase(), Phase::Stalled(StalledReason::Cancelled, _)));
    site.edit("main", |spec| *spec = rollout("os", "3"));
    site.verify();
    assert_eq!(site.count(Step::Offered), 1);
}

#[test]
fn cancelling_again_calls_off_the_version_that_came_meanwhile() {
    let mut site = Site::rolling(2, |_| {});
    site.gives(cancel());
    site.edit("main", |spec| *spec = rollout("os", "3"));
    assert_eq!(site.gives(cancel()), Verdict::Accepted);
    assert_eq!(site.gives(cancel()), Verdict::Already);
    site.lifts(cancel());
    assert_eq!(site.count(CANCELLED), 2);
}

#[test]
fn after_a_retry_the_failed_begin_again_with_all_their_attempts() {
    let mut site = Site::rolling(2, |spec| (spec.attempts, spec.strategy.max_failures) = (1, amount("1")));
    let (canary, rest) = (site.canary(), site.rest());
    site.fail(&canary);
    assert!(matches!(site.phase(), Phase::Stalled(StalledReason::FailureLimit, _)));
    let before = site.member(&canary).action.as_ref().unwrap().id;
    assert_eq!(site.orders(Order::Retry(main_rollout(), vec![])), Verdict::Accepted);
    assert_eq!(site.at(&canary), Step::Offered, "at once");
    assert_ne!(site.order(&canary), before);
    assert_eq!(site.member(&canary).attempts, 0);
    site.restart();
    site.list();
    site.verify();
    site.everybody_polls();
    assert!(site.main().tripped.is_none() && site.at(&canary) == Step::Offered);
    site.update(&canary);
    site.wait(SOAK);
    assert_eq!(site.at(&rest[0]), Step::Offered);
    let row = site.journal.iter().find(|row| row.detail.starts_with("retry, by alice")).unwrap();
    assert_eq!(row.gateway.as_deref(), Some(canary.as_str()));
}

#[test]
fn a_retry_of_some_leaves_the_others_failed_and_the_limit_counts_them() {
    let mut site = Site::rolling_on(5, |spec| (spec.attempts, spec.strategy.max_failures) = (1, amount("2")));
    let rest = site.rest();
    site.fail(&rest[0]);
    site.fail(&rest[1]);
    assert!(site.main().tripped.is_some());
    assert_eq!(site.orders(Order::Retry(main_rollout(), vec![id(&rest[0])])), Verdict::Accepted);
    assert!(site.main().tripped.is_none(), "one is below the limit");
    assert!(matches!(site.at(&rest[1]), Step::Failed(_)));
    site.fail(&rest[0]);
    assert!(site.main().tripped.is_some(), "and two are not");
    let nobody = vec![id(&rest[2])];
    assert_eq!(site.orders(Order::Retry(main_rollout(), nobody)), Verdict::Already, "it has not failed");
}

#[test]
fn an_order_of_before_a_retry_still_counts_when_it_succeeds_after_all() {
    let mut site = Site::rolling(1, |spec| spec.attempts = 1);
    site.fail("g1");
    let old = site.member("g1").action.as_ref().unwrap().id;
    site.orders(Order::Retry(main_rollout(), vec![]));
    assert!(site.member("g1").action.as_ref().unwrap().answers_to(old));
    site.reports("g1", "2");
    assert_eq!(site.at("g1"), Step::Updated);
}

#[test]
fn a_retry_lets_those_go_on_of_whom_it_is_not_known_what_they_run() {
    let mut site = Site::new();
    site.happens(Event::StoreLost("set aside".into()));
    site.declare_gateways(2);
    site.rollouts.insert("main".into(), rollout("os", "2"));
    site.list();
    site.everybody_polls();
    site.verify();
    site.orders(Order::Resume);
    assert_eq!(site.count(Step::Waiting(WaitingReason::UnknownVersion)), 2);
    assert_eq!(site.orders(Order::Retry(main_rollout(), vec![])), Verdict::Accepted);
    assert_eq!(site.count(Step::Offered), 1);
}

#[test]
fn a_retry_takes_no_hold_or_pause_away() {
    let mut site = Site::rolling(1, |spec| spec.attempts = 1);
    site.fail("g1");
    site.gives(hold("g1"));
    site.gives(pause());
    site.orders(Order::Retry(main_rollout(), vec![]));
    assert_eq!(site.at("g1"), HELD);
    site.lifts(hold("g1"));
    assert_eq!(site.at("g1"), PAUSED);
}

/// A canary, and two waves that persons open.
fn with_manual_waves(spec: &mut RolloutSpec) {
    let manual = |name: &str| WaveSpec {
        name: Some(name.into()),
        size: amount("2"),
        approval: Approval::Manual,
        ..WaveSpec::CANARY
    };
    spec.strategy.waves = vec![WaveSpec::CANARY, manual("line-1"), manual("line-2")];
}

fn approve(waves: &[&str]) -> Order {
    Order::Approve(main_rollout(), waves.iter().map(ToString::to_string).collect())
}

#[test]
fn an_approval_opens_the_wave_that_waits_and_no_other_and_is_kept() {
    let mut site = Site::rolling(6, with_manual_waves);
    assert_eq!(unapproved(site.core.state(), site.main()), (vec!["line-1".into(), "line-2".into()], None));
    let canary = site.canary();
    site.update(&canary);
    site.wait(SOAK);
    assert_eq!(unapproved(site.core.state(), site.main()).1.as_deref(), Some("line-1"));
    assert_eq!(site.orders(approve(&["line-1"])), Verdict::Accepted);
    assert_eq!(site.count(Step::Offered), 2, "at once");
    assert_eq!(site.orders(approve(&["line-1"])), Verdict::Already);
    assert_eq!(site.ordered(), ["approve wave line-1, by alice (uid 1000)"]);
    site.restart();
    site.list();
    site.verify();
    assert!(site.main().approved.contains("line-1"), "kept");
    assert_eq!(unapproved(site.core.state(), site.main()), (vec!["line-2".into()], None));
}

#[test]
fn an_approval_of_before_opens_the_wave_when_its_turn_comes() {
    let mut site = Site::rolling(6, with_manual_waves);
    site.orders(approve(&["line-1", "line-2"]));
    assert_eq!(site.count(Step::Offered), 1);
    let canary = site.canary();
    site.update(&canary);
    site.wait(SOAK);
    assert_eq!(site.count(Step::Offered), 2);
}

#[test]
fn an_approval_is_bound_to_the_version() {
    let mut site = Site::rolling(6, with_manual_waves);
    site.orders(approve(&["line-1", "line-2"]));
    site.edit("main", |spec| {
        *spec = rollout("os", "3");
        with_manual_waves(spec);
    });
    site.verify();
    assert_eq!(unapproved(site.core.state(), site.main()).0.len(), 2);
}
