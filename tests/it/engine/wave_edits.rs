//! Edits while a rollout runs: waves that have not opened follow, the others stay and say so.

use lamplighter::engine::{Phase, Step, Wave, ignored};
use lamplighter::model::*;

use super::site::*;

fn wave(name: &str, size: &str) -> WaveSpec {
    WaveSpec { name: Some(name.into()), size: amount(size), ..WaveSpec::CANARY }
}

fn three(spec: &mut RolloutSpec) {
    spec.strategy.waves = vec![wave("one", "1"), wave("few", "3")];
}

fn waves(site: &Site) -> Vec<(&str, u32)> {
    site.main().frozen.as_ref().unwrap().waves.iter().map(|wave| (wave.name.as_str(), wave.size)).collect()
}

fn frozen(site: &Site, at: usize) -> &Wave {
    &site.main().frozen.as_ref().unwrap().waves[at]
}

#[test]
fn an_edit_changes_the_waves_that_have_not_opened() {
    let mut site = Site::rolling(10, three);
    assert_eq!(waves(&site), [("one", 1), ("few", 3), ("rest", 6)]);
    let queue = site.queue();
    site.edit("main", |spec| {
        spec.strategy.waves =
            vec![wave("one", "1"), wave("two", "2"), WaveSpec { soak: minutes(30), ..wave("half", "50%") }];
    });
    assert_eq!(waves(&site), [("one", 1), ("two", 2), ("half", 5), ("rest", 2)]);
    assert_eq!((site.queue(), ignored(site.main())), (queue, None), "the order stays");
    let sizes = [0, 1, 2, 3].map(|at| site.main().members.values().filter(|member| member.wave == Some(at)).count());
    assert_eq!(sizes, [1, 2, 5, 2]);
    site.restart();
    site.list();
    assert_eq!((waves(&site)[2], frozen(&site, 2).soak), (("half", 5), minutes(30)));
}

#[test]
fn an_edit_of_a_wave_that_has_opened_is_ignored_and_says_so_until_it_is_taken_back() {
    let mut site = Site::rolling(10, three);
    site.edit("main", |spec| {
        spec.strategy.waves = vec![WaveSpec { soak: minutes(1), ..wave("one", "5") }, wave("few", "2")];
    });
    assert_eq!(waves(&site), [("one", 1), ("few", 2), ("rest", 7)], "what has not opened follows all the same");
    assert_eq!(frozen(&site, 0).soak, SOAK);
    assert_eq!(ignored(site.main()).as_deref(), Some("wave one has opened, too late for another size and soak"));
    assert_eq!(site.noted(What::ChangeIgnored), 1);
    site.restart();
    site.list();
    assert!(ignored(site.main()).is_some() && site.noted(What::ChangeIgnored) == 1);
    site.edit("main", |spec| spec.strategy.waves = vec![wave("few", "2")]);
    assert_eq!(ignored(site.main()).as_deref(), Some("wave one has opened and stays as it was"));
    site.edit("main", three);
    assert_eq!((ignored(site.main()), waves(&site)), (None, vec![("one", 1), ("few", 3), ("rest", 6)]));
}

#[test]
fn soak_approval_and_proof_of_a_wave_to_come_change_without_moving_a_member() {
    let mut site = Site::rolling(6, |spec| {
        let board = Selector { match_labels: [("attr.lamplighter.dev/hw".into(), "b".into())].into() };
        spec.strategy.waves = vec![WaveSpec::CANARY, WaveSpec { selector: Some(board), ..wave("b", "100%") }];
        spec.paused = true;
    });
    let rest = site.rest();
    site.attributes(&rest[2], AttributesMode::Merge, &[("hw", Some("b"))]);
    site.edit("main", |spec| spec.paused = false);
    assert_eq!((waves(&site), site.member(&rest[2]).wave), (vec![("1", 1), ("b", 1), ("rest", 4)], Some(1)));
    site.attributes(&rest[2], AttributesMode::Merge, &[("hw", Some("a"))]);
    site.attributes(&rest[3], AttributesMode::Merge, &[("hw", Some("b"))]);
    site.edit("main", |spec| {
        let second = &mut spec.strategy.waves[1];
        (second.soak, second.approval, second.min_updated) = (minutes(1), Approval::Manual, amount("1"));
    });
    let second = frozen(&site, 1);
    assert_eq!((second.soak, second.approval, second.min_updated), (minutes(1), Approval::Manual, amount("1")));
    assert_eq!((site.member(&rest[2]).wave, site.member(&rest[3]).wave), (Some(1), Some(2)));
    // whoever says otherwise who is in it has them dealt out again
    site.edit("main", |spec| spec.strategy.waves[1].size = amount("5"));
    assert_eq!(site.member(&rest[3]).wave, Some(1));
}

