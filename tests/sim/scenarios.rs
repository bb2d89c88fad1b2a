//! Every scenario that comes with Lamplighter holds, whatever the seed; those of 500 gateways are played once.

use lamplighter::world::scenario::{SHIPPED, Scenario};

fn holds(name: &str, seeds: u64) {
    let (_, text) = SHIPPED.iter().find(|(shipped, _)| *shipped == name).expect("it is shipped");
    for seed in 1..=seeds {
        let scenario = Scenario::read(text, seed).unwrap_or_else(|refused| panic!("{refused}"));
        assert_eq!(scenario.name, name);
        let played = scenario.play(seed);
        assert!(played.holds(), "seed {seed}: {:#?}\n{:#?}\n{:#?}", played.expectations, played.wrong, played.timeline);
    }
}

macro_rules! scenarios {
    ($($test:ident: $name:literal, $seeds:literal;)+) => {
        $(#[test] fn $test() { holds($name, $seeds); })+

        #[test]
        fn every_scenario_has_its_test() {
            let shipped: Vec<_> = SHIPPED.iter().map(|(name, _)| *name).collect();
            assert_eq!(shipped, [$($name),+]);
        }
    };
}

scenarios! {
    busy_lines: "busy-lines", 3;
    canary_friday: "canary-friday", 1;
    dead_switch: "dead-switch", 1;
    islanded_substation: "islanded-substation", 3;
    late_joiner: "late-joiner", 3;
    plant_shutdown: "plant-shutdown", 3;
    redundant_pairs: "redundant-pairs", 3;
    rolling_back: "rolling-back", 3;
    stop_button: "stop-button", 3;
    two_hardware_types: "two-hardware-types", 3;
}

#[test]
fn the_same_seed_is_the_same_story() {
    let (_, text) = SHIPPED.iter().find(|(name, _)| *name == "late-joiner").unwrap();
    let story = |seed| serde_json::to_value(Scenario::read(text, seed).unwrap().play(seed)).unwrap();
    assert_eq!(story(7), story(7));
    assert_ne!(story(7), story(8));
}

/// The judge is not the engine: a gateway knows what its hardware takes.
#[test]
fn a_file_for_other_hardware_is_found_by_the_gateway_that_is_given_it() {
    let (_, text) = SHIPPED.iter().find(|(name, _)| *name == "two-hardware-types").unwrap();
    let swapped = text
        .replace("soc: imx8}}, sources", "hall: none}}, sources")
        .replace("attr.lamplighter.dev/soc: am62", "hall: \"7\"");
    let played = Scenario::read(&swapped, 1).unwrap().play(1);
    assert!(played.wrong.iter().any(|wrong| wrong.contains("for other hardware")), "{:#?}", played.wrong);
}

/// Files that are refused, and where they are wrong.
#[test]
fn a_scenario_that_makes_no_sense_is_refused_with_where_and_what_to_do() {
    let whole = |part: &str| {
        let expect = if part.contains("expect:") { "" } else { "expect: [{rows: {Failed: 0}}]\n" };
        let gateways = if part.contains("gateways:") { "" } else { "gateways: [{name: \"gw-{n}\", count: 3}]\n" };
        format!("scenario: s\nabout: a\n{gateways}{expect}{part}")
    };
    assert!(Scenario::read(&whole(""), 1).is_ok());
    for (part, words) in [
        ("evnts: []", "evnts: is not a known field; did you mean events?"),
        ("lasts: long", "lasts: \"long\" is not a duration"),
        ("starts: monday", "starts: \"monday\" is not a time"),
        ("site: {devices: {pollInterval: often}}", "site.devices.pollInterval"),
        ("gateways: [{name: gw, count: 2}]", "is the name of two; write {n}"),
        ("gateways: [{name: \"gw-{m}\"}]", "gateways[0].name: \"gw-{m}\" has a hole"),
        ("gateways: [{name: gw, behaves: badly}]", "gateways[0].behaves: is \"badly\"; use one of well, fails-once"),
        ("gateways: [{name: gw, but: [{who: {names: [x]}}]}]", "gateways[0].but[0].who.names: \"x\" is none of"),
        ("events: [{at: 1h}]", "events[0]: should say one thing"),
        ("events: [{at: 1h, site: \"off\", link: down}]", "events[0]: should say one thing"),
        ("events: [{at: 1h, person: jump}]", "events[0].person: \"jump\" is not an order"),
        ("events: [{at: 1h, site: \"off\", who: {count: 1}}]", "events[0].who: goes only with"),
        ("events: [{at: 1h, power: \"off\", who: {count: 9}}]", "events[0].who.count: is 9, and there are 3"),
        ("events: [{at: 1h, link: up, copying: 1h}]", "events[0].copying: goes only with drop"),
        ("events: [{at: 1h, gates: {/x: ajar}}]", "events[0].gates./x"),
        ("gateways: [{name: gw, files: [x]}]", "gateways[0].files[0]"),
        ("events: [{at: 1h, remove: [x]}]", "events[0].remove: \"x\" is not declared then"),
        ("manifests: [{kind: OtaRollout}]", "manifests[0].apiVersion: is missing"),
        ("expect: [{}]", "expect[0]: expects nothing"),
        ("expect: [{phase: Ready}]", "expect[0].rollout: is missing"),
        ("expect: [{rows: {Nonsense: 1}}]", "expect[0].rows.Nonsense"),
        ("expect: [{rows: {Failed: few}}]", "expect[0].rows.Failed: should be a count such as"),
    ] {
        let refused = Scenario::read(&whole(part), 1).map(|_| ()).unwrap_err().to_string();
        assert!(refused.contains(words), "{part}: {refused}");
    }
}
