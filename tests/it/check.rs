//! `lamplighter check` and `lamplighter crds`.

use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use lamplighter::cli::{check, crds};
use tempfile::TempDir;

use crate::resources::{gateway, refusal, rollout};

#[derive(Parser)]
struct Check {
    #[command(flatten)]
    args: check::Args,
}

#[derive(Parser)]
struct Crds {
    #[command(flatten)]
    args: crds::Args,
}

/// The exit code and what was printed.
fn run(dir: &Path, args: &[&str]) -> (String, String) {
    let args = args.iter().map(|arg| if arg.starts_with('-') { (*arg).into() } else { dir.join(arg).into_os_string() });
    let parsed = Check::try_parse_from(std::iter::once("check".into()).chain(args)).unwrap();
    let mut out = Vec::new();
    let code = check::run(&parsed.args, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap().replace(&format!("{}/", dir.display()), "");
    (format!("{code:?}"), text)
}

fn code(code: ExitCode) -> String {
    format!("{code:?}")
}

fn files(files: &[(&str, &str)]) -> TempDir {
    let dir = TempDir::new().unwrap();
    for (name, text) in files {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    dir
}

const SITE: &str = "apiVersion: lamplighter.dev/v1alpha1\nkind: SiteConfig\nsite: hall-7\nstate: state\nintake: {manifests: [m]}\ndevices: {listen: 127.0.0.1:0, insecure: true}\n";

#[test]
fn good_files_are_listed_and_exit_with_0() {
    let dir = files(&[("r.yaml", &(rollout("fw", "") + "---\n" + &gateway("gw", "{}"))), ("site.yaml", SITE)]);
    let (status, text) = run(dir.path(), &["r.yaml", "site.yaml"]);
    assert_eq!(status, code(ExitCode::SUCCESS), "{text}");
    assert_eq!(text, "site.yaml: SiteConfig/hall-7 ok\nr.yaml: OtaRollout/fw ok\nr.yaml: EdgeGateway/gw ok\n");
}

#[test]
fn a_refused_object_exits_with_1_and_says_why() {
    let dir = files(&[("r.yaml", &rollout("fw", "  attempts: 0\n")), ("site.yaml", &SITE.replace("true", "false"))]);
    let (status, text) = run(dir.path(), &["r.yaml", "site.yaml"]);
    assert_eq!(status, code(ExitCode::FAILURE));
    assert!(text.contains("r.yaml: OtaRollout/fw refused: spec.attempts: is 0; use at least 1\n"), "{text}");
    assert!(text.contains("site.yaml refused: devices.tls: is missing"), "{text}");
}

#[test]
fn a_file_that_cannot_be_read_exits_with_2() {
    let dir = files(&[("gw.yaml", &gateway("gw", "{}"))]);
    let (status, text) = run(dir.path(), &["gw.yaml", "nothing.yaml"]);
    assert_eq!(status, code(ExitCode::from(2)));
    assert!(text.contains("nothing.yaml refused: cannot be read"), "{text}");
    assert!(Check::try_parse_from(["check"]).is_err(), "a file must be named");
}

#[test]
fn duplicates_are_found_across_files_and_in_directories() {
    let dir = files(&[("a.yaml", &gateway("gw", "{}")), ("b.yaml", &gateway("gw", "{}"))]);
    for args in [&["a.yaml", "b.yaml"][..], &[""][..]] {
        let (status, text) = run(dir.path(), args);
        assert_eq!(status, code(ExitCode::FAILURE));
        assert!(text.contains("a.yaml: EdgeGateway/gw refused: the name EdgeGateway/gw is used by"), "{text}");
        assert!(text.contains("b.yaml: EdgeGateway/gw refused"), "{text}");
    }
}

#[test]
fn json_is_for_scripts() {
    let dir = files(&[("r.yaml", &(rollout("fw", "") + "---\nkind: [\n"))]);
    let (_, text) = run(dir.path(), &["r.yaml", "-ojson"]);
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["objects"][0], serde_json::json!({ "object": "r.yaml: OtaRollout/fw", "ok": true }));
    assert_eq!(json["objects"][1]["ok"], false);
    assert!(json["objects"][1]["why"].as_str().unwrap().contains("not valid YAML"));
}

#[test]
fn the_poll_interval_decides_which_deadlines_are_too_short() {
    let dir = files(&[("r.yaml", &rollout("fw", "  deadlines: {confirm: 10s}\n"))]);
    assert_eq!(run(dir.path(), &["r.yaml"]).0, code(ExitCode::FAILURE));
    assert_eq!(run(dir.path(), &["r.yaml", "--poll-interval=1s"]).0, code(ExitCode::SUCCESS));
}

#[test]
fn crds_go_to_stdout_as_one_stream_or_into_a_directory() {
    let dir = TempDir::new().unwrap();
    let mut out = Vec::new();
    crds::run(&Crds::try_parse_from(["crds"]).unwrap().args, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text.matches("kind: CustomResourceDefinition").count(), 3);
    crds::run(&Crds::try_parse_from(["crds", "--dir", dir.path().to_str().unwrap()]).unwrap().args, &mut vec![])
        .unwrap();
    for file in ["edgegateways.yaml", "edgeservices.yaml", "otarollouts.yaml"] {
        assert!(text.contains(&std::fs::read_to_string(dir.path().join(file)).unwrap()));
    }
}

/// What cannot be meant: it could never begin, never end, or never be kept.
const CONTRADICTIONS: [(&str, &str); 12] = [
    ("windows: [{start: \"06:00\", end: \"06:00\"}]", "spec.windows[0].end: is the start too"),
    ("windows: [{days: [], start: \"22:00\", end: \"06:00\"}]", "spec.windows[0].days: is empty"),
    ("windows: [{start: \"22:00\", end: \"06:00\", lastStart: \"21:00\"}]", "nothing could ever start"),
    ("windows: [{start: \"22:00\", end: \"22:01\"}]", "spec.windows[0].end:"),
    ("windows: [{start: \"22:00\", end: \"06:00\", timeZone: Europe/Berln}]", "did you mean Europe/Berlin"),
    ("strategy: {maxInFlight: \"101%\"}", "spec.strategy.maxInFlight:"),
    ("strategy: {waves: [{size: \"60%\"}, {size: \"60%\"}]}", "spec.strategy.waves: have 120%"),
    ("strategy: {waves: [{size: \"101%\"}]}", "spec.strategy.waves[0].size:"),
    ("strategy: {waves: [{size: 2, minUpdated: 3}]}", "spec.strategy.waves[0].minUpdated: is 3"),
    ("strategy: {waves: [{}, {size: 1}]}", "waves[0] takes all of them"),
    ("strategy: {spread: {label: pair, minHealthy: \"100%\"}}", "spec.strategy.spread.minHealthy: is 100%"),
    ("strategy: {spread: {label: pair, maxInFlight: 0}}", "spec.strategy.spread.maxInFlight: is 0"),
];

#[test]
fn what_contradicts_itself_is_refused_by_check_and_by_a_site_in_the_same_words() {
    for (spec, words) in CONTRADICTIONS {
        let text = rollout("fw", &format!("  {spec}\n"));
        let why = refusal(&text);
        assert!(why.contains(words), "{words:?} is not in {why:?}");
        let dir = files(&[("r.yaml", &text)]);
        let (status, said) = run(dir.path(), &["r.yaml"]);
        assert_eq!(status, code(ExitCode::FAILURE), "{spec}");
        assert!(said.contains(&why), "{why:?} is not in {said:?}");
    }
}