#[test]
fn an_edit_that_makes_a_wave_to_come_impossible_stalls_and_its_correction_goes_on() {
    let mut site = Site::rolling(6, three);
    site.edit("main", |spec| spec.strategy.waves[1].min_updated = amount("3"));
    site.edit("main", |spec| spec.strategy.waves[1].size = amount("2"));
    let canary = site.canary();
    site.update(&canary);
    site.wait(SOAK);
    let Phase::Stalled(StalledReason::WavesImpossible, text) = site.phase() else { panic!("{:?}", site.phase()) };
    assert_eq!(text, "wave few has 2 members, and its minUpdated asks for 3");
    assert_eq!(site.count(Step::Offered), 0);
    site.edit("main", |spec| spec.strategy.waves[1].min_updated = amount("50%"));
    assert_eq!(site.count(Step::Offered), 2);
}

#[test]
fn waves_that_are_added_once_all_have_opened_change_nothing() {
    let mut site = Site::rolling_on(4, |_| {});
    site.edit("main", |spec| spec.strategy.waves.push(wave("more", "1")));
    assert_eq!(waves(&site), [("1", 1), ("rest", 3)]);
}

#[test]
fn a_rollout_whose_waves_are_edited_half_way_updates_everybody_once() {
    let mut site = Site::rolling(8, three);
    let canary = site.canary();
    site.update(&canary);
    site.edit("main", |spec| spec.strategy.waves = vec![wave("one", "1"), wave("many", "5")]);
    site.wait(SOAK);
    while site.phase() != Phase::Ready {
        let offered: Vec<_> =
            site.main().members.iter().filter(|(_, m)| m.step == Step::Offered).map(|(id, _)| id.to_string()).collect();
        assert!(!offered.is_empty(), "{:?}", site.phase());
        for gateway in &offered {
            site.update(gateway);
        }
        site.wait(SOAK);
    }
    assert_eq!((site.count(Step::Updated), site.noted(What::Offered)), (8, 8));
}

#[test]
fn deadlines_and_limits_change_at_once() {
    let mut site = Site::rolling_on(5, |_| {});
    let rest = site.rest();
    site.edit("main", |spec| spec.deadlines.download = minutes(10));
    site.fetch(&rest[0]);
    site.download(&rest[1]);
    site.wait(minutes(10));
    assert_eq!(site.member(&rest[0]).attempts, 1);
    site.edit("main", |spec| spec.attempts = 1);
    site.says(&rest[1], failure());
    assert!(site.main().tripped.is_none());
    site.edit("main", |spec| spec.strategy.max_failures = amount("1"));
    assert!(site.main().tripped.is_some());
}

#[test]
fn a_wave_for_nobody_that_is_added_once_all_have_a_place_that_opened_holds_nothing_up() {
    let mut site = Site::rolling_on(4, |_| {});
    let nobody = Selector { match_labels: [("site".into(), "moon".into())].into() };
    site.edit("main", |spec| spec.strategy.waves.push(WaveSpec { selector: Some(nobody), ..wave("more", "1") }));
    assert_eq!(waves(&site), [("1", 1), ("rest", 3)]);
    for gateway in &site.rest() {
        site.update(gateway);
    }
    site.wait(SOAK);
    assert_eq!(site.phase(), Phase::Ready);
}
