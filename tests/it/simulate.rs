//! Whole sites, killed again and again: every gateway must end as its behaviour says it should.

use std::process::{Command, Output};
use std::thread;

use serde_json::Value;

/// So many sites run at once; more would only measure the machine.
const AT_ONCE: usize = 4;

fn simulate(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lamplighter")).arg("simulate").args(arguments).output().unwrap()
}

fn killed_again_and_again(seed: u64) -> Value {
    let seed = seed.to_string();
    let small = ["--gateways", "40", "--artifact-size", "256Ki", "--faults", "15%"];
    let output = simulate(&[&small[..], &["--kill-every", "2s", "-o", "json", "--seed", &seed]].concat());
    let errors = String::from_utf8_lossy(&output.stderr);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("seed {seed}: {errors}"));
    assert!(output.status.success(), "seed {seed}: {:#}\n{errors}", report["wrong"]);
    report
}

#[test]
fn twenty_sites_killed_every_two_seconds_all_end_as_they_should() {
    for first in (1..=20).step_by(AT_ONCE) {
        let runs: Vec<_> =
            (first..).take(AT_ONCE).map(|seed| thread::spawn(move || killed_again_and_again(seed))).collect();
        for run in runs {
            let report = run.join().unwrap();
            assert_eq!(report["gateways"], 40);
            assert_eq!(report["updated"].as_u64().unwrap() + report["failed"].as_u64().unwrap(), 40, "{report:#}");
            assert_eq!(report["doubleInstalls"], 0);
            assert!(report["restarts"].as_u64().unwrap() > 0);
        }
    }
}

#[test]
fn a_site_left_alone_ends_with_a_summary_for_people() {
    let output = simulate(&["--gateways", "10", "--artifact-size", "64Ki", "--faults", "30%"]);
    let (summary, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{summary}{errors}");
    assert!(summary.contains("every gateway ended as its behaviour says it should"), "{summary}");
}

#[test]
fn a_site_is_killed_again_and_again_while_it_serves_tls() {
    let arguments = ["--gateways", "20", "--artifact-size", "256Ki", "--faults", "15%", "--kill-every", "3s", "--tls"];
    let output = simulate(&[&arguments[..], &["-o", "json"]].concat());
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(output.status.success(), "{report:#}");
    assert_eq!((&report["doubleInstalls"], &report["gateways"]), (&0.into(), &20.into()));
}

#[test]
fn a_wrong_size_is_bad_usage() {
    let output = simulate(&["--artifact-size", "many"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("is not a size such as"));
}

#[test]
fn a_scenario_is_played_in_virtual_time_and_judged() {
    let output = simulate(&["--scenario", "plant-shutdown"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    for words in
        ["-- the site's machine loses power", "winter   2.0.0    Ready", "yes  each of 60 gateways installed 1 ×"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    let output = simulate(&["--scenario", "plant-shutdown", "-o", "json", "--seed", "5"]);
    let played: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&played["gateways"], &played["seed"], &played["wrong"]),
        (&60.into(), &5.into(), &Value::Array(vec![]))
    );
}

#[test]
fn a_scenario_that_does_not_hold_fails_and_one_that_cannot_be_read_is_bad_input() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("mine.yaml");
    let play = |text: &str| {
        std::fs::write(&file, text).unwrap();
        let output = simulate(&["--scenario", file.to_str().unwrap()]);
        (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    let head = "scenario: mine\nabout: nothing\ngateways: [{name: gw}]\n";
    let (code, text) = play(&format!("{head}lasts: 1h\nexpect: [{{run: 2.0.0}}]\n"));
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("NO   gw runs 2.0.0; but: gw runs 1.0.0"), "{text}");
    let (code, text) = play(&format!("{head}expects: []\n"));
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("expects: is not a known field; did you mean expect?"), "{text}");
    let output = simulate(&["--scenario", "no-such"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("`lamplighter simulate --list` names those"));
    let output = simulate(&["--list"]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("\ncanary-friday "), "{output:?}");
}
