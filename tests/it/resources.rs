//! Manifests and site files as people type them.

mod services;
mod windows;

use std::path::{Path, PathBuf};
use std::time::Duration;

use lamplighter::config;
use lamplighter::intake::found_in;
use lamplighter::model::{self, Amount, ConfirmBy, Intent, RolloutSpec, Source, WaveSpec};
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
    let setting = Setting { dir: PathBuf::from("/m"), poll_interval: Duration::from_secs(60) };
    found_in("m.yaml", bytes, &Kinds::default(), &setting).into_iter().map(|found| found.result).collect()
}

/// The one refusal of a text that holds one object.
fn refusal(text: &str) -> String {
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
fn every_field_of_a_rollout_arrives() {
    let spec = accepted(&rollout(
        "r",
        "  strategy: {waves: [{size: 2, soak: 90s}, {size: \"10%\"}], maxInFlight: 7, maxFailures: \"20%\"}\n  deadlines: {download: 30m, install: 20m, confirm: 3m, cancel: 4m}\n  attempts: 10\n  confirmBy: Feedback\n  maxBytes: 1Ki\n  paused: true\n  cancelled: true\n",
    ));
    assert_eq!(spec.artifact.sources, [Source::File { dir: "/m".into(), name: "os-2.swu".into() }]);
    assert_eq!((spec.artifact.size, spec.artifact.key.version.as_str()), (4, "2.0"));
    assert_eq!(spec.selector.match_labels, [("line".to_owned(), "a".to_owned())].into());
    let soaks: Vec<_> = spec.strategy.waves.iter().map(|wave| wave.soak.as_secs()).collect();
    assert_eq!(soaks, [90, 600]);
    assert_eq!(spec.strategy.waves[1].size, "10%".parse::<Amount>().unwrap());
    assert_eq!(spec.strategy.max_in_flight, Amount::Count(7));
    assert_eq!((spec.deadlines.confirm.as_secs(), spec.deadlines.cancel.as_secs()), (180, 240));
    assert_eq!((spec.attempts, spec.confirm_by), (10, ConfirmBy::Feedback));
    assert!(spec.paused && spec.cancelled);
    assert_eq!((spec.budget(4), accepted(&rollout("r", "")).budget(4)), (1_024, 40));
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

#[test]
fn variants_are_read_and_stand_instead_of_one_file() {
    let with = |artifact: &str| {
        rollout("r", "").replace(&format!("sources: [\"file:os-2.swu\"], digest: \"{DIGEST}\", sizeBytes: 4"), artifact)
    };
    let variant = |matches: &str, size: u32| {
        format!(
            "{{match: {{matchLabels: {{{matches}}}}}, sources: [\"file:a.swu\"], digest: \"{DIGEST}\", sizeBytes: {size}}}"
        )
    };
    let two = |a: &str, b: &str| with(&format!("variants: [{a}, {b}]"));
    let spec = accepted(&two(&variant("soc: imx8", 4), &variant("attr.lamplighter.dev/soc: am62", 4)));
    assert_eq!((spec.files().count(), spec.artifact.size), (2, 4));
    let choose = |labels: &[(String, String)], reports: &[(String, String)]| {
        let texts = |of: &[(String, String)]| of.iter().cloned().collect::<model::Texts>();
        spec.variants.as_ref().unwrap().choose(&texts(labels), &texts(reports))
    };
    let soc = |value: &str| [("soc".to_owned(), value.to_owned())];
    assert_eq!((choose(&soc("imx8"), &[]), choose(&[], &soc("am62")), choose(&[], &[])), (Some(0), Some(1), None));
    for (text, words) in [
        (with("variants: []"), "spec.artifact.variants: is empty"),
        (with("variants: [{}]"), "spec.artifact.variants[0].digest: is missing"),
        (two(&variant("a: b", 4), &variant("", 4)), "spec.artifact.variants[1].match: is empty"),
        (two(&variant("a: b", 4), &variant("c: d", 5)), "variants[1].sizeBytes: is 5, but another variant says 4"),
        (
            with(&format!("sizeBytes: 4, variants: [{}]", variant("a: b", 4))),
            "spec.artifact.sizeBytes: stands beside variants",
        ),
        (with("sizeBytes: 4"), "spec.artifact.sources: is missing; write it, or spec.artifact.variants instead"),
        (two(&variant("a: b", 4), &variant("c: d", 4)) + "  maxBytes: 3\n", "spec.maxBytes: is 3, less than"),
    ] {
        refused_with(&text, &[words]);
    }
}

#[test]
fn values_out_of_bounds_are_refused_with_their_path() {
    let strategy = |text: &str| rollout("r", &format!("  strategy: {{{text}}}\n"));
    refused_with(&strategy("maxFailures: 0"), &["spec.strategy.maxFailures:", "at least 1"]);
    refused_with(&strategy("maxFailures: \"0%\""), &["spec.strategy.maxFailures:"]);
    refused_with(&strategy("maxInFlight: \"101%\""), &["spec.strategy.maxInFlight:"]);
    refused_with(&strategy("maxInFlight: \"5\""), &["spec.strategy.maxInFlight:", "without quotes"]);
    refused_with(&strategy("maxInFlight: 1.5"), &["spec.strategy.maxInFlight:"]);
    refused_with(&strategy("maxInFlight: -1"), &["spec.strategy.maxInFlight:"]);
    let waves = |waves: &str| strategy(&format!("waves: [{waves}]"));
    let first = "spec.strategy.waves[0]";
    let second = "spec.strategy.waves[1]";
    refused_with(&waves("{size: \"60%\"}, {size: \"60%\"}"), &["spec.strategy.waves: have 120%"]);
    refused_with(&waves("{size: \"101%\"}"), &["spec.strategy.waves[0].size:", "1% to 100%"]);
    refused_with(&waves("{size: \"50%\"}, {size: \"50%\"}, {size: 1}"), &["spec.strategy.waves[2]: can never get"]);
    refused_with(&waves("{}, {size: 1}"), &[second, "waves[0] takes all of them"]);
    refused_with(
        &waves("{selector: {matchLabels: {a: b}}}, {size: 1, selector: {matchLabels: {a: b, c: d}}}"),
        &[second, "waves[0] takes all of them"],
    );
    refused_with(&waves("{selector: {matchLabels: {line: b}}}"), &[first, "another \"line\" than spec.selector"]);
    refused_with(&waves("{selector: {matchLabels: {}}}"), &["waves[0].selector: is empty"]);
    refused_with(&waves("{name: a, size: 1}, {name: a, size: 1}"), &["waves[1].name: is \"a\", as another"]);
    refused_with(&waves("{name: \"2\", size: 1}, {size: 1}"), &["waves[1].name: is \"2\", as another"]);
    refused_with(&waves("{name: rest, size: 1}"), &["waves[0].name: is \"rest\""]);
    refused_with(&waves("{name: a@b, size: 1}"), &["waves[0].name: should have"]);
    refused_with(&waves("{size: 2, minUpdated: 3}"), &["waves[0].minUpdated: is 3", "at most 2"]);
    refused_with(&waves("{size: 2, minUpdated: 0}"), &["waves[0].minUpdated: is 0"]);
    refused_with(&waves("{size: 2, approval: Maybe}"), &["waves[0].approval:", "Automatic, Manual"]);
    let approved = |approved: &str| rollout("r", &format!("  approvedWaves: [{approved}]\n"));
    refused_with(&approved("bench@2.0"), &["spec.approvedWaves[0]: names a wave \"bench\"", "1, rest"]);
    refused_with(&approved("bench"), &["spec.approvedWaves[0]: \"bench\" names no version", "1@2.0"]);
    refused_with(
        &gateway("g", "{}").replace("{name: g}", "{name: g, labels: {attr.lamplighter.dev/hw: b}}"),
        &["metadata.labels.attr.lamplighter.dev/hw:"],
    );
    refused_with(&strategy("waves: []"), &["spec.strategy.waves: is empty"]);
    refused_with(&strategy(&format!("waves: [{}]", "{size: 1},".repeat(17))), &["spec.strategy.waves:", "at most 16"]);
    refused_with(&strategy("waves: [{size: 1, soak: 10}]"), &["spec.strategy.waves[0].soak:"]);
    refused_with(&strategy("waves: [{size: 1, soak: soon}]"), &["spec.strategy.waves[0].soak:", "30m"]);
    refused_with(&rollout("r", "  maxBytes: 3\n"), &["spec.maxBytes:", "less than the artifact's 4"]);
    refused_with(&rollout("r", "  maxBytes: 3 GB\n"), &["spec.maxBytes:", "256Mi"]);
    refused_with(&rollout("r", "  attempts: 0\n"), &["spec.attempts:", "at least 1"]);
    refused_with(&rollout("r", "  attempts: 11\n"), &["spec.attempts:", "at most 10"]);
    refused_with(&rollout("r", "  confirmBy: Hope\n"), &["spec.confirmBy:", "Auto, ReportedVersion, Feedback"]);
    refused_with(&rollout("r", "").replace("sizeBytes: 4", "sizeBytes: 0"), &["spec.artifact.sizeBytes:"]);
    refused_with(&rollout("r", "").replace("name: os,", "name: \"o/s\","), &["spec.artifact.name:"]);
    refused_with(&rollout("r", "").replace(DIGEST, "sha256:abc"), &["spec.artifact.digest:", "64"]);
    refused_with(&rollout("r", "").replace(DIGEST, "md5:abc"), &["spec.artifact.digest:", "sha256sum"]);
    refused_with(&rollout("Über", ""), &["metadata.name:"]);
    refused_with(&rollout(&"a".repeat(254), ""), &["metadata.name:"]);
    refused_with(&gateway("gw", "{controllerId: \"a/b\"}"), &["spec.controllerId:"]);
    refused_with(&gateway("gw", "{auth: {tokenSha256: secret}}"), &["spec.auth.tokenSha256:", "sha256sum"]);
    let labels = |text: &str| gateway("gw", "{}").replace("{name: gw}", &format!("{{name: gw, labels: {{{text}}}}}"));
    refused_with(&labels("a: \"b c\""), &["metadata.labels.a:"]);
    refused_with(&labels("\"a b\": c"), &["metadata.labels.a b:"]);
    refused_with(&labels("a: 3"), &["metadata.labels.a:", "quotes"]);
    let many = (0..65).map(|n| format!("l{n}: x")).collect::<Vec<_>>().join(",");
    refused_with(&labels(&many), &["metadata.labels:", "at most 64"]);
}

#[test]
fn a_deadline_covers_three_polls_even_by_default() {
    refused_with(&rollout("r", "  deadlines: {confirm: 179s}\n"), &["spec.deadlines.confirm:", "at least 3m"]);
    refused_with(&rollout("r", "  deadlines: {cancel: 179s}\n"), &["spec.deadlines.cancel:", "at least 3m"]);
    let setting = Setting { dir: "/m".into(), poll_interval: Duration::from_secs(3_600) };
    let found = found_in("m", rollout("r", "").as_bytes(), &Kinds::default(), &setting);
    let why = found[0].result.as_ref().unwrap_err();
    assert!(why.contains("spec.deadlines.") && why.contains("(the default)"), "{why}");
}

#[test]
fn sources_in_the_network_are_read() {
    for (text, shown) in [
        ("https://x/y", "Http"),
        ("http://x:81/y?z=1", "Http"),
        ("oci://x/y:2.0", "Oci"),
        (&*format!("oci://x:5000/y@sha256:{}", "ab".repeat(32)), "Oci"),
    ] {
        let spec = accepted(&rollout("r", "").replace("file:os-2.swu", text));
        let source = format!("{:?}", spec.artifact.sources);
        assert!(source.starts_with(&format!("[{shown}")), "{text}: {source}");
    }
    for (bad, word) in [
        ("https://user:secret@x/y", "uplink.credentials"),
        ("https://", "https://HOST/PATH"),
        ("https://x/y z", "%XX"),
        ("oci://x/y", "tag"),
        ("oci:x", "repository"),
    ] {
        refused_with(&rollout("r", "").replace("file:os-2.swu", bad), &["spec.artifact.sources[0]:", word]);
    }
}

#[test]
fn sources_that_lead_out_of_the_directory_are_refused() {
    for bad in [
        "file:../x",
        "file:/etc/shadow",
        "file:",
        "file:..",
        "file:.hidden",
        "file:a/b",
        "file:a\\u0007",
        "x.swu",
        "ftp://x/y",
    ] {
        let text = rollout("r", "").replace("file:os-2.swu", bad);
        refused_with(&text, &["spec.artifact.sources[0]:", "file:NAME"]);
    }
    let long = format!("file:{}", "a".repeat(256));
    refused_with(&rollout("r", "").replace("file:os-2.swu", &long), &["255"]);
}

const SITE: &str = "apiVersion: lamplighter.dev/v1alpha1\nkind: SiteConfig\nsite: hall-7\nstate: state\nintake: {manifests: [manifests]}\ndevices: {listen: 127.0.0.1:8080, insecure: true}\n";

fn site(text: &str) -> Result<config::SiteConfig, String> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("site.yaml");
    std::fs::write(&file, text).unwrap();
    config::load(&file).map_err(|error| error.to_string())
}

#[test]
fn a_small_site_file_gets_its_defaults_and_paths_from_its_own_place() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("site.yaml");
    std::fs::write(&file, SITE).unwrap();
    let site = config::load(&file).unwrap();
    assert_eq!((site.state, site.manifests), (dir.path().join("state"), vec![dir.path().join("manifests")]));
    assert_eq!((site.devices.tenants, site.devices.load.downloads), (vec!["DEFAULT".to_owned()], 24));
    assert_eq!((site.devices.poll_interval.as_secs(), site.devices.offline_after.as_secs()), (60, 600));
    assert_eq!((site.disk_reserve, site.control_group, site.devices.url), (256 << 20, None, None));
}

