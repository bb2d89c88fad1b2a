//! Drops as a technician brings them: copied slowly, in any order, half, wrong, twice; and a site killed meanwhile.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use super::device::Device;
use super::eventually;
use super::site::{Site, firmware, gateway, rollout};

/// A site whose manifests declare nothing, with a drop directory.
pub(super) fn site() -> Site {
    let site = Site::new();
    site.configure("manifests: [manifests]", "manifests: [manifests], drops: drops");
    site
}

pub(super) fn put(site: &Site, name: &str, content: impl AsRef<[u8]>) {
    fs::write(site.path("drops").join(name), content).unwrap();
}

/// A drop of one gateway and the rollout that brings it to firmware 2.0.0.
pub(super) fn drop(firmware: &[u8]) -> String {
    rollout("2.0.0", firmware, "") + "---\n" + &gateway("press-1", "")
}

/// The same with such a drop and its firmware there.
pub(super) fn with_drop(firmware: &[u8]) -> Site {
    let site = site();
    fs::create_dir(site.path("drops")).unwrap();
    put(&site, "fw.bin", firmware);
    put(&site, "press.yaml", drop(firmware));
    site
}

/// The result beside a drop, if it is there.
fn result(site: &Site, stem: &str) -> Option<Value> {
    let path = site.path("drops").join(format!("{stem}.status.json"));
    // a link in its place is none
    let bytes = path.symlink_metadata().ok().filter(fs::Metadata::is_file).and_then(|_| fs::read(&path).ok())?;
    Some(serde_json::from_slice(&bytes).expect("a result is whole at any time"))
}

pub(super) fn until(site: &Site, stem: &str, state: &str, says: &str) -> Value {
    let mut last = None;
    eventually(&format!("{state}: {says}"), || {
        last = result(site, stem);
        let found = last.as_ref().filter(|it| it["state"] == state && it["message"].as_str().unwrap().contains(says));
        if found.is_none() {
            sleep(Duration::from_millis(100));
        }
        found.cloned()
    })
}

fn rejected(site: &Site, name: &str, reason: &str, says: &str) {
    let dir = site.path("drops/rejected");
    let text = eventually(&format!("{name} is refused"), || {
        let text = fs::read_to_string(dir.join(reason)).ok()?;
        dir.join(name).symlink_metadata().ok().map(|_| text)
    });
    assert!(text.contains(says), "{text}");
    assert!(site.path("drops").join(name).symlink_metadata().is_err(), "{name} is out of the way");
}

pub(super) fn rows(site: &Site, what: &str) -> usize {
    site.ask(&format!("/v1/journal?what={what}"))["rows"].as_array().unwrap().len()
}

#[test]
fn a_drop_that_is_copied_slowly_under_other_names_counts_once_it_is_whole_and_its_stick_is_not_needed_any_more() {
    let bytes = firmware(60, 3_000_000);
    let site = site();
    site.start();
    eventually("the directory is made", || site.path("drops").is_dir().then_some(()));
    // the manifest first, then the artifact in parts, with the name that the manifest says
    put(&site, "press.yaml", drop(&bytes));
    until(&site, "press", "Waiting", "press-fw: fw.bin is not here yet; copy the file of 3.0 MB beside the manifest");
    let mut part = fs::File::create(site.path("drops/fw.bin")).unwrap();
    part.write_all(&bytes[..1_200_000]).unwrap();
    until(&site, "press", "Waiting", "press-fw: 1.2 of 3.0 MB of fw.bin are here");
    let shown = site.cli(&["status"]).good();
    assert!(shown.contains("press.yaml: Waiting") && shown.contains("1.2 of 3.0 MB"), "{shown}");
    assert_eq!(site.ask("/v1/status")["rollouts"].as_array().unwrap().len(), 0, "nothing is acted on");
    // the stick is pulled out half-way, and the rest comes under another name
    fs::remove_file(site.path("drops/fw.bin")).unwrap();
    put(&site, "PRESS~1.SWU", &bytes);
    until(&site, "press", "Accepted", "press-fw: 0 of 1 gateways updated");
    for name in ["press.yaml", "PRESS~1.SWU"] {
        fs::remove_file(site.path("drops").join(name)).unwrap();
    }
    let device = Device::new(&site, "press-1");
    device.report("1.0.0");
    let href = device.offered();
    site.kill_and_restart();
    assert_eq!(device.offered(), href);
    device.update("2.0.0");
    site.until_reason("Done");
    assert_eq!(rows(&site, "DropAccepted"), 1);
    assert_eq!(site.ask("/v1/status")["drops"], serde_json::json!([]));
}

