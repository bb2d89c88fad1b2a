//! Plans and expectations: what is said before anything is offered is what happens then.

use lamplighter::engine::{Awaited, Expectation, Plan, Step, declared, expected, expected_of, plan};
use lamplighter::model::*;

use super::site::*;

const PAUSED: Option<WaitingReason> = Some(WaitingReason::Paused);
const NOT_OPEN: Option<WaitingReason> = Some(WaitingReason::WaveNotOpen);
const OFFLINE: Option<WaitingReason> = Some(WaitingReason::Offline);

fn main_id(site: &Site) -> RolloutId {
    let mut rollouts = site.core.state().rollouts.iter();
    *rollouts.find(|(_, rollout)| rollout.identity.0 == "main" && !rollout.replaced).unwrap().0
}

fn of_main(site: &Site) -> Plan<'_> {
    plan(site.core.state(), main_id(site), site.now).unwrap()
}

fn members(plan: &Plan<'_>, wave: usize) -> Vec<String> {
    plan.waves[wave].members.iter().map(|member| member.gateway.to_string()).collect()
}

fn waves(sizes: &[&str]) -> Vec<WaveSpec> {
    sizes.iter().map(|size| WaveSpec { size: amount(size), ..WaveSpec::CANARY }).collect()
}

#[test]
fn a_plan_says_the_waves_and_the_order_that_are_frozen_later() {
    let mut site = Site::rolling(10, |spec| {
        spec.paused = true;
        spec.strategy.waves = waves(&["1", "30%"]);
        (spec.strategy.max_in_flight, spec.strategy.max_failures) = (amount("20%"), amount("50%"));
    });
    let before = of_main(&site);
    assert!(site.main().frozen.is_none());
    assert_eq!((before.total, before.halt, before.in_flight, before.max_failures), (10, PAUSED, (2, 0), 5));
    assert_eq!(
        before.waves.iter().map(|wave| (wave.wave.size, wave.max_failures)).collect::<Vec<_>>(),
        [(1, 1), (3, 2), (6, 3)]
    );
    assert!(before.waves.iter().flat_map(|wave| &wave.members).all(|member| member.holds == PAUSED));
    let said: Vec<_> = (0..3).map(|wave| members(&before, wave)).collect();
    site.edit("main", |spec| spec.paused = false);
    let after = of_main(&site);
    assert_eq!((0..3).map(|wave| members(&after, wave)).collect::<Vec<_>>(), said);
    assert_eq!(after.waves[0].members[0].step, Step::Offered);
}

#[test]
fn a_plan_says_what_holds_a_member_now_and_what_would_once_its_wave_is_open() {
    let mut site = Site::rolling(5, |_| {});
    let rest = site.rest();
    site.offline(&rest[0]);
    site.hold(&rest[1], true);
    site.reports(&rest[2], "2");
    let plan = of_main(&site);
    let of = |name: &str| plan.waves[1].members.iter().find(|it| it.gateway.as_str() == name).unwrap();
    assert_eq!((of(&rest[0]).holds, of(&rest[0]).then), (NOT_OPEN, OFFLINE));
    assert_eq!((of(&rest[1]).holds, of(&rest[1]).then), (Some(WaitingReason::Held), None));
    assert_eq!(of(&rest[2]).skip, Some(SkippedReason::AlreadyInstalled));
    assert_eq!((of(&rest[3]).holds, of(&rest[3]).then), (NOT_OPEN, None));
}

#[test]
fn before_the_freeze_a_plan_says_who_has_the_version_already() {
    let mut site = Site::rolling(3, |spec| spec.paused = true);
    site.reports("g2", "2");
    let plan = of_main(&site);
    let mut all = plan.waves.iter().flat_map(|wave| &wave.members);
    assert_eq!(all.find(|it| it.gateway.as_str() == "g2").unwrap().skip, Some(SkippedReason::AlreadyInstalled));
}

#[test]
fn a_plan_says_that_there_is_no_room_and_for_how_many_there_is() {
    let site = Site::rolling_on(6, |spec| spec.strategy.max_in_flight = amount("2"));
    let plan = of_main(&site);
    assert_eq!(plan.in_flight, (2, 2));
    let full = |member: &&lamplighter::engine::Planned<'_>| member.holds == Some(WaitingReason::MaxInFlight);
    assert_eq!(plan.waves[1].members.iter().filter(full).count(), 3);
}

#[test]
fn joiners_are_planned_after_the_last_wave() {
    let mut site = Site::rolling(3, |_| {});
    site.declare_gateways(4);
    site.list();
    let plan = of_main(&site);
    assert_eq!(plan.total, 3);
    assert_eq!(plan.joiners.iter().map(|it| (it.gateway.as_str(), it.holds)).collect::<Vec<_>>(), [("g4", NOT_OPEN)]);
}

