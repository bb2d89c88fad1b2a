//! Drops on disks that are full or read-only, and a kernel that has no watches left.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::device::Device;
use super::drops::{drop, put, rows, site, until, with_drop};
use super::eventually;
use super::full_disk::{fill, on_a_small_disk};
use super::site::{Site, binary, firmware, gateway};

/// Starts a site in namespaces of its own, after `script`, in which `$0` is the drop directory.
fn start_after(site: &Site, namespaces: &[&str], script: &str) {
    let mut command = Command::new("unshare");
    command.args(namespaces).args(["sh", "-c", &format!("{script} && exec \"$@\"")]);
    command.arg(site.path("drops")).arg(binary().get_program()).args(site.run_args());
    site.start_as(command, &site.state());
}

/// The drop directory as the site sees it.
fn inside(site: &Site) -> PathBuf {
    PathBuf::from(format!("/proc/{}/root{}", site.pid(), site.path("drops").display()))
}

/// What `status` says of a drop, once it says this.
fn shown(site: &Site, file: &str, state: &str, says: &str) {
    eventually(&format!("{file}: {state}: {says}"), || {
        let drops = site.ask("/v1/status")["drops"].clone();
        let found = drops.as_array().unwrap().iter().find(|it| it["file"] == file)?.clone();
        (found["state"] == state && found["message"].as_str().unwrap().contains(says)).then_some(())
    });
}

#[test]
fn on_a_read_only_stick_a_drop_counts_and_a_bad_one_is_left_there_and_shown() {
    let bytes = firmware(80, 50_000);
    let site = with_drop(&bytes);
    put(&site, "bad.yaml", "nonsense: 1\n");
    start_after(&site, &["--mount"], "mount --bind \"$0\" \"$0\" && mount -o remount,bind,ro \"$0\"");
    eventually("it counts", || (rows(&site, "DropAccepted") == 1).then_some(()));
    shown(&site, "bad.yaml", "Rejected", "cannot be moved away: Read-only file system");
    assert_eq!(site.log().matches("cannot write results into the drop directory").count(), 1, "once");
    assert!(site.path("drops/bad.yaml").exists());
    assert_eq!(rows(&site, "DropRejected"), 1);
}

#[test]
fn on_a_full_stick_a_drop_counts_and_what_cannot_be_moved_away_is_left_there() {
    let bytes = firmware(81, 50_000);
    let site = site();
    fs::create_dir(site.path("drops")).unwrap();
    start_after(&site, &["--mount"], "mount -t tmpfs -o size=256k tmpfs \"$0\"");
    let drops = inside(&site);
    fs::write(drops.join("fw.bin"), &bytes).unwrap();
    fs::write(drops.join("bad.yaml"), "nonsense: 1\n").unwrap();
    fs::write(drops.join("press.yaml"), drop(&bytes)).unwrap();
    let filler = fill(&drops);
    eventually("it counts", || (rows(&site, "DropAccepted") == 1).then_some(()));
    shown(&site, "bad.yaml", "Rejected", "cannot be moved away: No space left on device");
    assert!(drops.join("bad.yaml").exists(), "nothing is refused without its reason");
    // with room again it goes the usual way as soon as somebody touches it
    fs::remove_file(filler).unwrap();
    fs::write(drops.join("bad.yaml"), "nonsense: 2\n").unwrap();
    eventually("it is moved away", || drops.join("rejected/bad.reason.txt").exists().then_some(()));
}

#[test]
fn without_room_in_the_cache_a_drop_waits_and_says_so_and_goes_on_by_itself() {
    let bytes = firmware(82, 5 << 20);
    let site = with_drop(&bytes);
    let state = on_a_small_disk(&site);
    until(&site, "press", "Waiting", "bytes free that are needed");
    let grown = Command::new("nsenter")
        .args([&format!("--target={}", site.pid()), "--mount", "mount", "-o", "remount,size=32m"])
        .arg(site.state())
        .status()
        .unwrap();
    assert!(grown.success());
    until(&site, "press", "Accepted", "");
    assert!(state.join("artifacts/sha256").read_dir().unwrap().count() == 1);
}

#[test]
fn a_drop_whose_commit_fails_counts_once_when_there_is_room_again() {
    let site = site();
    fs::create_dir(site.path("drops")).unwrap();
    let state = on_a_small_disk(&site);
    let filler = fill(&state);
    let many: Vec<_> = (0..400).map(|at| gateway(&format!("fill-{at}"), "")).collect();
    put(&site, "many.yaml", many.join("---\n"));
    eventually("a commit fails", || site.log().contains("the store fails").then_some(()));
    fs::remove_file(filler).unwrap();
    until(&site, "many", "Accepted", "its gateways are known now");
    let ask = |path: &str| super::site::try_ask(&lamplighter::site::Endpoints::control(&state), path).unwrap();
    assert_eq!(ask("/v1/journal?what=DropAccepted")["rows"].as_array().unwrap().len(), 1);
    assert_eq!(ask("/v1/status")["gateways"]["total"], 400);
}

#[test]
fn without_watches_left_the_directory_is_polled_and_that_is_said() {
    let site = site();
    fs::create_dir(site.path("drops")).unwrap();
    let none = Path::new("/proc/sys/user/max_inotify_instances");
    assert!(none.exists(), "this test needs a kernel that counts watches per user namespace");
    start_after(&site, &["--user", "--map-root-user"], &format!("echo 0 > {}", none.display()));
    put(&site, "fine.yaml", gateway("press-1", ""));
    until(&site, "fine", "Accepted", "");
    let drops = site.path("drops").display().to_string();
    let said = |line: &&str| line.contains("cannot watch the directory") && line.contains(&drops);
    assert_eq!(site.log().lines().filter(said).count(), 1, "{}", site.log());
}

#[test]
fn a_stick_that_is_mounted_over_the_directory_is_found_and_may_be_pulled_out_at_any_time() {
    let bytes = firmware(83, 50_000);
    let site = site();
    fs::create_dir(site.path("drops")).unwrap();
    start_after(&site, &["--mount"], "true");
    let mounts = |command: &[&str]| {
        let target = format!("--target={}", site.pid());
        let done = Command::new("nsenter").args([&target, "--mount"]).args(command).arg(site.path("drops")).status();
        assert!(done.unwrap().success(), "{command:?}");
    };
    let plug_in = || mounts(&["mount", "-t", "tmpfs", "stick"]);
    plug_in();
    fs::write(inside(&site).join("press.yaml"), drop(&bytes)).unwrap();
    shown(&site, "press.yaml", "Waiting", "fw.bin is not here yet");
    mounts(&["umount"]);
    shown(&site, "press.yaml", "Waiting", "was taken away while it waited, so nothing of it counts");
    assert_eq!(rows(&site, "DropAccepted"), 0);

    plug_in();
    fs::write(inside(&site).join("press.yaml"), drop(&bytes)).unwrap();
    fs::write(inside(&site).join("fw.bin"), &bytes).unwrap();
    eventually("it counts", || (rows(&site, "DropAccepted") == 1).then_some(()));
    mounts(&["umount"]);
    let device = Device::new(&site, "press-1");
    device.report("1.0.0");
    device.update("2.0.0");
    site.until_reason("Done");
}
