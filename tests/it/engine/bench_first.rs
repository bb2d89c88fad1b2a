//! Waves with selectors, and what gateways report as a label.

use lamplighter::engine::{Phase, Step};
use lamplighter::model::*;

use super::site::*;

fn selector(pairs: &[(&str, &str)]) -> Selector {
    Selector { match_labels: pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect() }
}

fn bench(size: &str) -> WaveSpec {
    WaveSpec {
        name: Some("bench".into()),
        size: amount(size),
        selector: Some(selector(&[("role", "bench")])),
        ..WaveSpec::CANARY
    }
}

/// So many gateways, the first three of which are on the bench; not listed yet.
fn with_bench(gateways: usize, edit: impl FnOnce(&mut RolloutSpec)) -> Site {
    let mut site = Site::new();
    site.declare_gateways(gateways);
    for name in ["g1", "g2", "g3"] {
        let labels = [("site".into(), "hall".into()), ("role".into(), "bench".into())].into();
        site.gateways.get_mut(name).unwrap().labels = labels;
    }
    let mut spec = rollout("os", "2");
    edit(&mut spec);
    site.rollouts.insert("main".into(), spec);
    site.list();
    site.everybody_polls();
    site.verify();
    site
}

fn in_wave(site: &Site, at: u16) -> Vec<String> {
    let queue = site.queue();
    queue.iter().filter(|id| site.main().members[*id].wave == Some(at)).map(ToString::to_string).collect()
}

#[test]
fn a_wave_with_a_selector_takes_all_that_it_means_if_no_size_is_given() {
    let site = with_bench(8, |spec| spec.strategy.waves = vec![bench("100%"), WaveSpec::CANARY]);
    let mut first = in_wave(&site, 0);
    first.sort();
    assert_eq!(first, ["g1", "g2", "g3"]);
    assert_eq!((in_wave(&site, 1).len(), in_wave(&site, 2).len()), (1, 4));
    assert_eq!(site.count(Step::Offered), 3);
}

#[test]
fn what_a_wave_with_a_selector_does_not_take_stays_for_later_waves_in_the_frozen_order() {
    let site = with_bench(8, |spec| spec.strategy.waves = vec![bench("2")]);
    let artifact = &site.main().spec.artifact.key;
    let key = |name: &String| lamplighter::engine::order_key(&artifact.name, artifact.version.as_str(), name);
    let mut benched = ["g1", "g2", "g3"].map(String::from);
    benched.sort_by_key(key);
    assert_eq!(in_wave(&site, 0), benched[..2]);
    assert!(in_wave(&site, 1).contains(&benched[2]) && in_wave(&site, 1).len() == 6);
    assert!(in_wave(&site, 1).is_sorted_by_key(key));
}

#[test]
fn a_bench_without_a_gateway_is_not_passed_over() {
    let mut site = with_bench(4, |spec| {
        spec.strategy.waves = vec![WaveSpec { selector: Some(selector(&[("role", "lab")])), ..bench("2") }];
    });
    let Phase::Stalled(StalledReason::WavesImpossible, text) = site.phase() else { panic!("{:?}", site.phase()) };
    assert_eq!(text, "no member is what the selector of wave bench asks for");
    assert!(site.main().frozen.is_none() && site.count(Step::Offered) == 0);
    let labels = [("site".into(), "hall".into()), ("role".into(), "lab".into())].into();
    site.gateways.get_mut("g4").unwrap().labels = labels;
    site.list();
    assert_eq!(site.at("g4"), Step::Offered);
}

#[test]
fn a_wave_whose_members_are_all_in_earlier_waves_is_none() {
    let site = with_bench(3, |spec| {
        spec.strategy.waves = vec![WaveSpec { size: amount("3"), ..WaveSpec::CANARY }, bench("2")];
    });
    assert_eq!(site.main().frozen.as_ref().unwrap().waves.len(), 1);
    assert_eq!(site.count(Step::Offered), 3);
}

#[test]
fn more_to_be_updated_than_there_are_members_is_refused_before_anything_is_offered() {
    let mut site = with_bench(6, |spec| {
        spec.strategy.waves = vec![WaveSpec { min_updated: amount("5"), ..bench("100%") }];
    });
    let Phase::Stalled(StalledReason::WavesImpossible, text) = site.phase() else { panic!("{:?}", site.phase()) };
    assert_eq!(text, "wave bench has 3 members, and its minUpdated asks for 5");
    assert_eq!(site.count(Step::Offered), 0);
    site.edit("main", |spec| spec.strategy.waves = vec![WaveSpec { min_updated: amount("3"), ..bench("100%") }]);
    assert_eq!(site.count(Step::Offered), 3);
}

