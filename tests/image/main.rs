//! The image as a node that never sees a registry gets it: from the archive, unpacked, run by its own user on a read-only root
//! within the memory that the manifests allow. Needs root, for what a container runtime does.
//!
//! Run by `make test-image`, which makes the archive and names it in `LAMPLIGHTER_IMAGE`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]
#![allow(clippy::format_collect, clippy::format_push_string, reason = "tests are read, not timed")]

#[path = "../it/process/device.rs"]
#[expect(dead_code, reason = "shared with the tests of the process")]
mod device;
#[path = "../support/eventually.rs"]
mod eventually;
#[path = "../it/process/site.rs"]
#[expect(dead_code, reason = "shared with the tests of the process")]
mod site;
mod unpacked;
#[path = "../it/process/wire.rs"]
mod wire;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

use device::Device;
use eventually::eventually;
use site::{Site, firmware};
use unpacked::{USER, Unpacked};

/// A site directory as a pod sees one: what it may only read, and the state, which is its own.
fn declared(names: &[&str], firmware: &[u8]) -> Site {
    let site = Site::new();
    site.declare(names, firmware);
    fs::set_permissions(site.path("."), fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(site.state()).unwrap();
    chown(site.state(), Some(USER), Some(USER)).unwrap();
    site
}

#[test]
fn the_image_says_who_runs_what_and_holds_nothing_else() {
    let image = Unpacked::new();
    let config = &image.config["config"];
    assert_eq!(config["User"], format!("{USER}:{USER}"));
    assert_eq!(config["Entrypoint"], serde_json::json!(["/lamplighter"]));
    assert_eq!(config["Labels"]["org.opencontainers.image.version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(image.name, concat!("lamplighter.dev/lamplighter:", env!("CARGO_PKG_VERSION")));
    let files = image.files();
    assert_eq!(files, ["etc/group", "etc/passwd", "etc/ssl/certs/ca-certificates.crt", "lamplighter"]);
    for file in files {
        let metadata = fs::metadata(image.root().join(&file)).unwrap();
        let mode = if file == "lamplighter" { 0o755 } else { 0o644 };
        assert_eq!((metadata.uid(), metadata.gid(), metadata.mode() & 0o7777), (0, 0, mode), "{file}");
    }
    let authorities = fs::read_to_string(image.root().join("etc/ssl/certs/ca-certificates.crt")).unwrap();
    assert!(authorities.matches("BEGIN CERTIFICATE").count() > 50);
}

#[test]
fn unpacked_from_the_archive_it_updates_gateways_on_a_read_only_root_within_16_mebibytes() {
    let image = Unpacked::new();
    let site = declared(&["press-1", "press-2"], &firmware(3, 8 << 20));
    // what the init container does, and again at the next start of the pod
    for verb in ["made", "kept"] {
        let args = ["init", "--without-site-file", "--dir", "/etc/lamplighter/state", "--host", "10.0.0.7"];
        let said = image.command(&site.path("."), &args).output().unwrap();
        assert!(said.status.success(), "{said:?}");
        assert_eq!(String::from_utf8(said.stdout).unwrap().matches(verb).count(), 5);
    }
    let start = || {
        let mut args = site.run_args();
        let config = args.iter_mut().find(|arg| arg.ends_with("site.yaml")).unwrap();
        *config = "/etc/lamplighter/site.yaml".into();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        site.start_as(image.command(&site.path("."), &args), &site.state());
    };
    start();
    let status = fs::read_to_string(format!("/proc/{}/status", site.pid())).unwrap();
    assert!(
        status.contains(&format!("Uid:\t{USER}\t{USER}")) && status.contains("CapEff:\t0000000000000000"),
        "{status}"
    );
    for name in ["press-1", "press-2"] {
        Device::new(&site, name).report("1.0.0");
    }
    let devices = ["press-1", "press-2"].map(|name| Device::new(&site, name));
    let first = eventually("one is offered its update", || devices.iter().position(|device| device.poll().is_some()));
    devices[first].update("2.0.0");
    // the pod is replaced in between
    assert!(site.stop().success());
    start();
    eventually("the other is offered its update", || {
        devices[first].poll();
        devices[1 - first].poll()
    });
    devices[1 - first].update("2.0.0");
    site.until_reason("Done");
    for name in ["press-1", "press-2"] {
        assert_eq!(site.journalled(name, "Offered"), 1, "nothing ran twice");
    }
    assert_eq!(image.oom_kills(), 0);
    assert!(site.stop().success());
}

#[test]
fn a_state_directory_of_somebody_else_is_named_with_what_helps() {
    let image = Unpacked::new();
    let site = declared(&[], b"");
    chown(site.state(), Some(0), Some(0)).unwrap();
    fs::set_permissions(site.state(), fs::Permissions::from_mode(0o755)).unwrap();
    let said = image.command(&site.path("."), &["run", "--config", "/etc/lamplighter/site.yaml"]).output().unwrap();
    let text = String::from_utf8(said.stderr).unwrap();
    assert!(!said.status.success());
    assert!(text.contains("/etc/lamplighter/state") && text.contains("ermission denied"), "{text}");
}
