//! Manifests and site files as people type them.

mod rollouts;
mod services;
mod site_file;
mod typed;
mod windows;

use std::path::{Path, PathBuf};
use std::time::Duration;

use lamplighter::intake::found_in;
use lamplighter::model::{self, Intent, RolloutSpec, WaveSpec};
use lamplighter::resources::{Kinds, Setting, crds, documents};

pub const DIGEST: &str = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

/// A rollout that is right, with more lines at the end of its spec.
pub fn rollout(name: &str, more: &str) -> String {
    format!(
        "apiVersion: lamplighter.dev/v1alpha1\nkind: OtaRollout\nmetadata: {{name: {name}}}\nspec:\n  artifact: {{name: os, version: \"2.0\", sources: [\"file:os-2.swu\"], digest: \"{DIGEST}\", sizeBytes: 4}}\n  selector: {{matchLabels: {{line: a}}}}\n{more}"
    )
}

pub fn gateway(name: &str, spec: &str) -> String {
    format!("apiVersion: lamplighter.dev/v1alpha1\nkind: EdgeGateway\nmetadata: {{name: {name}}}\nspec: {spec}\n")
}

fn read(text: &str) -> Vec<Result<Intent, String>> {
    read_bytes(text.as_bytes())
}

fn read_bytes(bytes: &[u8]) -> Vec<Result<Intent, String>> {
    let setting = Setting { dir: PathBuf::from("/m"), poll_interval: Duration::from_secs(60), secrets: false };
    found_in("m.yaml", bytes, &Kinds::default(), &setting).into_iter().map(|found| found.result).collect()
}

/// The one refusal of a text that holds one object.
pub fn refusal(text: &str) -> String {
    let mut all = read(text);
    assert_eq!(all.len(), 1, "{all:?}");
    all.pop().unwrap().expect_err(text)
}