#[test]
fn a_wave_needs_as_many_updated_as_it_says() {
    let strict = |spec: &mut RolloutSpec| {
        (spec.attempts, spec.strategy.waves) = (1, vec![WaveSpec { min_updated: amount("100%"), ..bench("100%") }]);
    };
    let mut site = with_bench(6, strict);
    site.update("g1");
    site.update("g2");
    site.offline("g3");
    site.wait(minutes(600));
    assert_eq!(site.noted(What::WaveProven), 0, "an offline gateway may come back");
    site.seen("g3");
    site.fail("g3");
    assert!(matches!(site.phase(), Phase::Stalled(StalledReason::WaveUnproven, _)), "{:?}", site.phase());

    let mut site = with_bench(6, strict);
    for gateway in ["g1", "g2"] {
        site.update(gateway);
    }
    site.hold("g3", true);
    site.wait(SOAK);
    assert_eq!(site.noted(What::WaveProven), 1, "those held do not count");
}

#[test]
fn a_share_to_be_updated_is_rounded_up_and_at_least_one() {
    let mut site = with_bench(6, |spec| {
        (spec.attempts, spec.strategy.waves) = (1, vec![WaveSpec { min_updated: amount("34%"), ..bench("100%") }]);
    });
    site.fail("g1");
    site.update("g2");
    site.fail("g3");
    assert!(matches!(site.phase(), Phase::Stalled(StalledReason::WaveUnproven, _)), "34% of 3 is 2");
}

#[test]
fn a_bench_that_is_all_offline_proves_nothing_whatever_must_be_updated_of_it() {
    let mut site =
        with_bench(6, |spec| spec.strategy.waves = vec![WaveSpec { min_updated: amount("1"), ..bench("100%") }]);
    for gateway in ["g1", "g2", "g3"] {
        site.offline(gateway);
        site.wait(minutes(10));
    }
    site.wait(minutes(6_000));
    assert_eq!((site.noted(What::WaveProven), site.count(Step::Waiting(WaitingReason::WaveNotOpen))), (0, 3));
    assert!(matches!(site.phase(), Phase::Reconciling(ReconcilingReason::WaveOpen, _)));
}

#[test]
fn what_a_gateway_reports_selects_it_until_the_members_are_frozen() {
    let mut site = Site::rolling(4, |spec| {
        spec.selector.match_labels.insert("attr.lamplighter.dev/hw".into(), "b".into());
    });
    let hw = |site: &mut Site, gateway: &str, hw: &str| {
        site.attributes(gateway, AttributesMode::Merge, &[("hw", Some(hw))]);
    };
    assert!(site.main().members.is_empty());
    site.edit("main", |spec| spec.paused = true);
    hw(&mut site, "g1", "b");
    hw(&mut site, "g2", "b");
    assert_eq!(site.main().members.len(), 2);
    hw(&mut site, "g2", "a");
    assert_eq!(site.main().members.len(), 1, "before the freeze it follows what it reports");
    hw(&mut site, "g2", "b");
    site.edit("main", |spec| spec.paused = false);
    hw(&mut site, "g1", "a");
    hw(&mut site, "g2", "a");
    site.list();
    site.restart();
    site.list();
    site.verify();
    assert_eq!(site.count(Step::Offered) + site.count(Step::Waiting(WaitingReason::WaveNotOpen)), 2);
    hw(&mut site, "g3", "b");
    assert!(site.member("g3").joiner, "one that reports it later joins");
    // a person's edit goes by what is known now
    site.edit("main", |spec| {
        spec.selector.match_labels.insert("attr.lamplighter.dev/hw".into(), "c".into());
    });
    assert_eq!(site.count(Step::Skipped(SkippedReason::NotSelected)), 3);
}

#[test]
fn a_wave_selects_by_what_gateways_reported_at_the_freeze() {
    let mut site = Site::rolling(4, |spec| {
        let board = selector(&[("attr.lamplighter.dev/hw", "b")]);
        spec.strategy.waves = vec![WaveSpec { selector: Some(board), size: amount("100%"), ..WaveSpec::CANARY }];
    });
    assert!(matches!(site.phase(), Phase::Stalled(StalledReason::WavesImpossible, _)));
    site.attributes("g3", AttributesMode::Merge, &[("hw", Some("b"))]);
    assert_eq!((site.at("g3"), in_wave(&site, 0)), (Step::Offered, vec!["g3".into()]));
    site.attributes("g4", AttributesMode::Merge, &[("hw", Some("b"))]);
    site.attributes("g3", AttributesMode::Merge, &[("hw", Some("a"))]);
    site.edit("main", |spec| spec.strategy.max_failures = amount("7"));
    assert_eq!(in_wave(&site, 0), ["g3"]);
}