#[test]
fn what_is_not_declared_yet_is_planned_beside_what_is_and_stays_undeclared() {
    let site = Site::rolling(4, |_| {});
    let before = format!("{:?}", site.core.state());
    let mut intents = vec![Intent::Rollout(Identity("next".into()), Box::new(rollout("os", "3")))];
    intents.push(Intent::Gateway(gateway("g5")));
    let (state, concerned) = declared(site.core.state(), Now { site: site.now, wall: None }, intents);
    let plans: Vec<_> = concerned.iter().map(|id| plan(&state, *id, site.now).unwrap()).collect();
    assert_eq!(plans.len(), 2, "the new one, and that which gets a joiner");
    assert_eq!((plans[0].total, plans[0].takes_over.as_slice()), (5, &[(&Identity("main".into()), 5)][..]));
    assert_eq!(plans[1].joiners.len(), 1);
    assert_eq!(plans[0].halt, Some(WaitingReason::ArtifactNotVerified));
    let free = plans[0].waves.iter().flat_map(|wave| &wave.members).filter(|member| member.then.is_none()).count();
    assert!(free >= 3, "all but the busy canary and the one that never polled: {:?}", plans[0].waves);
    assert_eq!(format!("{:?}", site.core.state()), before);
}

#[test]
fn a_plan_respects_orders_that_stand_for_a_name_that_is_not_there_yet() {
    let mut site = Site::rolling(2, |_| {});
    let name = Identity("main".into());
    site.happens(Event::Order(Order::Give(StandingOrder::Pause(name.clone()), None), "me".into()));
    let intents = vec![Intent::Rollout(name, Box::new(rollout("os", "3")))];
    let (state, concerned) = declared(site.core.state(), Now { site: site.now, wall: None }, intents);
    assert_eq!(plan(&state, concerned[0], site.now).unwrap().halt, PAUSED);
}

fn expects(site: &Site, gateway: &str) -> Option<Expectation> {
    expected(site.core.state(), site.main(), site.member(gateway), site.now)
}

fn rollout_expects(site: &Site) -> Option<Awaited> {
    expected_of(site.core.state(), site.main(), site.now).map(|expected| expected.what)
}

#[test]
fn what_a_member_waits_for_and_until_when() {
    let mut site = Site::rolling(3, |_| {});
    let (canary, rest) = (site.canary(), site.rest());
    assert_eq!(expects(&site, &rest[0]), Some(Expectation { what: Awaited::Wave(1), at: None }));
    let deadline = site.member(&canary).action.as_ref().unwrap().deadline;
    assert_eq!(expects(&site, &canary), Some(Expectation { what: Awaited::Gateway, at: deadline }));
    site.fail(&canary);
    let retry_at = site.member(&canary).retry_at;
    assert!(retry_at.is_some());
    assert_eq!(expects(&site, &canary), Some(Expectation { what: Awaited::Retry, at: retry_at }));
    site.wait(minutes(2));
    site.update(&canary);
    assert_eq!(expects(&site, &canary), None);
    let soaks = Expectation { what: Awaited::Soak(1), at: Some(site.now.plus(SOAK)) };
    assert_eq!((expects(&site, &rest[0]), rollout_expects(&site)), (Some(soaks), Some(Awaited::Soak(1))));
    site.hold(&rest[0], true);
    assert_eq!(expects(&site, &rest[0]).unwrap().what, Awaited::Person);
    site.offline(&rest[1]);
    site.wait(SOAK);
    assert_eq!(expects(&site, &rest[1]).unwrap().what, Awaited::Gateway);
    site.edit("main", |spec| spec.paused = true);
    assert_eq!(rollout_expects(&site), Some(Awaited::Person));
}

#[test]
fn a_rollout_that_is_done_waits_for_nothing() {
    let mut site = Site::rolling(1, |_| {});
    assert_eq!(rollout_expects(&site), Some(Awaited::Wave(1)));
    site.update("g1");
    site.wait(SOAK);
    assert_eq!(rollout_expects(&site), None);
}

#[test]
fn a_plan_counts_only_those_for_whom_there_is_a_file_as_the_freeze_does() {
    let mut site = Site::rolling(5, |spec| {
        spec.paused = true;
        spec.strategy.waves = waves(&["50%"]);
        (spec.strategy.max_in_flight, spec.strategy.max_failures) = (amount("50%"), amount("50%"));
        let first = Selector { match_labels: [("soc".into(), "imx8".into())].into() };
        spec.variants = Some(Variants { first, others: Vec::new() });
    });
    for name in ["g1", "g2"] {
        site.gateways.get_mut(name).unwrap().labels.insert("soc".into(), "imx8".into());
    }
    site.list();
    let before = of_main(&site);
    let said = (before.total, before.in_flight.0, before.max_failures);
    assert_eq!(said, (2, 1, 1), "three have no file");
    site.edit("main", |spec| spec.paused = false);
    let after = of_main(&site);
    assert_eq!((after.total, after.in_flight.0, after.max_failures), said);
}

#[test]
fn a_plan_without_the_pause_holds_nobody_back_because_of_it() {
    let site = Site::rolling(1, |spec| spec.paused = true);
    let spec = RolloutSpec { paused: false, ..site.rollouts["main"].clone() };
    let intents = vec![Intent::Rollout(Identity("main".into()), spec.into())];
    let (state, _) = declared(site.core.state(), Now { site: site.now, wall: None }, intents);
    let after = plan(&state, main_id(&site), site.now).unwrap();
    assert_eq!(after.waves[0].members[0].holds.filter(|holds| *holds != WaitingReason::WaveNotOpen), None);
}
