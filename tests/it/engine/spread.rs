//! Spread and the site's cap: a line is a line, whoever updates it; what can never be met is said.

use lamplighter::engine::{Phase, Step, because};
use lamplighter::model::*;

use super::site::*;

const SPREAD: Step = Step::Waiting(WaitingReason::Spread);
const MAX_IN_FLIGHT: Step = Step::Waiting(WaitingReason::MaxInFlight);
const MIN_HEALTHY: Step = Step::Waiting(WaitingReason::MinHealthy);

/// What holds for each line.
fn per_line(max_in_flight: Option<&str>, min_healthy: Option<&str>) -> Spread {
    Spread { label: "line".into(), max_in_flight: max_in_flight.map(amount), min_healthy: min_healthy.map(amount) }
}

/// Gateways `g1`, `g2` … with these lines, all polling, and the rollout `main` with one wave.
fn lines(lines: &[&str], edit: impl FnOnce(&mut RolloutSpec)) -> Site {
    let mut site = Site::new();
    site.declare_gateways(lines.len());
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| !line.is_empty()) {
        let spec = site.gateways.get_mut(&format!("g{}", at + 1)).unwrap();
        spec.labels.insert("line".into(), (*line).into());
    }
    let mut spec = rollout("os", "2");
    spec.strategy.waves = vec![WaveSpec::REST];
    edit(&mut spec);
    site.rollouts.insert("main".into(), spec);
    site.list();
    site.everybody_polls();
    site.verify();
    site
}

fn because_of(site: &Site, gateway: &str) -> String {
    let state = site.core.state();
    let main = state.rollouts.iter().find(|(_, rollout)| rollout.identity.0 == "main").unwrap().0;
    because(state, site.now, *main, &id(gateway)).unwrap_or_default()
}

/// The first gateway at a step.
fn one(site: &Site, step: Step) -> String {
    site.main().members.iter().find(|(_, member)| member.step == step).unwrap().0.to_string()
}

#[test]
fn one_gateway_of_each_line_at_a_time() {
    let mut site = lines(&["a", "a", "a", "b", "b"], |spec| spec.strategy.spread = Some(per_line(Some("1"), None)));
    assert_eq!((site.count(Step::Offered), site.count(SPREAD)), (2, 3));
    let waits = one(&site, SPREAD);
    assert!(because_of(&site, &waits).contains("1 gateway under way, 1 may be"), "{}", because_of(&site, &waits));
    while site.count(Step::Updated) < 5 {
        let next = one(&site, Step::Offered);
        site.update(&next);
        let at_once = |line: &str| {
            let members = site.main().members.iter().filter(|(_, member)| member.step.is_in_flight());
            members.filter(|(id, _)| site.gateways[id.as_str()].labels.get("line") == Some(line)).count()
        };
        assert!(at_once("a") <= 1 && at_once("b") <= 1);
    }
}

#[test]
fn a_share_of_a_line_is_one_of_its_declared_gateways() {
    let site = lines(&["a", "a", "a", "a", "b"], |spec| spec.strategy.spread = Some(per_line(Some("50%"), None)));
    assert_eq!((site.count(Step::Offered), site.count(SPREAD)), (3, 2));
}

#[test]
fn a_gateway_without_the_label_is_held_until_it_has_one() {
    let mut site = lines(&["a", ""], |spec| spec.strategy.spread = Some(per_line(Some("1"), None)));
    assert_eq!((site.at("g1"), site.at("g2")), (Step::Offered, SPREAD));
    assert!(because_of(&site, "g2").contains("no label line"));
    site.update("g1");
    let Phase::Stalled(StalledReason::SpreadImpossible, why) = site.phase() else { panic!("{:?}", site.phase()) };
    assert_eq!(why, "g2 has no label line; give it one");
    site.gateways.get_mut("g2").unwrap().labels.insert("line".into(), "b".into());
    site.list();
    assert_eq!(site.at("g2"), Step::Offered);
    site.gateways.get_mut("g2").unwrap().labels.remove("line");
    site.list();
    assert_eq!((site.at("g2"), site.sees_link("g2")), (SPREAD, false), "an unfetched offer goes back with the label");
}