#[test]
fn every_field_of_a_site_file_arrives() {
    let text = SITE.replace("insecure: true", "insecure: true, url: \"https://up:1/\", tenants: [a, b], pollInterval: 1s, offlineAfter: 5s, versionKeys: {os: [os, v]}, downloads: {concurrent: 3}")
        + "control: {group: ops}\nlimits: {diskReserve: 1Gi}\nuplink: {bytesPerSecond: 1Mi, caFiles: [ca.pem], credentials: {\"r.example:5000\": secret, \"http://10.0.0.1\": /s}}\n";
    let text = text.replace("manifests: [manifests]", "manifests: [manifests], drops: sticks");
    let site = site(&text).unwrap();
    assert!(site.drops.as_ref().is_some_and(|drops| drops.is_absolute() && drops.ends_with("sticks")));
    assert_eq!(site.devices.url.as_deref(), Some("https://up:1"));
    assert_eq!(site.devices.version_keys["os"], ["os", "v"]);
    assert_eq!((site.devices.load.downloads, site.devices.offline_after.as_secs()), (3, 5));
    assert_eq!((site.control_group.as_deref(), site.disk_reserve), (Some("ops"), 1 << 30));
    assert_eq!(site.uplink.bytes_per_second.unwrap().get(), 1 << 20);
    assert!(site.uplink.ca_files[0].is_absolute() && site.uplink.ca_files[0].ends_with("ca.pem"));
    let hosts: Vec<_> = site.uplink.credentials.keys().map(ToString::to_string).collect();
    assert_eq!(hosts.len(), 2);
    assert!(hosts.contains(&"r.example:5000".into()) && hosts.contains(&"http://10.0.0.1".into()), "{hosts:?}");
}

