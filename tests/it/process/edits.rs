//! Manifests and artifacts edited while the site runs, as people and ConfigMap volumes do it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::device::Device;
use super::eventually;
use super::site::{Site, firmware, gateway, rollout};
use super::wire::ALL;

/// What is refused, as `file: why`; waits until there is something.
fn refused(site: &Site) -> String {
    eventually("something is refused", || {
        let refused = site.ask("/v1/status")["refused"].clone();
        let first = refused.as_array().unwrap().first()?;
        Some(format!("{}: {}", first["what"].as_str().unwrap(), first["why"].as_str().unwrap()))
    })
}

fn nothing_is_refused(site: &Site) {
    eventually("nothing is refused", || site.ask("/v1/status")["refused"].as_array().unwrap().is_empty().then_some(()));
}

#[test]
fn pausing_takes_an_unfetched_offer_back_and_going_on_offers_again() {
    let firmware = firmware(20, 10_000);
    let site = Site::with_one_gateway(&firmware);
    let device = Device::new(&site, "press-1");
    device.report("1.0.0");
    device.offered();

    site.put("press-fw.yaml", rollout("2.0.0", &firmware, "  paused: true\n"));
    site.until_reason("Paused");
    assert_eq!(device.poll(), None);
    assert_eq!(site.step("press-1"), "Waiting Paused");

    site.put("press-fw.yaml", rollout("2.0.0", &firmware, "  paused: false\n"));
    device.update("2.0.0");
    site.until_reason("Done");
}

#[test]
fn a_held_gateway_is_offered_nothing_until_it_is_let_go() {
    let firmware = firmware(21, 10_000);
    let site = Site::with_one_gateway(&firmware);
    let device = Device::new(&site, "press-1");
    device.report("1.0.0");
    device.offered();
    site.put("press-1.yaml", gateway("press-1", "  hold: true\n"));
    site.until_step("press-1", "Waiting Held");
    assert_eq!(device.poll(), None);
    site.put("press-1.yaml", gateway("press-1", ""));
    device.update("2.0.0");
    site.until_reason("Done");
}

#[test]
fn a_broken_edit_is_refused_with_file_and_reason_and_starts_nothing_new() {
    let firmware = firmware(22, 10_000);
    let site = Site::with_gateways(&["press-1", "press-2"], &firmware);
    let (one, two) = (Device::new(&site, "press-1"), Device::new(&site, "press-2"));
    one.report("1.0.0");
    two.report("1.0.0");
    let (first, order) = eventually("one of them is offered its order", || {
        one.poll()
            .map(|href| ("press-1", one.fetch_at(&href)))
            .or_else(|| two.poll().map(|href| ("press-2", two.fetch_at(&href))))
    });
    let (device, other, second) = if first == "press-1" { (&one, &two, "press-2") } else { (&two, &one, "press-1") };

    site.put("press-fw.yaml", rollout("2.0.0", &firmware, "  atempts: 2\n"));
    let why = refused(&site);
    assert!(why.starts_with("press-fw.yaml: OtaRollout/press-fw: spec.atempts: "), "{why}");
    assert!(why.contains("attempts"), "{why}");
    let text = site.cli(&["status"]).good();
    assert!(text.contains("press-fw.yaml") && text.contains("spec.atempts"), "{text}");
    site.until_reason("Unlisted");

    // what is under way goes on
    assert_eq!(device.poll().as_ref(), Some(&order.href));
    assert!(device.download(&order, ALL) == firmware);
    assert_eq!(device.feedback(&order, "closed", "success"), 200);
    device.report("2.0.0");
    site.until_step(first, "Updated");
    site.until_step(second, "Waiting Unlisted");
    assert_eq!(other.poll(), None);

    site.put("press-fw.yaml", rollout("2.0.0", &firmware, ""));
    nothing_is_refused(&site);
    other.update("2.0.0");
    site.until_reason("Done");
}

#[test]
fn a_manifest_that_is_taken_away_and_put_back_changes_nothing_but_what_starts() {
    let firmware = firmware(23, 10_000);
    let site = Site::with_one_gateway(&firmware);
    let device = Device::new(&site, "press-1");
    device.report("1.0.0");
    let before = device.offered();
    site.remove("press-fw.yaml");
    site.until_reason("Unlisted");
    assert_eq!(site.step("press-1"), "Waiting Unlisted");
    assert_eq!(device.poll(), None);
    site.kill_and_restart();
    assert_eq!(site.rollout()["reason"], "Unlisted", "the rollout is remembered without its manifest");
    assert_eq!(device.poll(), None);

    // another file: it is the name inside that counts
    site.put("moved.yaml", rollout("2.0.0", &firmware, ""));
    let order = device.update("2.0.0");
    assert_ne!(order.href, before, "an order that was taken back is not given again");
    site.until_reason("Done");
    assert_eq!(site.ask("/v1/status")["rollouts"].as_array().unwrap().len(), 1);
}

