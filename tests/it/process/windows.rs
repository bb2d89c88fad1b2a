//! Maintenance windows by the machine's own clock: closed ones keep a gateway waiting and say until when.

use jiff::{Timestamp, ToSpan, tz::TimeZone};
use serde_json::Value;

use super::device::Device;
use super::site::{Site, firmware, rollout};
use super::wire::ALL;

/// A window from so many hours from now until so many hours from now, every day.
fn window(from: i64, to: i64) -> String {
    let time = |hours: i64| (Timestamp::now() + hours.hours()).to_zoned(TimeZone::UTC).strftime("%H:%M").to_string();
    format!("  windows: [{{start: \"{}\", end: \"{}\"}}]\n", time(from), time(to))
}

#[test]
fn a_gateway_waits_for_its_window_and_is_told_when_it_opens() {
    let firmware = firmware(90, 30_000);
    let site = Site::new();
    site.declare(&["press-1"], &firmware);
    site.put("press-fw.yaml", rollout("2.0.0", &firmware, &window(3, 5)));
    site.start();
    let device = Device::new(&site, "press-1");
    device.poll();
    site.until_step("press-1", "Waiting OutsideWindow");
    site.until_reason("OutsideWindow");
    let text = site.cli(&["status"]).good();
    assert!(text.contains("which opens ") && text.contains(" UTC, in "), "{text}");
    assert!(text.contains("clock: 2"), "{text}");
    let why = site.cli(&["why", "press-1"]).good();
    assert!(why.contains("\n  opens ") && why.contains(" UTC, in 2h"), "{why}");
    let status: Value = site.ask("/v1/status");
    assert_eq!((&status["rollouts"][0]["window"], &status["clock"]["trusted"]), (&"Closed".into(), &true.into()));
    let opens = &status["rollouts"][0]["opens"];
    assert!(opens["inSeconds"].as_u64().is_some_and(|wait| wait > 9_000 && wait <= 10_800), "{opens}");

    // a site that does not run says the same
    site.kill();
    let why = site.cli(&["why", "press-1"]).good();
    assert!(why.contains("OutsideWindow") && why.contains("\n  opens "), "{why}");
    site.start();
    site.until_step("press-1", "Waiting OutsideWindow");

    site.put("press-fw.yaml", rollout("2.0.0", &firmware, &window(-3, 3)));
    device.poll();
    let order = device.fetch();
    site.put("press-fw.yaml", rollout("2.0.0", &firmware, &window(3, 5)));
    site.until_reason("WaveOpen");
    device.download(&order, ALL);
    assert_eq!(device.feedback(&order, "closed", "success"), 200, "what was fetched outlives the window");
}