#[test]
fn progress_stands_beside_the_drop_and_the_same_drop_again_changes_nothing() {
    let bytes = firmware(61, 50_000);
    let site = with_drop(&bytes);
    site.start();
    until(&site, "press", "Accepted", "0 of 1 gateways updated");
    let device = Device::new(&site, "press-1");
    device.report("1.0.0");
    device.update("2.0.0");
    let result = until(&site, "press", "Accepted", "1 of 1 gateways updated (done)");
    assert_eq!(result["rollouts"][0]["steps"]["Updated"], 1, "{result}");
    assert_eq!(
        (result["rollouts"][0]["phase"].as_str(), result["rollouts"][0]["reason"].as_str()),
        (Some("Ready"), Some("Done"))
    );
    let commits = |site: &Site| site.ask("/v1/status")["counters"]["commits"].as_u64().unwrap();
    put(&site, "again.yml", drop(&bytes));
    until(&site, "again", "Accepted", "1 of 1");
    site.kill_and_restart();
    put(&site, "third.yml", drop(&bytes));
    until(&site, "third", "Accepted", "1 of 1");
    assert_eq!(rows(&site, "DropAccepted"), 1);
    assert_eq!(rows(&site, "RolloutAccepted"), 1);
    let before = (commits(&site), fs::metadata(site.path("drops/press.status.json")).unwrap().modified().unwrap());
    sleep(Duration::from_secs(3));
    let after = (commits(&site), fs::metadata(site.path("drops/press.status.json")).unwrap().modified().unwrap());
    assert_eq!(before.1, after.1, "nothing is written while nothing changes");
}