#[test]
fn how_much_a_site_takes_on_and_whom_it_lets_in() {
    let devices =
        |more: &str| site(&SITE.replace("insecure: true", &format!("insecure: true, {more}"))).unwrap().devices;
    let usual = devices("pollInterval: 60s");
    // a proxy on the same machine is one address for all
    assert_eq!((usual.load.connections, usual.load.per_address, usual.load.bytes_per_second), (48, 48, None));
    assert_eq!((usual.registration, usual.registration_labels.len()), (model::Registration::Refuse, 0));
    let said = devices(
        "connections: {total: 200, perAddress: 3}, downloads: {bytesPerSecond: 50Mi}, registration: Pending, \
         registrationLabels: {line: \"3\"}",
    );
    assert_eq!((said.load.connections, said.load.per_address), (200, 3));
    assert_eq!(said.load.bytes_per_second.unwrap().get(), 50 << 20);
    assert_eq!(said.registration, model::Registration::Pending);
    assert_eq!(said.registration_labels.get("line"), Some("3"));
}

#[test]
fn wrong_site_files_are_refused_with_file_and_field() {
    let devices = |more: &str| SITE.replace("insecure: true", &format!("insecure: true, {more}"));
    for (text, words) in [
        (SITE.replace("insecure: true", "insecure: false"), "devices.tls: is missing"),
        (SITE.replace(", insecure: true", ""), "`lamplighter init` makes them"),
        (devices("tls: {certificate: a, key: b}"), "devices.insecure: is true although there is devices.tls"),
        (SITE.replace("insecure: true", "tls: {certificate: a}"), "devices.tls.key: is missing"),
        (SITE.replace("127.0.0.1:8080", "8080"), "devices.listen:"),
        (
            SITE.replace("manifests: [manifests]", "manifests: [manifests], drops: manifests"),
            "intake.drops: is a manifest",
        ),
        (SITE.replace("manifests: [manifests]", "manifests: [manifests], drops: state"), "intake.drops: is"),
        (devices("tsl: {}"), "devices.tsl: is not a known field"),
        (devices("pollIntervall: 1s"), "did you mean pollInterval?"),
        (devices("pollInterval: 500ms"), "whole seconds"),
        (devices("pollInterval: 24h"), "less than 24h"),
        (devices("offlineAfter: 2m"), "devices.offlineAfter:"),
        (devices("url: \"ftp://x\""), "devices.url:"),
        (devices("downloads: {concurrent: 0}"), "devices.downloads.concurrent:"),
        (devices("downloads: {bytesPerSecond: 31Ki}"), "devices.downloads.bytesPerSecond: is 31Ki; use at least 32Ki"),
        (devices("connections: {total: 39}"), "devices.connections.total:"),
        (
            devices("connections: {total: 50, perAddress: 51}"),
            "devices.connections.perAddress: is 51, more than the 50",
        ),
        (devices("registration: Always"), "devices.registration:"),
        (devices("registrationLabels: {\"a b\": c}"), "devices.registrationLabels.a b: is not a label's name"),
        (devices("tenants: [\"a/b\"]"), "devices.tenants[0]:"),
        (devices("versionKeys: {os: []}"), "devices.versionKeys.os:"),
        (SITE.to_owned() + "limits: {diskReserve: lots}\n", "limits.diskReserve:"),
        (SITE.to_owned() + "uplink: {bytesPerSecond: 10}\n", "uplink.bytesPerSecond: is 10; use at least 1Ki"),
        (SITE.to_owned() + "uplink: {credentials: {a/b: f}}\n", "uplink.credentials.a/b:"),
        (SITE.to_owned() + "uplink: {credentials: {a: f, A: g}}\n", "the same host"),
        (SITE.to_owned() + "uplink: {credentials: {a: \"\"}}\n", "uplink.credentials.a: should be the path"),
        (SITE.replace("manifests: [manifests]", "manifests: []"), "intake.manifests: is empty"),
        (SITE.replace("kind: SiteConfig", "kind: Site"), "kind: should be SiteConfig"),
        (SITE.replace("site: hall-7\n", ""), "site: is missing"),
        (SITE.replace("state: state", &format!("state: /{}", "x".repeat(94))), "use a path of at most 94"),
        (SITE.to_owned() + "---\n" + SITE, "several documents"),
        (String::new(), "is empty"),
        ("a: [".to_owned(), "not valid YAML"),
    ] {
        let error = site(&text).unwrap_err();
        assert!(error.contains(words) && error.contains("site.yaml"), "{words:?} is not in {error:?}");
    }
    assert!(config::load(Path::new("/dev/zero")).unwrap_err().to_string().contains("not a plain file"));
}