#[test]
fn another_rollout_on_the_same_line_counts() {
    let mut site = lines(&["a", "a"], |spec| {
        spec.strategy.spread = Some(per_line(Some("1"), None));
        spec.selector.match_labels.insert("half".into(), "1".into());
    });
    site.gateways.get_mut("g1").unwrap().labels.insert("half".into(), "1".into());
    site.gateways.get_mut("g2").unwrap().labels.insert("half".into(), "2".into());
    let mut other = rollout("plc", "7");
    other.strategy.waves = vec![WaveSpec::REST];
    other.selector.match_labels.insert("half".into(), "2".into());
    site.rollouts.insert("other".into(), other);
    site.list();
    site.verify();
    // the other says nothing of lines: it goes, and counts, at the latest at the fetch
    assert_eq!((site.at_in("other", "g2"), site.fetch("g1")), (Step::Offered, Verdict::Withdrawn));
    assert_eq!(site.at("g1"), SPREAD);
    site.download("g2");
    site.says("g2", failure());
    assert_eq!(site.at("g1"), Step::Offered, "it is no longer under way");
}

#[test]
fn both_of_a_pair_waiting_go_one_after_another_and_never_see_both_links() {
    let mut site = lines(&["p", "p"], |spec| spec.strategy.spread = Some(per_line(None, Some("1"))));
    assert_eq!((site.count(Step::Offered), site.count(MIN_HEALTHY)), (1, 1));
    let (first, second) = (one(&site, Step::Offered), one(&site, MIN_HEALTHY));
    assert!(because_of(&site, &second).contains("is offered its update"), "{}", because_of(&site, &second));
    site.download(&first);
    assert_eq!(site.at(&second), MIN_HEALTHY);
    assert!(because_of(&site, &second).contains("is being updated"));
    site.says(&first, success());
    assert_eq!((site.at(&first), site.at(&second)), (Step::Confirming, MIN_HEALTHY), "it may reboot only now");
    site.reports(&first, "2");
    assert_eq!((site.at(&first), site.at(&second)), (Step::Updated, Step::Offered));
    site.update(&second);
    assert_eq!(site.at(&second), Step::Updated);
}

#[test]
fn a_link_that_was_shown_before_the_spread_was_goes_back() {
    let mut site = lines(&["p", "p"], |_| {});
    assert_eq!(site.count(Step::Offered), 2);
    site.edit("main", |spec| spec.strategy.spread = Some(per_line(None, Some("1"))));
    assert_eq!((site.count(Step::Offered), site.count(MIN_HEALTHY)), (1, 1));
}

#[test]
fn a_fetch_that_races_its_partners_fetch_is_withheld() {
    let mut site = lines(&["p", "p"], |_| {});
    let orders = [("g1", site.order("g1")), ("g2", site.order("g2"))];
    let mut spec = site.rollouts["main"].clone();
    spec.strategy.spread = Some(per_line(None, Some("1")));
    let mut intents: Vec<_> = site.gateways.values().cloned().map(Intent::Gateway).collect();
    intents.push(Intent::Rollout(Identity("main".into()), spec.into()));
    let mut events = vec![Event::Listed(Listing { intents, refused: vec![] })];
    events.extend(orders.map(|(gateway, order)| Event::Fetched(id(gateway), order)));
    let verdicts = site.step(events);
    let granted = verdicts.iter().filter(|verdict| **verdict == Verdict::Deploy).count();
    assert_eq!((granted, site.count(Step::Downloading)), (1, 1), "{verdicts:?}");
}

#[test]
fn min_healthy_that_equals_the_group_is_stalled_once_nothing_else_can_move() {
    let mut site = lines(&["p", "p", "q", "q", "q"], |spec| spec.strategy.spread = Some(per_line(None, Some("2"))));
    assert_eq!(site.count(Step::Offered), 1, "of the three, two stay");
    assert!(matches!(site.phase(), Phase::Reconciling(..)));
    for _ in 0..3 {
        let next = one(&site, Step::Offered);
        site.update(&next);
    }
    let Phase::Stalled(StalledReason::SpreadImpossible, why) = site.phase() else { panic!("{:?}", site.phase()) };
    let expected = "line p has 2 gateways, and minHealthy wants 2 healthy beside the one that is updated; use less";
    assert_eq!(why, expected);
    assert_eq!(because_of(&site, "g1"), expected);
    site.edit("main", |spec| spec.strategy.spread = Some(per_line(None, Some("1"))));
    assert_eq!(site.count(Step::Offered), 1);
}