#[test]
fn what_is_wrong_is_moved_away_with_its_reason_and_what_is_good_counts_all_the_same() {
    let bytes = firmware(62, 20_000);
    let site = site();
    site.put("press-1.yaml", gateway("press-1", ""));
    let drops = site.path("drops");
    fs::create_dir(&drops).unwrap();
    put(&site, "typo.yaml", drop(&bytes).replace("sizeBytes", "sizeByte"));
    put(&site, "kind.json", r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}"#);
    put(&site, "empty.yaml", "# nothing\n");
    put(&site, "bomb.yaml", bomb());
    put(&site, "way-out.yaml", drop(&bytes).replace("file:fw.bin", "file:../../etc/passwd"));
    put(&site, "declared.yaml", gateway("press-1", ""));
    put(&site, "latin.yaml", b"apiVersion: \xff\xfe\n");
    let cut = gateway("press-9", "");
    put(&site, "cut.yaml", &cut[..cut.find("ctl-press-9").unwrap() + 6]);
    fs::File::create(drops.join("huge.yaml")).unwrap().set_len(100_000_000).unwrap();
    symlink("/etc/passwd", drops.join("link.yaml")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(drops.join("pipe.yaml")).status().unwrap().success());
    symlink("/dev/zero", drops.join("zero.yaml")).unwrap();
    fs::create_dir(drops.join("dir.yaml")).unwrap();
    put(&site, "with\nnewline.yaml", "x: 1");
    fs::write(drops.join(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"\xff.yaml")), "x: 1").unwrap();
    put(&site, "fine.yaml", gateway("press-2", ""));
    site.start();

    rejected(&site, "typo.yaml", "typo.reason.txt", "typo.yaml: OtaRollout/press-fw: spec.artifact.sizeByte");
    rejected(&site, "kind.json", "kind.reason.txt", "ConfigMap");
    rejected(&site, "empty.yaml", "empty.reason.txt", "holds no object");
    rejected(&site, "bomb.yaml", "bomb.reason.txt", "bomb.yaml, line ");
    rejected(&site, "way-out.yaml", "way-out.reason.txt", "has a slash");
    rejected(&site, "declared.yaml", "declared.reason.txt", "EdgeGateway/press-1 is declared in a manifest directory");
    rejected(&site, "cut.yaml", "cut.reason.txt", "ends in the middle of a line, so it may be cut short");
    rejected(&site, "latin.yaml", "latin.reason.txt", "is not UTF-8");
    rejected(&site, "huge.yaml", "huge.reason.txt", "has 100000000 bytes");
    rejected(&site, "link.yaml", "link.reason.txt", "is a link, not a plain file");
    rejected(&site, "pipe.yaml", "pipe.reason.txt", "is a pipe, not a plain file");
    rejected(&site, "zero.yaml", "zero.reason.txt", "is a link, not a plain file");
    assert!(!fs::read_to_string(drops.join("rejected/link.reason.txt")).unwrap().contains("root:"));
    until(&site, "dir", "Rejected", "is a directory, not a plain file");
    assert!(drops.join("dir.yaml").is_dir(), "it may hold anything, so it stays");
    until(&site, "fine", "Accepted", "its gateways are known now");
    until(&site, "typo", "Rejected", "moved to rejected/typo.yaml");
    let shown = site.cli(&["status"]).good();
    for line in ["typo.yaml: Rejected", "dir.yaml: Rejected", "rename it", "with\u{fffd}newline.yaml"] {
        assert!(shown.contains(line), "{line} in {shown}");
    }
    assert_eq!(rows(&site, "DropRejected"), 13);

    // the same name once more is numbered, and is no loop
    put(&site, "typo.yaml", "still: wrong\n");
    rejected(&site, "typo-2.yaml", "typo-2.reason.txt", "typo.yaml");
    eventually("it is journalled", || (rows(&site, "DropRejected") == 14).then_some(()));
}

/// A few hundred bytes that would be 10^9 values.
fn bomb() -> String {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..9 {
        text += &format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 10].join(", "));
    }
    text
}

#[test]
fn links_and_special_files_in_the_place_of_an_artifact_are_not_read() {
    let bytes = firmware(63, 20_000);
    let site = site();
    let drops = site.path("drops");
    fs::create_dir(&drops).unwrap();
    fs::write(site.path("outside.bin"), &bytes).unwrap();
    symlink(site.path("outside.bin"), drops.join("fw.bin")).unwrap();
    put(&site, "press.yaml", drop(&bytes));
    site.start();
    until(&site, "press", "Waiting", "fw.bin is a link, not a plain file; copy the file itself");
    fs::remove_file(drops.join("fw.bin")).unwrap();
    fs::create_dir(drops.join("fw.bin")).unwrap();
    until(&site, "press", "Waiting", "fw.bin is a directory, not a plain file");
    fs::remove_dir(drops.join("fw.bin")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(drops.join("fw.bin")).status().unwrap().success());
    until(&site, "press", "Waiting", "fw.bin is a pipe");
    fs::remove_file(drops.join("fw.bin")).unwrap();
    put(&site, "fw.bin", &bytes);
    until(&site, "press", "Accepted", "");
}

#[test]
fn a_result_never_follows_a_link_and_a_link_at_rejected_moves_nothing_away() {
    let site = site();
    let drops = site.path("drops");
    fs::create_dir(&drops).unwrap();
    fs::create_dir(site.path("elsewhere")).unwrap();
    fs::write(site.path("precious"), "precious").unwrap();
    symlink(site.path("precious"), drops.join("fine.status.json")).unwrap();
    symlink(site.path("precious"), drops.join(".lamplighter.new")).unwrap();
    symlink(site.path("elsewhere"), drops.join("rejected")).unwrap();
    put(&site, "fine.yaml", gateway("press-1", ""));
    put(&site, "bad.yaml", "nonsense: 1\n");
    site.start();
    until(&site, "fine", "Accepted", "");
    until(&site, "bad", "Rejected", "it cannot be moved away");
    assert_eq!(fs::read_to_string(site.path("precious")).unwrap(), "precious");
    assert_eq!(fs::read_dir(site.path("elsewhere")).unwrap().count(), 0);
    assert!(drops.join("bad.yaml").exists());
    sleep(Duration::from_secs(3));
    assert_eq!(rows(&site, "DropRejected"), 1, "what cannot be moved is not refused again and again");
}

