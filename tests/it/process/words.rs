//! What a person reads along the walking path, word for word, and what a script finds in the JSON of it.

use lamplighter::model::parse_duration;
use serde_json::{Value, json};

use super::device::{Device, Order};
use super::site::{Site, firmware, rollout};
use super::wire::ALL;

/// A text of the command line with what differs from run to run replaced; the layout stays.
pub fn calm(site: &Site, text: &str, orders: &[&Order]) -> String {
    let mut text = text.replace(&site.path("").display().to_string(), "/hall-7/");
    for order in orders {
        text = text.replace(&order.id, "1000000011");
    }
    text.lines().map(|line| calm_line(line) + "\n").collect()
}

fn calm_line(line: &str) -> String {
    // how wide a column of times is depends on the times
    let column = line.split_once(" ago ").filter(|(time, _)| parse_duration(time).is_ok()).map(|(_, rest)| rest);
    if let Some(rest) = column.or_else(|| line.strip_prefix("WHEN ")) {
        let when = if column.is_some() { "[time] ago" } else { "WHEN" };
        return format!("{when:10}  {}", rest.trim_start());
    }
    let words: Vec<&str> = line.split(' ').collect();
    let calm = |(at, word): (usize, &&str)| {
        let before = at.checked_sub(1).map_or("", |at| words[at]);
        let is_duration = parse_duration(word.trim_end_matches(',')).is_ok();
        let is_span = ["for", "in"].contains(&before) || words.get(at + 1).is_some_and(|next| next.starts_with("ago"));
        let bare = word.trim_end_matches([',', ';', ':']);
        match (word_is_time(bare), is_duration && is_span) {
            (true, _) => word.replace(bare, "2026-12-01T06:30:00Z"),
            (_, true) => "[time]".to_owned(),
            _ => (*word).to_owned(),
        }
    };
    words.iter().enumerate().map(calm).collect::<Vec<_>>().join(" ")
}

fn word_is_time(word: &str) -> bool {
    word.len() == 20 && word.starts_with("20") && word.ends_with('Z')
}

/// Reports a version and something else, as a gateway does when it first comes.
fn introduce(device: &Device<'_>, serial: &str) {
    device.poll();
    assert_eq!(device.attributes(&json!({"fw": "1.0.0", "kernel": "6.1.0-17-amd64", "serial": serial})), 200);
}

#[test]
fn a_site_without_anything_says_how_to_begin() {
    let site = Site::new();
    site.start();
    insta::assert_snapshot!(calm(&site, &site.cli(&["status", "--gateways"]).good(), &[]));
}

#[test]
fn the_walking_path_in_words() {
    let firmware = firmware(50, 50_000);
    let site = Site::new();
    // nobody is late while a slow machine runs this
    site.configure("pollInterval: 1s, offlineAfter: 1m", "pollInterval: 60s, offlineAfter: 10m");
    site.declare(&["press-1", "press-2", "press-3"], &firmware);
    site.start();
    let devices = ["press-1", "press-2", "press-3"].map(|name| Device::new(&site, name));
    site.until_reason("WaveOpen");
    insta::assert_snapshot!("nobody_polled", calm(&site, &site.cli(&["status", "--gateways"]).good(), &[]));
    insta::assert_snapshot!("never_polled", calm(&site, &site.cli(&["why", "press-1"]).good(), &[]));

    for (device, serial) in devices.iter().zip(["A-1", "A-2", "A-3"]) {
        introduce(device, serial);
    }
    let [canary, other, _] = &devices;
    let order = canary.fetch();
    insta::assert_snapshot!("canary_downloads", calm(&site, &site.cli(&["status", "--gateways"]).good(), &[]));
    let why = site.cli(&["why", "press-1"]).good();
    insta::assert_snapshot!("downloading", calm(&site, &why, &[&order]));
    let by_id = site.cli(&["why", "ctl-press-1"]).good();
    assert_eq!(calm(&site, &by_id, &[&order]), calm(&site, &why, &[&order]), "by either name");
    insta::assert_snapshot!("wave_not_open", calm(&site, &site.cli(&["why", "press-3"]).good(), &[]));

    canary.download(&order, ALL);
    assert_eq!(canary.progress(&order, "Installing the boot loader", 3, 10), 200);
    insta::assert_snapshot!("installing", calm(&site, &site.cli(&["why", "press-1"]).good(), &[&order]));
    assert_eq!(canary.feedback(&order, "closed", "success"), 200);
    assert_eq!(canary.attributes(&json!({"fw": "2.0.0"})), 200);
    site.until_step("press-1", "Updated");
    insta::assert_snapshot!("updated", calm(&site, &site.cli(&["why", "press-1"]).good(), &[&order]));

    let second = other.fetch();
    other.download(&second, ALL);
    assert_eq!(other.feedback(&second, "closed", "failure"), 200);
    insta::assert_snapshot!("failed_once", calm(&site, &site.cli(&["why", "press-2"]).good(), &[&second]));

    site.put("press-fw.yaml", rollout("2.0.0", &firmware, "  deadlines: {confirm: 1s, instal: 10m}\n"));
    site.put("notes.yaml", "remember: to ask about press 2\n");
    site.until_reason("Unlisted");
    insta::assert_snapshot!("refused", calm(&site, &site.cli(&["status"]).good(), &[]));
}

#[test]
fn the_same_for_scripts() {
    let firmware = firmware(51, 50_000);
    let site = Site::with_one_gateway(&firmware);
    let device = Device::new(&site, "press-1");
    introduce(&device, "A-1");
    let order = device.update("2.0.0");
    site.until_reason("Done");
    let of = |args: &[&str]| serde_json::from_str::<Value>(&site.cli(args).good()).unwrap();

    let status = of(&["status", "-o", "json"]);
    assert_eq!((&status["site"], &status["storeLost"]), (&json!("hall-7"), &json!(false)));
    assert_eq!(status["gateways"], json!({"total": 1, "polling": 1}));
    assert_eq!(status["counters"]["servedBytes"], 50_000);
    let rollout = &status["rollouts"][0];
    assert_eq!((&rollout["name"], &rollout["phase"]), (&json!("press-fw"), &json!("Ready")));
    assert_eq!(rollout["artifact"]["digest"], format!("sha256:{}", order.sha256));
    assert_eq!((&rollout["steps"]["Updated"], &rollout["summary"]["updated"]), (&json!(1), &json!(1)));
    assert_eq!(status.get("gatewayList"), None);

    let list = of(&["status", "--gateways", "-o", "json"])["gatewayList"].clone();
    let line = json!([{
        "name": "press-1", "controllerId": "ctl-press-1", "presence": "Polling", "versions": {"fw": "2.0.0"},
        "member": {"rollout": "press-fw", "step": "Updated", "reason": null, "attempts": 0,
            "action": order.id.parse::<i32>().unwrap()},
    }]);
    assert_eq!(list, line);

    let why = of(&["why", "press-1", "-o", "json"]);
    assert_eq!(why["attributes"]["serial"], "A-1");
    let journal: Vec<_> = why["journal"].as_array().unwrap().iter().map(|row| row["what"].as_str().unwrap()).collect();
    assert_eq!(journal, ["FirstSeen", "Offered", "Fetched", "Served", "Reported", "Updated"]);
}