#[test]
fn spread_and_gates_arrive() {
    let spec = accepted(&rollout(
        "r",
        "  strategy: {spread: {label: example.com/line, maxInFlight: \"10%\", minHealthy: 1}}\n  gates: [{name: permit, file: \"/permits/{line}\"}, {http: \"http://plc.local:8080/idle/{name}\"}]\n",
    ));
    let spread = spec.strategy.spread.unwrap();
    assert_eq!((spread.label.as_str(), spread.min_healthy), ("example.com/line", Some(Amount::Count(1))));
    assert_eq!(spread.max_in_flight, Some("10%".parse().unwrap()));
    let gates: Vec<_> = spec.gates.iter().map(|gate| (gate.name.as_deref(), gate.question.to_string())).collect();
    assert_eq!(gates, [(Some("permit"), "/permits/{line}".into()), (None, "http://plc.local:8080/idle/{name}".into())]);
}

#[test]
fn a_spread_that_says_nothing_or_can_never_be_met_is_refused() {
    let spread = |text: &str| rollout("r", &format!("  strategy: {{spread: {{{text}}}}}\n"));
    refused_with(&spread("label: line"), &["spec.strategy.spread", "neither maxInFlight nor minHealthy"]);
    refused_with(&spread("maxInFlight: 1"), &["spec.strategy.spread.label", "is missing"]);
    refused_with(&spread("label: \"a b\", maxInFlight: 1"), &["spread.label", "not a label's name"]);
    refused_with(&spread("label: line, maxInFlight: 0"), &["spread.maxInFlight", "at least 1"]);
    refused_with(&spread("label: line, minHealthy: 0"), &["spread.minHealthy", "at least 1"]);
    refused_with(&spread("label: line, minHealthy: \"101%\""), &["spread.minHealthy"]);
    refused_with(&spread("label: line, minHealthy: \"100%\""), &["spread.minHealthy", "is 100%", "use less"]);
    refused_with(&spread("label: line, minHealty: 1"), &["did you mean minHealthy"]);
}

