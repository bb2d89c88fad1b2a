//! The site file changed while the site runs, as people and ConfigMap volumes do it.

use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use super::device::Device;
use super::eventually;
use super::site::{Said, Site, binary, firmware, gateway};
use super::wire::{ALL, PATIENCE, Request, exchange};

fn state_of_file(site: &Site) -> Value {
    site.ask("/v1/status")["siteFile"].clone()
}

fn until_problem(site: &Site, text: &str) -> String {
    eventually(text, || Some(state_of_file(site)["problem"].as_str()?.to_owned()).filter(|why| why.contains(text)))
}

fn until_no_problem(site: &Site) {
    eventually("the site file is good", || state_of_file(site)["problem"].is_null().then_some(()));
}

/// How often a gateway is told to poll.
fn told(device: &Device<'_>) -> String {
    let answer = device.root();
    answer["config"]["polling"]["sleep"].as_str().unwrap().to_owned()
}

fn until_told(device: &Device<'_>, sleep: &str) {
    eventually(sleep, || (told(device) == sleep).then_some(()));
}

/// The status that a gateway gets that nobody declared.
fn knock(site: &Site) -> u16 {
    let stream = TcpStream::connect(site.address()).unwrap();
    stream.set_read_timeout(PATIENCE).unwrap();
    let headers = [("Host", "site"), ("Authorization", "TargetToken its-own")];
    exchange(stream, &Request("GET", "/DEFAULT/controller/v1/press-9", &headers, b""), ALL).unwrap().status
}

