//! The state directory over starts and stops: one process at a time, what a stop leaves, and a store that is damaged, newer
//! or empty.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use lamplighter::site::Endpoints;

use super::device::Device;
use super::eventually;
use super::site::{Said, Site, binary, firmware};
use super::wire::ALL;
use super::words::calm;

/// Every file below a directory and what is in it.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let (path, kind) = entry.map(|entry| (entry.path(), entry.file_type().unwrap())).unwrap();
        if kind.is_dir() {
            found.extend(files(&path));
        } else {
            // the control socket is there, and has no bytes
            found.insert(path.display().to_string(), fs::read(&path).unwrap_or_default());
        }
    }
    found
}

/// Starts the site, which must end by itself.
fn start_in_vain(site: &Site) -> Said {
    let mut child = binary().args(site.run_args()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let ended = (0..1_000).any(|_| {
        sleep(Duration::from_millis(20));
        child.try_wait().unwrap().is_some()
    });
    // harmless if it ended
    child.kill().unwrap();
    let said = Said::of(child.wait_with_output().unwrap());
    assert!(ended, "it runs: {said:?}");
    said
}

#[test]
fn a_second_lamplighter_on_the_same_state_refuses_and_touches_nothing() {
    let firmware = firmware(4, 100_000);
    let site = Site::with_one_gateway(&firmware);
    let device = Device::new(&site, "press-1");
    device.report("1.0.0");
    let order = device.fetch();

    let before = files(&site.state());
    let second = start_in_vain(&site);
    assert_eq!(second.code, Some(1));
    let why = format!(
        "lamplighter: another lamplighter runs on {}: stop it, or give this one a state directory of its own\n",
        site.state().display()
    );
    assert_eq!(second.err, why);
    assert_eq!(files(&site.state()), before);

    assert!(device.download(&order, ALL) == firmware, "the first one goes on");
    assert_eq!(device.feedback(&order, "closed", "success"), 200);
    device.report("2.0.0");
    site.until_step("press-1", "Updated");
}

#[test]
fn sigterm_stops_in_order_and_the_next_start_goes_on() {
    let firmware = firmware(5, 100_000);
    let site = Site::with_one_gateway(&firmware);
    let device = Device::new(&site, "press-1");
    device.report("1.0.0");
    let order = device.fetch();
    let first = Endpoints::read(&site.state()).unwrap();

    assert_eq!(site.stop().code(), Some(0));
    assert!(!site.log().contains("did not close cleanly"), "{}", site.log());
    let store = fs::read(site.state().join("store.redb")).unwrap();
    assert!(!site.state().join("store.opening").exists());

    site.start();
    let second = Endpoints::read(&site.state()).unwrap();
    assert_eq!((&first.devices, &first.control), (&second.devices, &second.control));
    assert_ne!(first.pid, second.pid);
    assert_eq!(device.poll().as_ref(), Some(&order.href), "the order is the same");
    assert!(device.download(&order, ALL) == firmware);
    assert_eq!(device.feedback(&order, "closed", "success"), 200);
    device.report("2.0.0");
    site.until_step("press-1", "Updated");
    assert_ne!(fs::read(site.state().join("store.redb")).unwrap(), store, "what happened is in the store");
}

#[test]
fn sigterm_lets_a_download_that_is_under_way_end() {
    let firmware = firmware(6, 3 << 20);
    let site = Site::with_one_gateway(&firmware);
    let device = Device::new(&site, "press-1");
    device.report("1.0.0");
    let order = device.fetch();
    let mut code = None;
    let whole = device.download_through(&order, 64 << 10, || {
        site.terminate();
    });
    eventually("the end", || {
        code = site.ended();
        code
    });
    assert_eq!(code.unwrap().code(), Some(0));
    assert!(whole == firmware, "{} of {} bytes arrived", whole.len(), firmware.len());
}

#[test]
fn a_garbled_store_is_set_aside_and_nothing_is_offered_until_a_person_says_resume() {
    let firmware = firmware(7, 50_000);
    let site = Site::with_gateways(&["press-1", "press-2"], &firmware);
    let (one, two) = (Device::new(&site, "press-1"), Device::new(&site, "press-2"));
    one.report("1.0.0");
    site.stop();
    let store = site.state().join("store.redb");
    let mut bytes = fs::read(&store).unwrap();
    for byte in bytes.iter_mut().skip(4_096).step_by(7) {
        *byte ^= 0x5a;
    }
    fs::write(&store, &bytes).unwrap();

    site.start();
    let status = site.ask("/v1/status");
    assert_eq!(status["storeLost"], true);
    assert_eq!(status["rollouts"][0]["reason"], "StoreLost");
    let aside = site.state().join("store.redb.set-aside-1");
    assert!(fs::read(&aside).unwrap() == bytes, "every byte is kept");
    assert!(site.log().contains(&aside.display().to_string()), "the log names it");
    insta::assert_snapshot!("store_lost", calm(&site, &site.cli(&["status"]).good(), &[]));

    one.report("1.0.0");
    assert_eq!((one.poll(), two.poll()), (None, None));
    assert_eq!(site.step("press-1"), "Waiting StoreLost");
    site.kill_and_restart();
    assert_eq!(site.ask("/v1/status")["storeLost"], true, "a restart is no resume");
    assert_eq!((one.poll(), two.poll()), (None, None));

    let resumed = site.cli(&["resume"]).good();
    assert!(resumed.starts_with("resumed: "), "{resumed}");
    let again = site.cli(&["resume"]).good();
    assert!(again.starts_with("nothing to resume: "), "{again}");
    assert_eq!(site.ask("/v1/status")["storeLost"], false);
    one.update("2.0.0");
    site.until_step("press-1", "Updated");
    two.poll();
    site.until_step("press-2", "Waiting UnknownVersion");
    assert_eq!(two.poll(), None);
    two.report("1.0.0");
    two.update("2.0.0");
    site.until_reason("Done");
}

#[test]
fn a_store_of_a_newer_release_stops_the_start_and_keeps_its_bytes() {
    let site = Site::with_one_gateway(&firmware(8, 1_000));
    site.stop();
    let store = site.state().join("store.redb");
    write_newer_format(&store);
    let before = fs::read(&store).unwrap();

    let said = start_in_vain(&site);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.err.starts_with("lamplighter: the store was written by a newer lamplighter ("), "{said:?}");
    assert!(said.err.trim_end().ends_with("nothing was changed"), "{said:?}");
    assert!(fs::read(&store).unwrap() == before);
}

/// As a later release would mark tables of another shape.
fn write_newer_format(store: &Path) {
    let database = redb::Database::open(store).unwrap();
    let write = database.begin_write().unwrap();
    let meta = redb::TableDefinition::<&[u8], &[u8]>::new("meta");
    write.open_table(meta).unwrap().insert(b"format".as_slice(), 2_u64.to_be_bytes().as_slice()).unwrap();
    write.commit().unwrap();
}

#[test]
fn an_empty_store_file_is_a_lost_store_not_a_new_site() {
    let firmware = firmware(9, 1_000);
    let site = Site::new();
    site.declare(&["press-1"], &firmware);
    fs::create_dir(site.state()).unwrap();
    fs::write(site.state().join("store.redb"), b"").unwrap();
    site.start();
    assert_eq!(site.ask("/v1/status")["storeLost"], true);
    assert_eq!(Device::new(&site, "press-1").poll(), None);
    assert!(fs::read(site.state().join("store.redb.set-aside-1")).unwrap().is_empty());
}
