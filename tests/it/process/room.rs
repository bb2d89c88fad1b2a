//! Artifacts that nobody needs any more: they go when they are in the way, or when a person says so.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::device::Device;
use super::eventually;
use super::full_disk::on_a_small_disk;
use super::site::{Said, Site, binary, digest, firmware, rollout};

fn in_cache(site: &Site, name: &str) -> PathBuf {
    site.state().join("artifacts/sha256").join(name)
}

/// Gives the rollout another version, and waits until that is in the cache.
fn edit(site: &Site, version: &str, firmware: &[u8]) {
    site.put("fw.bin", firmware);
    site.put("press-fw.yaml", rollout(version, firmware, ""));
    eventually("it is in the cache", || in_cache(site, &digest(firmware)).exists().then_some(()));
}

#[test]
fn prune_removes_what_nobody_needs_and_says_so_before_and_after() {
    let (old, new) = (firmware(20, 150_000), firmware(21, 100_000));
    let site = Site::with_one_gateway(&old);
    eventually("it is in the cache", || in_cache(&site, &digest(&old)).exists().then_some(()));
    insta::assert_snapshot!(site.cli(&["artifacts", "prune", "--dry-run"]).good(), @"nothing can go: `lamplighter artifacts` says what each is kept for");
    edit(&site, "3.0.0", &new);
    // what an order of long ago left, that nobody wants the rest of
    let left = "0".repeat(64);
    fs::write(in_cache(&site, &format!("{left}.part")), [0; 2048]).unwrap();
    fs::write(in_cache(&site, &format!("{left}.resume")), "{}").unwrap();
    insta::assert_snapshot!(site.cli(&["artifacts"]).good(), @"
    SHA256             ARTIFACT  SIZE        STATE     KEPT FOR
    0a91e4f7394d       fw 2.0.0  146.48 KiB  Verified  nothing: it can go
    19954e7d7005       fw 3.0.0  97.66 KiB   Verified  press-fw
    000000000000.part  -         2.00 KiB    Copying   nothing: it can go

    2 artifacts in the cache, 246.14 KiB
    ");
    let dry = site.cli(&["artifacts", "prune", "--dry-run"]).good();
    insta::assert_snapshot!(dry, @"
    0000000000000000000000000000000000000000000000000000000000000000.part  2.00 KiB
    0a91e4f7394d453cb6e1379ed101061aef18702401b611ce4526ecf572027c53  146.48 KiB
    148.48 KiB would be free
    ");
    assert!(in_cache(&site, &digest(&old)).exists(), "it was only said");
    let done = site.cli(&["artifacts", "prune"]).good();
    assert_eq!(done.replace("are free", "would be free"), dry);
    let names: Vec<_> = fs::read_dir(in_cache(&site, "")).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(names, [digest(&new).as_str()]);
    let again: Value = serde_json::from_str(&site.cli(&["artifacts", "prune", "-o", "json"]).good()).unwrap();
    assert_eq!(again, serde_json::json!({"freed": [], "bytes": 0}));
    let rows = site.cli(&["journal", "--what", "ArtifactCollected"]).good();
    let row = format!("sha256:{} (fw 2.0.0), 150000 bytes: pruned by ", digest(&old));
    assert!(rows.contains(&row), "{rows}");
    site.kill_and_restart();
    assert!(!site.ask("/v1/artifacts").to_string().contains(&digest(&old)), "it is forgotten for good");

    site.stop();
    let off = site.cli(&["artifacts", "prune"]);
    assert_eq!(off.code, Some(1));
    assert!(off.err.contains("is `lamplighter run` running with this site file?"), "{}", off.err);
}

#[test]
fn what_a_gateway_runs_and_what_it_would_go_back_to_stay() {
    let versions = [2, 3, 4].map(|seed| (format!("{seed}.0.0"), firmware(seed, 100_000)));
    let site = Site::with_one_gateway(&versions[0].1);
    let device = Device::new(&site, "press-1");
    device.report("1.0.0");
    for (version, firmware) in &versions {
        if version != "2.0.0" {
            edit(&site, version, firmware);
        }
        device.update(version);
        site.until_reason("Done");
        if version == "3.0.0" {
            assert!(site.cli(&["artifacts", "prune"]).good().starts_with("nothing can go"));
            site.kill_and_restart();
        }
    }
    insta::assert_snapshot!(site.cli(&["artifacts"]).good(), @"
    SHA256        ARTIFACT  SIZE       STATE     KEPT FOR
    08894fe58a54  fw 3.0.0  97.66 KiB  Verified  1 gateway on it before
    16c393871b06  fw 2.0.0  97.66 KiB  Verified  nothing: it can go
    7f243df51cee  fw 4.0.0  97.66 KiB  Verified  press-fw, 1 gateway on it

    3 artifacts in the cache, 292.97 KiB
    ");
    let freed: Value = serde_json::from_str(&site.cli(&["artifacts", "prune", "-o", "json"]).good()).unwrap();
    assert_eq!(freed["freed"], serde_json::json!([{"file": digest(&versions[0].1), "bytes": 100_000}]));
}

#[test]
fn what_nobody_needs_makes_room_for_what_a_rollout_needs() {
    let (old, new) = (firmware(22, 1 << 20), firmware(23, 1 << 20));
    let site = Site::new();
    site.declare(&["press-1"], &old);
    let state = on_a_small_disk(&site);
    let cached = |firmware: &[u8]| state.join("artifacts/sha256").join(digest(firmware)).exists();
    eventually("the first is in the cache", || cached(&old).then_some(()));
    let disk = rustix::fs::statvfs(&state).unwrap();
    let free = usize::try_from(disk.f_bavail * disk.f_frsize).unwrap();
    // room for the reserve, and for half of the artifact
    fs::write(state.join("filler"), vec![1; free.saturating_sub(3 << 19)]).unwrap();
    site.put("fw.bin", &new);
    site.put("press-fw.yaml", rollout("3.0.0", &new, ""));
    eventually("the second is in the cache", || cached(&new).then_some(()));
    assert!(!cached(&old));
    let rows =
        Said::of(binary().args(["journal", "--what", "artifactcollected", "--state"]).arg(&state).output().unwrap());
    let row = format!("sha256:{} (fw 2.0.0), 1048576 bytes: it made room for fw 3.0.0", digest(&old));
    assert!(rows.out.contains(&row), "{rows:?}");
}