/// The details of the journal's rows about the site file.
fn journalled(site: &Site) -> Vec<String> {
    let rows = site.ask("/v1/journal?what=SiteFileChanged")["rows"].clone();
    rows.as_array().unwrap().iter().map(|row| row["detail"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_can_change_is_in_force_without_a_restart() {
    let site = Site::with_one_gateway(&firmware(60, 20_000));
    let pid = site.pid();
    let device = Device::new(&site, "press-1");
    assert_eq!(told(&device), "00:00:01");
    device.report("1.0.0");

    fs::create_dir(site.path("more")).unwrap();
    fs::write(site.path("more/press-2.yaml"), gateway("press-2", "")).unwrap();
    site.configure("manifests: [manifests]", "manifests: [manifests, more]");
    site.configure(
        "pollInterval: 1s, offlineAfter: 1m",
        "pollInterval: 7s, offlineAfter: 2m, url: \"http://proxy.hall-7\"",
    );
    until_told(&device, "00:00:07");
    let href = device.offered();
    assert!(href.starts_with("http://proxy.hall-7/"), "{href}");
    eventually("the other directory is read", || (site.ask("/v1/status")["gateways"]["total"] == 2).then_some(()));
    let details = journalled(&site).join("; ");
    assert!(details.contains("devices.pollInterval is 7s, was 1s"), "{details}");
    assert!(details.contains("devices.offlineAfter is 2m, was 1m"), "{details}");
    let more = site.path("more").display().to_string();
    assert!(details.contains("intake.manifests is ") && details.contains(&more), "{details}");

    assert_eq!(knock(&site), 401);
    assert_eq!(site.ask("/v1/status")["pending"], Value::Null);
    site.configure("insecure: true", "insecure: true, registration: Pending, connections: {perAddress: 40}");
    eventually("who knocks is listed", || {
        knock(&site);
        (site.ask("/v1/status")["pending"][0]["controllerId"] == "press-9").then_some(())
    });
    site.configure("registration: Pending", "registration: Accept, registrationLabels: {line: \"3\"}");
    eventually("who knocks is let in", || (knock(&site) == 200).then_some(()));

    site.configure("insecure: true", "insecure: true, tenants: [HALL]");
    eventually("the other tenant is served, and the first no more", || (!device.may_sign_in()).then_some(()));
    assert_eq!(site.pid(), pid);
    assert!(site.ended().is_none(), "it is the same process");
    assert_eq!(state_of_file(&site)["needsRestart"], json!([]));
}

#[test]
fn a_broken_file_keeps_the_old_one_in_force_and_says_why_until_it_is_mended() {
    let site = Site::with_one_gateway(&firmware(61, 1_000));
    let device = Device::new(&site, "press-1");
    site.configure("pollInterval: 1s", "pollIntervall: 7s");
    let why = until_problem(&site, "devices.pollIntervall: is not a known field; did you mean pollInterval?");
    assert!(why.starts_with(&site.path("site.yaml").display().to_string()), "{why}");
    assert_eq!(told(&device), "00:00:01");
    let text = site.cli(&["status"]).good();
    assert!(text.contains("is not accepted, so what it said before stays in force:\n"), "{text}");
    assert!(text.contains("did you mean pollInterval?"), "{text}");
    assert!(site.log().contains("the site file is not accepted"), "{}", site.log());
    // an editor that writes in pieces, a file that is no YAML at all, and one that is gone
    for (broken, word) in [("", "is empty"), ("a: [", "line 1"), ("devices: \u{0}", "")] {
        fs::write(site.path("site.yaml"), broken).unwrap();
        until_problem(&site, word);
    }
    let said = site.cli(&["status"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("`--config FILE` or `--state DIR` says which site is meant"), "{said:?}");
    let state = site.state().display().to_string();
    let text = Said::of(binary().args(["status", "--state", &state]).output().unwrap()).good();
    assert!(text.contains("is not accepted"), "{text}");
    fs::remove_file(site.path("site.yaml")).unwrap();
    until_problem(&site, "cannot be read");
    assert_eq!(told(&device), "00:00:01", "a file that is gone changes nothing");

    fs::write(site.path("site.yaml"), Site::SITE_FILE).unwrap();
    until_no_problem(&site);
    assert_eq!(journalled(&site), [""; 0], "nothing changed");
    site.configure("pollInterval: 1s", "pollInterval: 7s");
    until_told(&device, "00:00:07");
    assert_eq!(journalled(&site), ["devices.pollInterval is 7s, was 1s"]);
}

#[test]
fn what_cannot_change_waits_for_a_restart_and_says_so() {
    let site = Site::with_one_gateway(&firmware(62, 1_000));
    site.configure("site: hall-7", "site: hall-8\ncontrol: {group: root}");
    site.configure("pollInterval: 1s", "pollInterval: 7s");
    let waiting = json!(["site", "control.group"]);
    eventually("it says what waits", || (state_of_file(&site)["needsRestart"] == waiting).then_some(()));
    until_told(&Device::new(&site, "press-1"), "00:00:07");
    assert_eq!(site.ask("/v1/status")["site"], "hall-7");
    let text = site.cli(&["status"]).good();
    assert!(text.contains("site, control.group are changed in the site file, which needs a restart"), "{text}");
    assert!(site.log().contains("needs a restart"), "{}", site.log());

    site.stop();
    site.start();
    assert_eq!(site.ask("/v1/status")["site"], "hall-8");
    assert_eq!(state_of_file(&site)["needsRestart"], json!([]));
}

#[test]
fn flags_count_whatever_the_file_comes_to_say() {
    let site = Site::with_one_gateway(&firmware(63, 1_000));
    // every start of these tests is given `--listen`
    site.configure("listen: 127.0.0.1:0", "listen: 127.0.0.1:9");
    site.configure("pollInterval: 1s", "pollInterval: 7s");
    until_told(&Device::new(&site, "press-1"), "00:00:07");
    assert_eq!(state_of_file(&site)["needsRestart"], json!([]));
    assert_eq!(journalled(&site), ["devices.pollInterval is 7s, was 1s"]);
}

#[test]
fn a_swapped_configmap_volume_is_followed_each_time() {
    let site = Site::new();
    let volume = |version: &str, interval: &str| {
        let text = fs::read_to_string(site.path("site.yaml")).unwrap();
        let dir = site.path(&format!("..{version}"));
        fs::create_dir(&dir).unwrap();
        let text = text.lines().map(|line| match line.find("pollInterval: ") {
            Some(at) => format!("{}pollInterval: {interval}, offlineAfter: 1m}}\n", &line[..at]),
            None => format!("{line}\n"),
        });
        fs::write(dir.join("site.yaml"), text.collect::<String>()).unwrap();
        symlink(format!("..{version}"), site.path("..data_tmp")).unwrap();
    };
    let swap = |old: Option<&str>| {
        fs::rename(site.path("..data_tmp"), site.path("..data")).unwrap();
        if let Some(old) = old {
            fs::remove_dir_all(site.path(&format!("..{old}"))).unwrap();
        }
    };
    volume("v1", "1s");
    swap(None);
    fs::remove_file(site.path("site.yaml")).unwrap();
    symlink(Path::new("..data/site.yaml"), site.path("site.yaml")).unwrap();
    site.declare(&["press-1"], &firmware(64, 1_000));
    site.start();
    let device = Device::new(&site, "press-1");
    assert_eq!(told(&device), "00:00:01");
    for (old, new, interval, sleep) in
        [("v1", "v2", "6s", "00:00:06"), ("v2", "v3", "7s", "00:00:07"), ("v3", "v4", "8s", "00:00:08")]
    {
        volume(new, interval);
        swap(Some(old));
        until_told(&device, sleep);
    }
}

#[test]
fn killed_around_a_change_it_comes_back_with_what_the_file_says() {
    let firmware = firmware(65, 20_000);
    let site = Site::with_one_gateway(&firmware);
    let device = Device::new(&site, "press-1");
    device.report("1.0.0");
    let order = device.fetch();
    for (old, new, sleep) in [("1s", "5s", "00:00:05"), ("5s", "6s", "00:00:06"), ("6s", "2s", "00:00:02")] {
        site.configure(&format!("pollInterval: {old}"), &format!("pollInterval: {new}"));
        site.kill_and_restart();
        assert_eq!(told(&device), sleep);
    }
    site.configure("pollInterval: 2s", "pollInterval: 3s");
    until_told(&device, "00:00:03");
    site.kill_and_restart();
    assert_eq!(told(&device), "00:00:03");
    assert_eq!(journalled(&site).last().map(String::as_str), Some("devices.pollInterval is 3s, was 2s"));
    // and the order that was under way goes on
    device.download(&order, ALL);
    assert_eq!(device.feedback(&order, "closed", "success"), 200);
    assert_eq!(device.attributes(&json!({"fw": "2.0.0"})), 200);
    site.until_reason("Done");
}

#[test]
fn keys_of_versions_and_slots_that_change_are_decided_by_at_once() {
    let site = Site::new();
    site.configure("devices: {", "devices: {downloads: {concurrent: 1}, versionKeys: {fw: [os]}, ");
    let firmware = firmware(66, 20_000);
    site.declare(&["press-1", "press-2", "press-3"], &firmware);
    site.start();
    for name in ["press-1", "press-2", "press-3"] {
        // it is already there, but not under the key that the site looks at
        Device::new(&site, name).report(if name == "press-1" { "2.0.0" } else { "1.0.0" });
    }
    eventually("nobody is known to have it", || (site.rollout()["summary"]["skipped"] == 0).then_some(()));
    site.configure("versionKeys: {fw: [os]}", "versionKeys: {}");
    site.until_step("press-1", "Skipped AlreadyInstalled");
}

#[test]
fn a_reserve_that_left_no_room_is_corrected_in_the_site_file() {
    let site = Site::new();
    site.configure("diskReserve: 1Mi", "diskReserve: 4000000Gi");
    site.declare(&["press-1"], &firmware(67, 20_000));
    site.start();
    let failed = site.until_reason("ArtifactFailed");
    assert!(failed["message"].as_str().unwrap().contains("limits.diskReserve"), "{failed}");
    site.configure("diskReserve: 4000000Gi", "diskReserve: 1Mi");
    site.until_reason("WaveOpen");
    assert_eq!(journalled(&site), ["limits.diskReserve is 1Mi, was 4000000Gi"]);
}

#[test]
fn an_interval_that_was_shortened_while_the_site_was_stopped_makes_nobody_quiet_who_comes_by_the_old() {
    let site = Site::with_one_gateway(&firmware(66, 1_000));
    let device = Device::new(&site, "press-1");
    site.configure("pollInterval: 1s, offlineAfter: 1m", "pollInterval: 60s, offlineAfter: 10m");
    // half of it while it has an order
    until_told(&device, "00:00:30");
    site.stop();
    site.configure("pollInterval: 60s", "pollInterval: 1s");
    site.start();
    // by the new interval its silence would mean something after 10 s
    std::thread::sleep(std::time::Duration::from_secs(12));
    assert_eq!(site.ask("/v1/why/press-1")["presence"], "Polling");
}
