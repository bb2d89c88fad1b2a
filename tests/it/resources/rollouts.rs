//! The fields of a rollout as people type them: what arrives, and what is refused.

use std::time::Duration;

use lamplighter::intake::found_in;
use lamplighter::model::{self, Amount, ConfirmBy, Source, WaveSpec};
use lamplighter::resources::{Kinds, Setting};

use super::{DIGEST, accepted, gateway, refused_with, rollout};

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
    let secret = gateway("gw", "{auth: {tokenSecretRef: {name: tokens}}}");
    refused_with(&secret, &["spec.auth.tokenSecretRef:", "only an EdgeGateway of the API", "tokenSha256"]);
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
    let setting = Setting { dir: "/m".into(), poll_interval: Duration::from_secs(3_600), secrets: false };
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
