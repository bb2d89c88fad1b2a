//! One rollout, a file for each type of hardware.

use lamplighter::engine::{Phase, Step, needs, wanted_artifacts};
use lamplighter::model::*;

use super::site::*;

fn file(of: &str) -> Digest {
    digest(&format!("os 2 {of}"))
}

fn matches(key: &str, value: &str) -> Selector {
    Selector { match_labels: [(key.into(), value.into())].into() }
}

/// A file for gateways with the label `soc: imx8`, and one for those that report `soc: am62`.
fn two_types(spec: &mut RolloutSpec) {
    let other = |of: &str| {
        let mut artifact = spec.artifact.clone();
        (artifact.key.digest, artifact.size) = (file(of), 2_000);
        artifact
    };
    let am62 = Variant { matches: matches("attr.lamplighter.dev/soc", "am62"), artifact: other("am62") };
    spec.artifact.key.digest = file("imx8");
    spec.variants = Some(Variants { first: matches("soc", "imx8"), others: vec![am62] });
}

fn verify(site: &mut Site, of: &str) {
    let sums = Sums { sha1: "1".repeat(40), md5: "5".repeat(32) };
    site.happens(Event::Artifact(file(of), ArtifactFact::Verified(sums)));
}

fn is_imx8(site: &mut Site, names: &[&str]) {
    for name in names {
        let gateway = site.gateways.get_mut(*name).unwrap();
        gateway.labels = [("site".into(), "hall".into()), ("soc".into(), "imx8".into())].into();
    }
}

/// `g1` and `g2` are of the first type, `g3` and `g4` of the second, `g5` of neither.
fn mixed(edit: impl FnOnce(&mut RolloutSpec)) -> Site {
    let mut site = Site::new();
    site.declare_gateways(5);
    is_imx8(&mut site, &["g1", "g2"]);
    let mut spec = rollout("os", "2");
    two_types(&mut spec);
    edit(&mut spec);
    site.rollouts.insert("main".into(), spec);
    site.list();
    site.everybody_polls();
    for name in ["g3", "g4"] {
        site.attributes(name, AttributesMode::Merge, &[("soc", Some("am62"))]);
    }
    site
}

fn offered(site: &Site, gateway: &str) -> Digest {
    site.board[&id(gateway)].offer.as_ref().unwrap().artifact.key.digest
}

#[test]
fn each_gateway_gets_the_file_of_its_hardware_and_one_of_another_is_skipped() {
    let mut site = mixed(|spec| spec.strategy.waves = vec![WaveSpec::REST]);
    verify(&mut site, "imx8");
    assert!(site.main().frozen.is_none(), "the waves compare all hardware, so all files are awaited");
    assert_eq!(site.at("g1"), Step::Waiting(WaitingReason::ArtifactNotVerified));
    verify(&mut site, "am62");
    assert_eq!(site.at("g5"), Step::Skipped(SkippedReason::NoVariant));
    assert_eq!(site.main().frozen.as_ref().unwrap().total, 4);
    for (gateway, of) in [("g1", "imx8"), ("g2", "imx8"), ("g3", "am62"), ("g4", "am62")] {
        assert_eq!(offered(&site, gateway), file(of), "{gateway}");
        site.update(gateway);
        assert_eq!(site.at(gateway), Step::Updated);
        assert!(site.core.state().gateways[&id(gateway)].fully_served(&file(of)));
    }
    site.wait(SOAK);
    assert_eq!(site.phase(), Phase::Ready, "who needs nothing holds nothing up");
}

#[test]
fn what_was_chosen_stays_whatever_becomes_of_the_gateway_and_across_a_restart() {
    let mut site = mixed(|spec| spec.strategy.waves = vec![WaveSpec::REST]);
    verify(&mut site, "imx8");
    verify(&mut site, "am62");
    is_imx8(&mut site, &["g3"]);
    site.list();
    site.attributes("g4", AttributesMode::Remove, &[("soc", None)]);
    assert_eq!((offered(&site, "g3"), offered(&site, "g4")), (file("am62"), file("am62")));
    site.restart();
    site.list();
    verify(&mut site, "imx8");
    verify(&mut site, "am62");
    assert_eq!((offered(&site, "g3"), offered(&site, "g4")), (file("am62"), file("am62")));
    // bytes of the other file are not for it
    site.fetch("g3");
    let asked = site.happens(Event::Requested(id("g3"), file("imx8"), Bytes::Some));
    assert_eq!(asked, Verdict::Withdrawn);
}