#[test]
fn another_version_is_a_new_revision_and_the_gateway_follows_it() {
    let (two, three) = (firmware(24, 10_000), firmware(25, 12_000));
    let site = Site::with_one_gateway(&two);
    let device = Device::new(&site, "press-1");
    device.report("1.0.0");
    let first = device.fetch();
    assert!(device.download(&first, ALL) == two);

    site.put("fw-3.bin", &three);
    site.put("press-fw.yaml", rollout("3.0.0", &three, "").replace("fw.bin", "fw-3.bin"));
    eventually("the new revision", || (site.rollout()["artifact"]["version"] == "3.0.0").then_some(()));
    // what is under way finishes first
    assert_eq!(device.poll().as_ref(), Some(&first.href));
    assert_eq!(device.feedback(&first, "closed", "success"), 200);
    device.report("2.0.0");
    let second = device.fetch();
    assert_ne!(second.id, first.id);
    assert!(device.download(&second, ALL) == three);
    assert_eq!(device.feedback(&second, "closed", "success"), 200);
    device.report("3.0.0");
    site.until_reason("Done");
    let rollouts = site.ask("/v1/status")["rollouts"].clone();
    assert_eq!(rollouts.as_array().unwrap().len(), 1, "the revision before is no rollout of its own any more");
}

#[test]
fn a_gateway_that_is_added_later_joins_and_does_not_undo_done() {
    let firmware = firmware(26, 10_000);
    let site = Site::with_one_gateway(&firmware);
    let device = Device::new(&site, "press-1");
    device.report("1.0.0");
    device.update("2.0.0");
    site.until_reason("Done");

    site.put("press-2.yaml", gateway("press-2", ""));
    let joiner = Device::new(&site, "press-2");
    eventually("press-2 may sign in", || joiner.may_sign_in().then_some(()));
    joiner.report("1.0.0");
    let order = joiner.fetch();
    let rollout = site.rollout();
    assert_eq!((&rollout["phase"], &rollout["summary"]["total"]), (&"Ready".into(), &2.into()));
    assert!(joiner.download(&order, ALL) == firmware);
    assert_eq!(joiner.feedback(&order, "closed", "success"), 200);
    joiner.report("2.0.0");
    site.until_step("press-2", "Updated");
}

#[test]
fn an_artifact_that_comes_late_wrong_and_then_right_is_offered_only_when_it_is_right() {
    let right = firmware(27, 100_000);
    let site = Site::new();
    site.put("press-fw.yaml", rollout("2.0.0", &right, ""));
    site.put("press-1.yaml", gateway("press-1", ""));
    site.start();
    let device = Device::new(&site, "press-1");
    device.report("1.0.0");
    let told = |words: &str| {
        let rollout = eventually(words, || {
            Some(site.rollout()).filter(|rollout| rollout["message"].as_str().is_some_and(|text| text.contains(words)))
        });
        assert_eq!((&rollout["phase"], &rollout["artifact"]["state"]), (&"Stalled".into(), &"Failed".into()));
        assert_eq!(site.step("press-1"), "Waiting ArtifactNotVerified");
        assert_eq!(device.poll(), None);
    };
    told("does not exist");
    site.put("fw.bin", &right[..60_000]);
    told("is shorter than");
    site.put("fw.bin", firmware(28, 100_000));
    told("digest");
    site.put("fw.bin", [&right[..], b"more"].concat());
    told("is longer than");

    site.put("fw.bin", &right);
    let order = device.fetch();
    assert_eq!(site.rollout()["artifact"]["state"], "Verified");
    assert!(device.download(&order, ALL) == right);
}

#[test]
fn an_artifact_replaced_after_it_was_verified_changes_nothing_for_gateways() {
    let right = firmware(29, 100_000);
    let site = Site::with_one_gateway(&right);
    let device = Device::new(&site, "press-1");
    device.report("1.0.0");
    let order = device.fetch();
    site.put("fw.bin", firmware(30, 100_000));
    assert!(device.download(&order, ALL) == right);
    site.kill_and_restart();
    assert!(device.download(&order, ALL) == right, "the cache has it");
}

/// Fills a ConfigMap volume as the kubelet does: a new hidden directory, and `..data` renamed over to it.
fn project(volume: &Path, number: u32, files: &[(&str, &str)]) {
    let data = volume.join(format!("..2026_{number}"));
    fs::create_dir(&data).unwrap();
    for (name, text) in files {
        fs::write(data.join(name), text).unwrap();
        let link = volume.join(name);
        if !link.is_symlink() {
            symlink(Path::new("..data").join(name), link).unwrap();
        }
    }
    symlink(data.file_name().unwrap(), volume.join("..data_tmp")).unwrap();
    fs::rename(volume.join("..data_tmp"), volume.join("..data")).unwrap();
    if let Some(before) = number.checked_sub(1) {
        let _ = fs::remove_dir_all(volume.join(format!("..2026_{before}")));
    }
}

#[test]
fn a_configmap_volume_is_followed_through_its_swaps() {
    let site = Site::new();
    let volume = site.path("manifests");
    let bytes = b"a firmware small enough for a ConfigMap";
    let fill = |number, more: &str| {
        let (rollout, gateway) = (rollout("2.0.0", bytes, more), gateway("press-1", ""));
        let firmware = std::str::from_utf8(bytes).unwrap();
        project(&volume, number, &[("press-fw.yaml", &rollout), ("press-1.yaml", &gateway), ("fw.bin", firmware)]);
    };
    fill(1, "  paused: true\n");
    site.start();
    let device = Device::new(&site, "press-1");
    device.report("1.0.0");
    site.until_reason("Paused");
    fill(2, "");
    device.offered();
    fill(3, "  paused: true\n");
    site.until_reason("Paused");
    assert_eq!(device.poll(), None);
    fill(4, "  atempts: 1\n");
    assert!(refused(&site).contains("spec.atempts"));
    fill(5, "");
    let order = device.fetch();
    assert_eq!(device.download(&order, ALL), bytes);
    nothing_is_refused(&site);
}