fn accepted(text: &str) -> RolloutSpec {
    match read(text).pop().unwrap() {
        Ok(Intent::Rollout(_, spec)) => *spec,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn refused_with(text: &str, words: &[&str]) {
    let why = refusal(text);
    for word in words {
        assert!(why.contains(word), "{word:?} is not in {why:?}");
    }
}

#[test]
fn crds_in_the_tree_are_the_generated_ones() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("crds");
    let mut files: Vec<_> =
        std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    files.sort();
    files.retain(|file| file != "Kustomization");
    let base = std::fs::read_to_string(dir.join("Kustomization")).unwrap();
    let based: Vec<&str> = base.lines().filter_map(|line| line.strip_prefix("  - ")).collect();
    assert_eq!(based, files, "crds/Kustomization names them all");
    assert_eq!(files, crds().into_iter().map(|crd| crd.file).collect::<Vec<_>>());
    for crd in crds() {
        let stored = std::fs::read_to_string(dir.join(&crd.file)).unwrap();
        assert_eq!(stored, crd.yaml().unwrap(), "run `lamplighter crds --dir crds`");
    }
}

/// Every field has a description, every list, text and number a bound, and nothing the API server would not take.
#[test]
fn crds_are_structural_bounded_and_described() {
    fn visit(at: &str, schema: &serde_json::Value) {
        for banned in ["$ref", "oneOf", "allOf", "not", "default", "anyOf"] {
            assert!(schema.get(banned).is_none(), "{at} has {banned}");
        }
        let has = |key: &str| assert!(schema.get(key).is_some(), "{at} lacks {key}");
        match schema.get("type").and_then(|kind| kind.as_str()) {
            Some("array") => has("maxItems"),
            Some("integer") => ["minimum", "maximum"].into_iter().for_each(has),
            Some("string") if schema.get("enum").is_none() => has("maxLength"),
            Some("object") => {
                assert!(!(schema.get("properties").is_some() && schema.get("additionalProperties").is_some()), "{at}");
                if schema.get("additionalProperties").is_some() {
                    has("maxProperties");
                }
            }
            None => has("x-kubernetes-int-or-string"),
            _ => {}
        }
        for (name, field) in schema.get("properties").and_then(|fields| fields.as_object()).into_iter().flatten() {
            assert!(field.get("description").is_some(), "{at}.{name} has no description");
            visit(&format!("{at}.{name}"), field);
        }
        for inner in ["items", "additionalProperties"].into_iter().filter_map(|key| schema.get(key)) {
            visit(&format!("{at}[]"), inner);
        }
    }
    for crd in crds() {
        let json = serde_json::to_value(&crd.definition).unwrap();
        assert_eq!(json["spec"]["scope"], "Namespaced");
        visit(&crd.file, &json["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]);
    }
}

#[test]
fn defaults_are_what_their_descriptions_say() {
    let spec = accepted(&rollout("r", ""));
    assert_eq!(spec.strategy.waves, [WaveSpec::CANARY]);
    let crd = crds().into_iter().find(|crd| crd.file == "otarollouts.yaml").unwrap().yaml().unwrap();
    let text = |duration| model::format_duration(duration);
    for (field, default) in [
        ("maxInFlight", spec.strategy.max_in_flight.to_string()),
        ("maxFailures", spec.strategy.max_failures.to_string()),
        ("download", text(spec.deadlines.download)),
        ("install", text(spec.deadlines.install)),
        ("confirm", text(spec.deadlines.confirm)),
        ("cancel", text(spec.deadlines.cancel)),
        ("soak", text(WaveSpec::SOAK)),
        ("attempts", spec.attempts.to_string()),
        ("confirmBy", format!("{:?}", spec.confirm_by)),
        ("paused", spec.paused.to_string()),
        ("cancelled", spec.cancelled.to_string()),
    ] {
        let after = crd.split(&format!(" {field}:\n")).nth(1).unwrap();
        let said = after.split("Default: ").nth(1).unwrap().split(['"', '\n']).next().unwrap().trim_end_matches('.');
        assert_eq!(said, default, "{field}");
    }
}

#[test]
fn a_gateway_is_named_by_its_metadata_unless_it_says_otherwise() {
    let hash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    let texts = [
        gateway("gw-1", "{}"),
        gateway("gw-2", &format!("{{controllerId: SN:77, auth: {{tokenSha256: {hash}}}, hold: true}}")),
    ];
    let all = read(&texts.join("---\n"));
    let Ok(Intent::Gateway(first)) = &all[0] else { panic!("{all:?}") };
    let Ok(Intent::Gateway(second)) = &all[1] else { panic!("{all:?}") };
    assert_eq!((first.controller_id.as_str(), first.token.is_none(), first.hold), ("gw-1", true, false));
    assert_eq!((second.name.as_str(), second.controller_id.as_str(), second.hold), ("gw-2", "SN:77", true));
    assert_eq!(second.token.unwrap().to_string(), hash);
    assert!(read("apiVersion: lamplighter.dev/v1alpha1\nkind: EdgeGateway\nmetadata: {name: bare}\n")[0].is_ok());
}

#[test]
fn json_with_tabs_is_read_too() {
    let text = "{\n\t\"apiVersion\": \"lamplighter.dev/v1alpha1\",\n\t\"kind\": \"EdgeGateway\",\n\t\"metadata\": {\"name\": \"gw\", \"labels\": {\"line\": \"\\u0061\"}}\n}\n";
    let all = read(text);
    let Ok(Intent::Gateway(spec)) = &all[0] else { panic!("{all:?}") };
    assert_eq!(spec.labels.get("line"), Some("a"));
}

#[test]
fn what_a_cluster_adds_to_an_object_is_ignored() {
    let text = "apiVersion: lamplighter.dev/v1alpha1\nkind: EdgeGateway\nmetadata: {name: gw, namespace: hall, uid: x, annotations: {a: b}, managedFields: [], generation: 3, resourceVersion: \"9\", creationTimestamp: null}\nspec: {}\nstatus: {conditions: []}\n";
    assert!(read(text)[0].is_ok(), "{:?}", read(text));
}

#[test]
fn bytes_that_are_not_utf8_are_refused_with_their_line() {
    assert_eq!(documents(b"a: 1\nb: \xff\n").next().unwrap().unwrap_err().line, 2);
    assert!(read_bytes(b"\xff\xfe").pop().unwrap().unwrap_err().contains("UTF-8"));
    assert!(read_bytes(b"a: \0\n").pop().unwrap().unwrap_err().contains("NUL"));
}

#[test]
fn an_alias_bomb_is_refused_before_it_grows() {
    let mut bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for (this, next) in ('a'..'k').zip('b'..) {
        let ten = vec![format!("*{this}"); 10].join(",");
        bomb.push_str(&format!("{next}: &{next} [{ten}]\n"));
    }
    refused_with(&bomb, &["aliases"]);
    refused_with(&format!("a: &a [{}]\nb: [{}]\n", "x,".repeat(3000), "*a,".repeat(60)), &["aliases"]);
    refused_with(&format!("{}\n", "[".repeat(100_000)), &["recursion"]);
    refused_with(&format!("a: [{}]\n", "1,".repeat(100_000)), &["too large"]);
}

#[test]
fn one_bad_document_does_not_refuse_the_others() {
    let good = gateway("gw-1", "{}");
    let text = format!(
        "{good}---\nkind: [\n---\n# only a comment\n---\n{}",
        gateway("gw-2", "{hold: 3}") + "---\n" + &rollout("r", "")
    );
    let all = read(&text);
    assert_eq!(all.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, false, true], "{all:?}");
}

#[test]
fn a_marker_inside_a_block_text_or_at_the_end_is_handled_as_yaml_does() {
    assert_eq!(documents(b"").len(), 0);
    assert_eq!(documents(b"---\n# nothing\n...\n---\n").len(), 0);
    assert_eq!(documents(b"a: |\n  ---\n  b\n---\nc: 1\n").len(), 2);
    assert_eq!(documents(b"--- {a: 1}\n--- {b: 2}\n").flatten().count(), 2);
    let third = documents(b"a: 1\n---\nb: 1\n---\nc: 1\nc: 2\n").last().unwrap().unwrap_err();
    assert_eq!(third.line, 6);
}

#[test]
fn unknown_and_misspelt_fields_are_refused_with_their_path() {
    refused_with(
        &rollout("r", "  strategy: {maxFailure: 3}\n"),
        &["spec.strategy.maxFailure:", "did you mean maxFailures?"],
    );
    refused_with(&rollout("r", "  Paused: true\n"), &["spec.Paused:", "did you mean paused?"]);
    refused_with(&rollout("r", "  frobnicate: 1\n"), &["spec.frobnicate:", "known here: allowDowngrade"]);
    refused_with(&gateway("gw", "{controlerID: x}"), &["did you mean controllerId?"]);
    refused_with(
        &gateway("gw", "{}").replace("{name: gw}", "{name: gw, lables: {a: b}}"),
        &["metadata.lables:", "did you mean labels?"],
    );
    refused_with(&gateway("gw", "{}").replace("spec:", "spce:"), &["spce:", "did you mean spec?"]);
    refused_with(
        &rollout("r", "  strategy: {waves: [{size: 1, soack: 1m}]}\n"),
        &["spec.strategy.waves[0].soack:", "did you mean soak?"],
    );
}

#[test]
fn duplicate_keys_are_refused() {
    refused_with(&rollout("r", "  paused: true\n  paused: false\n"), &["\"paused\" twice"]);
    refused_with("{\"a\": 1, \"a\": 2}", &["\"a\" twice"]);
}

#[test]
fn wrong_types_are_refused_with_what_to_write() {
    refused_with(&rollout("r", "  paused: yes\n"), &["spec.paused:", "true or false", "\"yes\""]);
    refused_with(&rollout("r", "  attempts: \"3\"\n"), &["spec.attempts:", "whole number"]);
    refused_with(&rollout("r", "  attempts: 2.5\n"), &["spec.attempts:", "whole number"]);
    refused_with(&rollout("r", "").replace("\"2.0\"", "2.0"), &["spec.artifact.version:", "quotes"]);
    refused_with(
        &rollout("r", "").replace("[\"file:os-2.swu\"]", "\"file:os-2.swu\""),
        &["spec.artifact.sources:", "a list"],
    );
    refused_with(&rollout("r", "").replace("{line: a}", "{line: 3}"), &["spec.selector.matchLabels.line:", "quotes"]);
    refused_with(
        &rollout("r", "").replace("sizeBytes: 4", "sizeBytes: 99999999999999999999"),
        &["spec.artifact.sizeBytes:"],
    );
    refused_with("- a\n- b\n", &["mapping"]);
    refused_with("hello\n", &["mapping"]);
    refused_with(&rollout("r", "").replace("metadata: {name: r}", "metadata: r"), &["metadata:"]);
}

#[test]
fn missing_fields_are_named() {
    refused_with(&rollout("r", "").replace("sizeBytes: 4", ""), &["spec.artifact.sizeBytes: is missing"]);
    refused_with(
        &rollout("r", "").replace("  selector: {matchLabels: {line: a}}\n", ""),
        &["spec.selector: is missing"],
    );
    refused_with(&gateway("gw", "{}").replace("{name: gw}", "{}"), &["metadata.name: is missing"]);
    refused_with("kind: EdgeGateway\nmetadata: {name: a}\n", &["apiVersion: is missing"]);
}

#[test]
fn foreign_kinds_and_versions_are_refused() {
    let kind = |version: &str, kind: &str| format!("apiVersion: {version}\nkind: {kind}\nmetadata: {{name: x}}\n");
    refused_with(&kind("v1", "ConfigMap"), &["ConfigMap", "none of Lamplighter's kinds"]);
    refused_with(&kind("v1", "List"), &["none of Lamplighter's kinds"]);
    refused_with(&kind("lamplighter.dev/v1alpha1", "OtaRolout"), &["did you mean OtaRollout?"]);
    refused_with(&kind("lamplighter.dev/v1alpha1", "EdgePlant"), &["known here: OtaRollout, EdgeGateway, EdgeService"]);
    refused_with(&kind("lamplighter.dev/v9", "OtaRollout"), &["apiVersion:", "lamplighter.dev/v1alpha1"]);
    refused_with(&kind("lamplighter.dev/v1alpha1", "SiteConfig"), &["--config"]);
}