#[test]
fn one_whose_hardware_is_told_later_joins_after_the_last_wave() {
    let mut site = mixed(|spec| spec.strategy.waves = vec![WaveSpec::REST]);
    verify(&mut site, "imx8");
    verify(&mut site, "am62");
    site.attributes("g5", AttributesMode::Merge, &[("soc", Some("am62"))]);
    assert_eq!(site.at("g5"), Step::Waiting(WaitingReason::WaveNotOpen));
    assert!(site.member("g5").joiner);
    site.gateways.insert("g6".into(), gateway("g6"));
    site.list();
    assert_eq!(site.at("g6"), Step::Skipped(SkippedReason::NoVariant));
    for gateway in ["g1", "g2", "g3", "g4"] {
        site.update(gateway);
    }
    site.wait(SOAK);
    assert_eq!(offered(&site, "g5"), file("am62"));
}

#[test]
fn both_types_share_the_caps_and_the_failure_limit() {
    let mut site = mixed(|spec| {
        spec.strategy.waves = vec![WaveSpec::REST];
        spec.strategy.max_in_flight = Amount::Count(3);
        spec.strategy.max_failures = Amount::Count(2);
        spec.attempts = 1;
    });
    verify(&mut site, "imx8");
    verify(&mut site, "am62");
    assert_eq!(site.count(Step::Offered), 3);
    for gateway in ["g1", "g2", "g3", "g4"].into_iter().filter(|name| site.sees_link(name)).take(2).collect::<Vec<_>>()
    {
        site.fail(gateway);
    }
    assert!(site.main().tripped.is_some(), "one of each, or two of one: it is one rollout");
    assert_eq!(site.count(Step::Offered), 0);
}

#[test]
fn a_file_for_hardware_that_the_site_does_not_have_is_not_fetched_but_kept() {
    let mut site = mixed(|spec| spec.selector = matches("soc", "imx8"));
    let wanted: Vec<_> =
        wanted_artifacts(site.core.state()).into_iter().map(|file| (file.key.digest, file.size)).collect();
    assert_eq!(wanted, [(file("imx8"), 1_000)]);
    verify(&mut site, "imx8");
    assert!(site.main().frozen.is_some());
    assert!(needs(site.core.state()).contains_key(&file("am62")), "what came on a stick does not come again");
}

#[test]
fn a_rollout_without_a_variant_for_anybody_says_so() {
    let mut site = Site::new();
    site.declare_gateways(2);
    let mut spec = rollout("os", "2");
    two_types(&mut spec);
    site.rollouts.insert("main".into(), spec);
    site.list();
    site.everybody_polls();
    assert!(matches!(site.phase(), Phase::Stalled(StalledReason::NoMembers, why) if why.contains("variant")));
    site.attributes("g1", AttributesMode::Merge, &[("soc", Some("am62"))]);
    assert!(matches!(site.phase(), Phase::Reconciling(ReconcilingReason::ArtifactNotVerified, _)));
}

#[test]
fn a_file_that_cannot_be_had_stalls_only_the_rollout_whose_gateways_need_it() {
    let mut site = mixed(|_| {});
    verify(&mut site, "imx8");
    site.happens(Event::Artifact(file("am62"), ArtifactFact::Failed("gone".into())));
    assert_eq!(site.phase(), Phase::Stalled(StalledReason::ArtifactFailed, "gone".into()));
    site.edit("main", |spec| spec.selector = matches("soc", "imx8"));
    assert!(matches!(site.phase(), Phase::Reconciling(ReconcilingReason::WaveOpen, _)));
}

#[test]
fn another_file_for_one_type_is_a_new_revision_and_another_match_is_not() {
    let mut site = mixed(|_| {});
    let arrival = site.main().arrival;
    site.edit("main", |spec| spec.variants.as_mut().unwrap().others[0].matches = matches("soc", "am62"));
    assert_eq!(site.main().arrival, arrival);
    site.edit("main", |spec| spec.variants.as_mut().unwrap().others[0].artifact.key.digest = file("am62 again"));
    assert_eq!(site.main().arrival, arrival + 1);
}
