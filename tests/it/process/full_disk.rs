//! A disk that is full: gateways are told to come again, nothing is lost, and the site goes on by itself.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use lamplighter::site::Endpoints;
use serde_json::json;

use super::device::Device;
use super::eventually;
use super::site::{Said, Site, binary, firmware, gateway, try_ask};
use super::wire::ALL;

/// The disk: a little more than a small artifact, its reserve and a young store.
const SIZE: &str = "4m";

/// Starts a site whose state is on a disk of its own; where that is seen from here.
pub(super) fn on_a_small_disk(site: &Site) -> PathBuf {
    let allowed = Command::new("unshare").args(["--mount", "true"]).status();
    assert!(
        allowed.as_ref().is_ok_and(std::process::ExitStatus::success),
        "this test mounts a small tmpfs in a mount namespace of its own: it needs root, and `unshare` of util-linux ({allowed:?})"
    );
    let state = site.state();
    fs::create_dir(&state).unwrap();
    let mut command = Command::new("unshare");
    let script = format!("mount -t tmpfs -o size={SIZE} tmpfs \"$0\" && exec \"$@\"");
    command.args(["--mount", "sh", "-c", &script]).arg(&state).arg(binary().get_program()).args(site.run_args());
    site.start_as(command, Path::new(&format!("/proc/PID/root{}", state.display())));
    PathBuf::from(format!("/proc/{}/root{}", site.pid(), state.display()))
}

/// Writes until nothing more fits.
pub(super) fn fill(state: &Path) -> PathBuf {
    let path = state.join("filler");
    let mut file = File::create(&path).unwrap();
    for size in [64 << 10, 4 << 10, 1] {
        while file.write_all(&vec![1; size]).is_ok() {}
    }
    path
}

/// Lets the store fail for want of room; the file that takes it.
fn fail(site: &Site, state: &Path, device: &Device<'_>) -> PathBuf {
    let filler = fill(state);
    // whether a small commit still fits among the store's own pages depends on where it stands: so more than that
    let many: Vec<_> = (0..400).map(|at| gateway(&format!("fill-{at}"), "")).collect();
    site.put("many.yaml", many.join("---\n"));
    eventually("a commit fails", || (device.attributes(&json!({"serial": "1"})) == 429).then_some(()));
    filler
}

#[test]
fn a_full_disk_holds_gateways_up_and_loses_nothing() {
    let firmware = firmware(3, 1 << 20);
    let site = Site::new();
    site.declare(&["press-1"], &firmware);
    let state = on_a_small_disk(&site);
    let control = Endpoints::control(&state);
    let device = Device::new(&site, "press-1");
    device.report("1.0.0");
    let order = device.fetch();
    assert!(device.download(&order, ALL) == firmware);

    let filler = fail(&site, &state, &device);
    for _ in 0..20 {
        assert_eq!(device.feedback(&order, "closed", "success"), 429);
    }
    assert_eq!(device.poll().as_ref(), Some(&order.href), "polls are answered all the same");
    let status = Said::of(binary().args(["status", "--state"]).arg(&state).output().unwrap());
    let why = "lamplighter: the site cannot write its store, so nothing moves: I/O error: No space left on device \
        (os error 28); free space or repair the disk, it goes on by itself\n";
    assert_eq!((status.code, status.err.as_str()), (Some(1), why));

    fs::remove_file(filler).unwrap();
    eventually("the feedback counts", || (device.feedback(&order, "closed", "success") == 200).then_some(()));
    device.report("2.0.0");
    eventually("Updated", || {
        let why = try_ask(&control, "/v1/why/press-1").unwrap();
        (why["rollouts"][0]["step"] == "Updated").then_some(())
    });
}

#[test]
fn a_site_on_a_full_disk_stops_when_it_is_told_to() {
    let site = Site::new();
    site.declare(&["press-1"], &firmware(4, 1 << 20));
    let state = on_a_small_disk(&site);
    let device = Device::new(&site, "press-1");
    device.report("1.0.0");
    fail(&site, &state, &device);
    assert_eq!(site.stop().code(), Some(0));
    assert!(site.log().contains("nothing that was answered is lost"));
}