#[test]
fn what_only_waits_for_health_is_not_stalled() {
    let mut site = lines(&["p", "p"], |spec| spec.strategy.spread = Some(per_line(None, Some("1"))));
    let first = one(&site, Step::Offered);
    let second = one(&site, MIN_HEALTHY);
    site.update(&first);
    site.quiet(&first);
    assert_eq!(site.at(&second), MIN_HEALTHY);
    assert!(matches!(site.phase(), Phase::Reconciling(ReconcilingReason::WaveOpen, _)), "{:?}", site.phase());
}

#[test]
fn the_site_has_a_cap_over_all_rollouts() {
    let mut site = lines(&["a", "a", "b", "b"], |spec| {
        spec.selector.match_labels = [("line".into(), "a".into())].into();
    });
    let mut other = rollout("plc", "7");
    other.strategy.waves = vec![WaveSpec::REST];
    other.selector.match_labels = [("line".into(), "b".into())].into();
    site.rollouts.insert("other".into(), other);
    site.settings.max_in_flight = 3;
    site.restart();
    site.list();
    site.everybody_polls();
    site.verify();
    let all = |site: &Site, step| {
        site.core.state().rollouts.values().flat_map(|r| r.members.values()).filter(|m| m.step == step).count()
    };
    assert_eq!((all(&site, Step::Offered), all(&site, MAX_IN_FLIGHT)), (3, 1));
    let held = ["g1", "g2", "g3", "g4"].into_iter().find(|g| site.board[&id(g)].offer.is_none()).unwrap();
    let name = if held < "g3" { "main" } else { "other" };
    let rollout = site.core.state().rollouts.iter().find(|(_, r)| r.identity.0 == name).unwrap().0;
    let why = because(site.core.state(), site.now, *rollout, &id(held)).unwrap();
    assert_eq!(why, "of all rollouts 3 are under way, 3 may be (limits.maxInFlight of the site file)");
    // one of the other rollout ends, and makes room
    let ends = ["g1", "g2", "g3", "g4"].into_iter().find(|g| (*g < "g3") != (held < "g3")).unwrap();
    site.download(ends);
    assert_eq!(all(&site, MAX_IN_FLIGHT), 1);
    site.says(ends, failure());
    assert_eq!(all(&site, MAX_IN_FLIGHT), 0);
}

#[test]
fn a_cap_that_is_lowered_while_an_offer_lies_holds_at_the_fetch() {
    let mut site = lines(&["a", "a"], |_| {});
    let mut settings = site.settings.clone();
    settings.max_in_flight = 1;
    site.happens(Event::Configured(settings, String::new()));
    assert_eq!(site.fetch("g1"), Verdict::Withdrawn, "two are under way");
    assert_eq!(site.at("g1"), MAX_IN_FLIGHT);
    assert_eq!(site.fetch("g2"), Verdict::Deploy);
}

#[test]
fn who_is_offered_first_counts_for_the_next_in_the_same_step() {
    let site = lines(&["p", "p", "p"], |spec| spec.strategy.spread = Some(per_line(None, Some("2"))));
    assert_eq!((site.count(Step::Offered), site.count(MIN_HEALTHY)), (1, 2));
    assert_eq!((site.noted(What::Offered), site.noted(What::Withdrawn)), (1, 0), "no link was shown and taken back");
}

#[test]
fn who_waits_for_a_person_or_for_power_hides_no_spread_that_can_never_be_met() {
    let mut site = lines(&["p", "p", "p", "p"], |spec| spec.strategy.spread = Some(per_line(None, Some("100%"))));
    site.hold("g1", true);
    site.offline("g2");
    assert_eq!(site.count(MIN_HEALTHY), 2);
    assert!(matches!(site.phase(), Phase::Stalled(StalledReason::SpreadImpossible, _)), "{:?}", site.phase());
}