#[test]
fn a_gate_that_can_never_be_asked_is_refused() {
    let gate = |text: &str| rollout("r", &format!("  gates: [{text}]\n"));
    refused_with(&gate("{}"), &["spec.gates[0]", "asks nothing"]);
    refused_with(&gate("{file: /a, http: \"http://b/\"}"), &["spec.gates[0]", "both file and http"]);
    refused_with(&gate("{file: permits}"), &["spec.gates[0].file", "absolute path"]);
    refused_with(&gate("{file: /permits/../etc/shadow}"), &["spec.gates[0].file", "'..'"]);
    refused_with(&gate("{file: \"/permits/{line\"}"), &["spec.gates[0].file", "brace"]);
    refused_with(&gate("{file: \"/permits/{a b}\"}"), &["spec.gates[0].file", "no label's name"]);
    refused_with(&gate("{http: \"http://{line}/x\"}"), &["spec.gates[0].http", "gates.allowHosts"]);
    refused_with(&gate("{http: \"ftp://plc/x\"}"), &["spec.gates[0].http", "http:"]);
    refused_with(&gate("{http: \"http://u:secret@plc/x\"}"), &["spec.gates[0].http", "password"]);
    let nine = ["{file: /a}"; 9].join(", ");
    refused_with(&gate(&nine), &["spec.gates", "at most 8"]);
}

