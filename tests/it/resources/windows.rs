//! Windows and time zones as people type them.

use lamplighter::{config, model};

use super::{accepted, refused_with, rollout};

fn with_window(window: &str) -> String {
    rollout("main", &format!("  windows: [{{{window}}}]\n"))
}

#[test]
fn windows_are_checked_and_their_defaults_are_filled_in() {
    let spec = accepted(&rollout("main", ""));
    assert!(spec.windows.is_empty());
    assert_eq!(spec.windows.when_clock_unknown, model::WhenClockUnknown::Hold);
    let text = with_window(
        "days: [Sat, Sun], start: \"22:00\", end: \"06:00\", lastStart: \"04:30\", timeZone: europe/berlin",
    );
    let time = |text: &str| text.parse().unwrap();
    let zone = Some("Europe/Berlin".parse().unwrap());
    let days = [model::Day::Sat, model::Day::Sun].into();
    let window = model::Window::new(days, (time("22:00"), time("06:00")), Some(time("04:30")), zone).unwrap();
    assert_eq!(accepted(&text).windows.list, [window]);
    for fine in [
        "start: \"00:00\", end: \"24:00\"",
        "start: 22:00, end: 22:02",
        "start: \"23:00\", end: \"00:30\", lastStart: \"24:00\"",
    ] {
        assert_eq!(accepted(&with_window(fine)).windows.list.len(), 1, "{fine}");
    }
    let allowing = accepted(&rollout("main", "  whenClockUnknown: Allow\n"));
    assert_eq!(allowing.windows.when_clock_unknown, model::WhenClockUnknown::Allow);
}

#[test]
fn windows_that_cannot_be_meant_are_refused_with_what_to_do() {
    let hours = "start: \"22:00\", end: \"06:00\"";
    let bad = |window: &str, words: &[&str]| refused_with(&with_window(window), words);
    bad(&format!("{hours}, timeZone: Europe/Berln"), &["spec.windows[0].timeZone", "did you mean Europe/Berlin"]);
    bad(&format!("{hours}, timeZone: \"+02:00\""), &["timeZone", "IANA"]);
    bad(&format!("{hours}, days: []"), &["spec.windows[0].days"]);
    bad(&format!("{hours}, days: [Saturday]"), &["spec.windows[0].days[0]", "Sat"]);
    bad("start: \"06:00\", end: \"06:00\"", &["spec.windows[0].end", "leave `windows` out", "00:00 to 24:00"]);
    bad("start: \"00:00\", end: \"00:00\"", &["spec.windows[0].end"]);
    bad("start: \"24:00\", end: \"06:00\"", &["spec.windows[0].start", "00:00"]);
    for outside in ["21:00", "22:00", "06:01", "12:00"] {
        bad(&format!("{hours}, lastStart: \"{outside}\""), &["spec.windows[0].lastStart", "between start and end"]);
    }
    bad("start: \"22:00\", end: \"22:01\"", &["spec.windows[0].end", "2 polls of 1m", "at least 2m"]);
    bad(&format!("{hours}, lastStart: \"22:01\""), &["spec.windows[0].lastStart", "2 polls"]);
    for time in ["6:00", "25:00", "06:60", "6 am", "0600"] {
        bad(&format!("start: \"{time}\", end: \"12:00\""), &["spec.windows[0].start"]);
    }
    bad("start: \"22:00\"", &["spec.windows[0].end"]);
    bad(&format!("{hours}, until: \"07:00\""), &["spec.windows[0].until"]);
    refused_with(&rollout("main", "  windows: []\n"), &["spec.windows"]);
    let many = format!("  windows: [{}]\n", vec![format!("{{{hours}}}"); 17].join(", "));
    refused_with(&rollout("main", &many), &["spec.windows", "16"]);
    refused_with(&rollout("main", "  whenClockUnknown: Maybe\n"), &["spec.whenClockUnknown"]);
}

#[test]
fn a_site_file_names_a_time_zone_that_is_known() {
    let site = |more: &str| {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("site.yaml");
        let head = "apiVersion: lamplighter.dev/v1alpha1\nkind: SiteConfig\nsite: hall-7\nstate: /s\nintake: {manifests: [/m]}\n";
        std::fs::write(&file, format!("{head}devices: {{listen: \"127.0.0.1:80\", insecure: true}}\n{more}")).unwrap();
        config::load(&file).map_err(|error| error.to_string())
    };
    assert_eq!(site("").unwrap().time_zone.name(), "UTC");
    assert_eq!(site("timeZone: Europe/Berlin\n").unwrap().time_zone.name(), "Europe/Berlin");
    let why = site("timeZone: Berlin\n").unwrap_err();
    assert!(why.contains("timeZone: ") && why.contains("Europe/Berlin"), "{why}");
}