#[test]
fn two_files_that_say_different_things_wait_and_name_each_other() {
    let site = site();
    fs::create_dir(site.path("drops")).unwrap();
    site.start();
    put(&site, "a.yaml", gateway("press-1", ""));
    // a person copies one after the other
    sleep(Duration::from_secs(1));
    put(&site, "b.yaml", gateway("press-1", "  hold: true\n"));
    put(&site, "c.yaml", gateway("press-3", ""));
    put(&site, "c.json", "{}");
    until(&site, "a", "Waiting", "in b.yaml too, and says something else there; keep one of the files");
    until(&site, "b", "Waiting", "in a.yaml too");
    until(&site, "c", "Waiting", "c.json and c.yaml would have the same result file; rename one of them");
    fs::remove_file(site.path("drops/b.yaml")).unwrap();
    until(&site, "a", "Accepted", "");
    assert!(result(&site, "b").is_none(), "the result of what is gone is gone");
}

#[test]
fn an_artifact_of_the_right_name_and_size_with_other_bytes_is_refused_once_nobody_writes_any_more() {
    let (bytes, other) = (firmware(64, 20_000), firmware(65, 20_000));
    let site = site();
    fs::create_dir(site.path("drops")).unwrap();
    put(&site, "fw.bin", &other);
    put(&site, "press.yaml", drop(&bytes));
    site.start();
    until(&site, "press", "Waiting", "fw.bin is here, but has another digest; it may still be copying");
    // most of the half minute for which it must rest
    sleep(Duration::from_secs(20));
    rejected(&site, "press.yaml", "press.reason.txt", "copy the right file, or correct the digest");
    assert!(site.path("drops/fw.bin").exists(), "artifacts stay");
}

#[test]
fn a_poll_interval_that_is_changed_counts_for_new_drops_and_takes_no_accepted_one_back() {
    let bytes = firmware(71, 20_000);
    let site = with_drop(&bytes);
    site.start();
    until(&site, "press", "Accepted", "0 of 1 gateways updated");
    site.stop();
    // three of them are longer than a drop's deadlines
    site.configure("pollInterval: 1s, offlineAfter: 1m", "pollInterval: 15m");
    site.start();
    let other = drop(&bytes).replace("press-fw", "other-fw").replace("press-1", "press-2");
    put(&site, "other.yaml", &other);
    rejected(&site, "other.yaml", "other.reason.txt", "deadlines");
    until(&site, "press", "Accepted", "");
    assert!(!site.path("drops/rejected/press.yaml").exists());
    site.configure("pollInterval: 15m", "pollInterval: 1s, offlineAfter: 1m");
    eventually("it is in force", || (rows(&site, "SiteFileChanged") == 1).then_some(()));
    put(&site, "other.yaml", &other);
    until(&site, "other", "Accepted", "other-fw: 0 of 2 gateways updated");
}

#[test]
fn a_soak_is_no_reason_to_write_a_result_again_and_again() {
    let bytes = firmware(72, 20_000);
    let site = site();
    fs::create_dir(site.path("drops")).unwrap();
    put(&site, "fw.bin", &bytes);
    put(&site, "press.yaml", drop(&bytes).replace("soak: 1s", "soak: 10m"));
    site.start();
    until(&site, "press", "Accepted", "0 of 1 gateways updated");
    let device = Device::new(&site, "press-1");
    device.report("1.0.0");
    device.update("2.0.0");
    until(&site, "press", "Accepted", "1 of 1 gateways updated (Soaking)");
    let written = || fs::metadata(site.path("drops/press.status.json")).unwrap().modified().unwrap();
    let before = written();
    for _ in 0..7 {
        sleep(Duration::from_secs(1));
        device.poll();
    }
    assert_eq!(written(), before);
}