#[test]
fn what_gates_may_ask_and_the_sites_cap_are_checked() {
    let site = |more: &str| {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("site.yaml");
        let head = "apiVersion: lamplighter.dev/v1alpha1\nkind: SiteConfig\nsite: hall-7\nstate: s\nintake: {manifests: [m]}\ndevices: {listen: \"127.0.0.1:0\", insecure: true}\n";
        std::fs::write(&file, format!("{head}{more}\n")).unwrap();
        config::load(&file).map_err(|error| error.to_string())
    };
    let good =
        site("gates: {allowPaths: [/permits/**], allowHosts: [\"plc.local:8080\"]}\nlimits: {maxInFlight: 7}").unwrap();
    assert_eq!((good.max_in_flight, good.gates.paths.len(), good.gates.hosts.len()), (7, 1, 1));
    let plain = site("").unwrap();
    assert_eq!((plain.max_in_flight, plain.gates), (100, model::GateAllowance::default()), "nothing may be asked");
    for (bad, word) in [
        ("gates: {allowPaths: [/**]}", "gates.allowPaths[0]"),
        ("gates: {allowPaths: [/a, b]}", "gates.allowPaths[1]"),
        ("gates: {allowHosts: [plc/x]}", "gates.allowHosts[0]"),
        ("limits: {maxInFlight: 0}", "limits.maxInFlight: is 0; use at least 1"),
    ] {
        let why = site(bad).unwrap_err();
        assert!(why.contains(word), "{bad}: {why}");
    }
}

#[test]
fn waves_are_named_by_their_place_and_approved_for_one_version() {
    let spec = accepted(&rollout(
        "r",
        "  strategy: {waves: [{name: bench, selector: {matchLabels: {role: bench, attr.lamplighter.dev/hw: b}}, minUpdated: \"100%\"}, {size: \"10%\"}, {approval: Manual}]}\n  approvedWaves: [3@2.0, gone@1.0, 2@2.0]\n",
    ));
    let [bench, few, all] = &spec.strategy.waves[..] else { panic!("{:?}", spec.strategy.waves) };
    assert_eq!((bench.name_at(0).as_ref(), few.name_at(1).as_ref()), ("bench", "2"));
    assert_eq!((bench.size, bench.min_updated), ("100%".parse().unwrap(), "100%".parse().unwrap()));
    assert_eq!((few.min_updated, few.selector.clone()), (WaveSpec::MIN_UPDATED, None));
    assert_eq!((all.size, all.approval), (WaveSpec::REST.size, model::Approval::Manual));
    assert!(spec.approved_waves.iter().eq(["2", "3"]));
    // the last wave may still say that it takes all
    accepted(&rollout("r", "  strategy: {waves: [{size: 1}, {size: \"40%\"}, {name: rest, size: \"100%\"}]}\n"));
}