#[test]
fn a_manifest_that_declares_a_drops_rollout_takes_it_over() {
    let bytes = firmware(66, 20_000);
    let site = with_drop(&bytes);
    site.start();
    until(&site, "press", "Accepted", "");
    site.declare(&["press-1"], &bytes);
    eventually("it is taken over", || (rows(&site, "TakenOver") == 2).then_some(()));
    site.remove("press-fw.yaml");
    site.until_reason("Unlisted");
}

#[test]
fn killed_after_each_step_of_a_drop_it_is_neither_lost_nor_doubled() {
    let bytes = firmware(67, 4_000_000);
    let site = site();
    fs::create_dir(site.path("drops")).unwrap();
    site.start();
    put(&site, "press.yaml", drop(&bytes));
    until(&site, "press", "Waiting", "fw.bin is not here yet");
    site.kill_and_restart();
    put(&site, "fw.bin", &bytes[..1_000_000]);
    until(&site, "press", "Waiting", "1.0 of 4.0 MB");
    site.kill_and_restart();
    put(&site, "fw.bin", &bytes);
    let cached = site.state().join("artifacts/sha256").join(super::site::digest(&bytes));
    eventually("it is in the cache", || cached.exists().then_some(()));
    site.kill_and_restart();
    eventually("it is accepted", || (rows(&site, "DropAccepted") == 1).then_some(()));
    site.kill_and_restart();
    until(&site, "press", "Accepted", "0 of 1 gateways updated");
    put(&site, "bad.yaml", "nonsense: 1\n");
    eventually("it is refused", || (rows(&site, "DropRejected") > 0).then_some(()));
    site.kill_and_restart();
    rejected(&site, "bad.yaml", "bad.reason.txt", "bad.yaml");
    site.kill_and_restart();
    until(&site, "press", "Accepted", "0 of 1 gateways updated");
    ends_well(&site);
}

#[test]
fn killed_at_any_moment_of_a_drop_it_is_neither_lost_nor_doubled() {
    let bytes = firmware(70, 4_000_000);
    let site = site();
    fs::create_dir(site.path("drops")).unwrap();
    site.start();
    put(&site, "fw.bin", &bytes);
    put(&site, "press.yaml", drop(&bytes));
    put(&site, "bad.yaml", "nonsense: 1\n");
    // from the first look over the copy into the cache to the results, whatever it is at just then
    for wait in [1_990, 2_010, 2_040, 2_100, 2_200, 4_050, 4_100, 4_200] {
        sleep(Duration::from_millis(wait));
        site.kill_and_restart();
        if site.path("drops/rejected/bad.yaml").exists()
            && result(&site, "press").is_some_and(|it| it["state"] == "Accepted")
        {
            break;
        }
    }
    until(&site, "press", "Accepted", "0 of 1 gateways updated");
    rejected(&site, "bad.yaml", "bad.reason.txt", "bad.yaml");
    ends_well(&site);
}

/// One drop was accepted and one refused, each once; the gateway is updated, once.
fn ends_well(site: &Site) {
    let names: Vec<_> = fs::read_dir(site.path("drops/rejected")).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert_eq!((rows(site, "DropAccepted"), rows(site, "RolloutAccepted")), (1, 1));
    let device = Device::new(site, "press-1");
    device.report("1.0.0");
    device.update("2.0.0");
    site.kill_and_restart();
    until(site, "press", "Accepted", "1 of 1 gateways updated");
    assert_eq!(site.journalled("press-1", "Updated"), 1);
}

#[test]
fn ten_thousand_other_files_do_not_keep_a_drop_from_being_found() {
    let bytes = firmware(68, 20_000);
    let site = site();
    fs::create_dir(site.path("drops")).unwrap();
    for n in 0..10_000 {
        put(&site, &format!("photo-{n:05}.jpg"), b"jpg");
    }
    put(&site, "fw.bin", &bytes);
    put(&site, "press.yaml", drop(&bytes));
    site.start();
    until(&site, "press", "Accepted", "");
}
