//! The definitions in a real server: accepted, explained, and of one mind with `lamplighter check`.

use std::fs;
use std::process::Output;

use tempfile::TempDir;

use crate::cluster::Cluster;
use crate::hall::{press, press_fw};
use crate::site::binary;

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn they_are_accepted_without_a_warning_and_kubectl_explains_them() {
    let cluster = Cluster::bare();
    let crds = binary().arg("crds").output().unwrap();
    let applied = cluster.try_kubectl(&["apply", "--server-side", "-f", "-"], &crds.stdout);
    assert!(applied.status.success(), "{}", text(&applied));
    assert!(!text(&applied).contains("Warning"), "{}", text(&applied));
    cluster.prepare();
    for kind in ["otarollouts", "edgegateways", "edgeservices"] {
        let definition = cluster.get(&format!("crd/{kind}.lamplighter.dev")).unwrap();
        let conditions = definition["status"]["conditions"].as_array().unwrap();
        assert!(!conditions.iter().any(|condition| condition["type"] == "NonStructuralSchema"), "{conditions:?}");
    }
    let explained = cluster.kubectl(&["explain", "ota.spec.strategy.waves"]);
    let words: Vec<&str> = explained.split_whitespace().collect();
    let words = words.join(" ");
    assert!(words.contains("A wave opens only when the one before it is proven."), "{explained}");
    for path in [
        "ota.spec",
        "ota.spec.artifact",
        "ota.status",
        "ota.status.summary",
        "egw.spec",
        "egw.status",
        "esvc.spec",
        "esvc.status",
    ] {
        let explained = cluster.kubectl(&["explain", path]);
        assert!(!explained.contains("<no description>"), "{path}: {explained}");
    }
}

/// Manifests, and whether they are right. What only the site knows, such as its poll interval, is not among them.
fn manifests() -> Vec<(&'static str, String, bool)> {
    let ota = |more: &str| press_fw("2.0.0", more);
    let edge = |more: &str| {
        let spec = "  config: [{path: /etc/edge/modbus}]\n  restart: {unit: modbus.service}\n";
        format!(
            "apiVersion: lamplighter.dev/v1alpha1\nkind: EdgeService\nmetadata: {{name: modbus}}\nspec:\n{spec}{more}",
        )
    };
    let source = |text: &str| ota("").replace("file:fw.bin", text);
    let secret_ref = |named: &str| {
        let typed = press("press-1");
        format!("{}  auth: {{tokenSecretRef: {named}}}\n", &typed[..typed.find("  auth:").unwrap()])
    };
    vec![
        ("a rollout", ota(""), true),
        (
            "all that a rollout can say",
            ota(
                "  attempts: 2\n  maxBytes: 1Gi\n  confirmBy: Feedback\n  paused: true\n  cancelled: false\n  deadlines: {download: 1h30m}\n",
            ),
            true,
        ),
        ("a gateway", press("press-1"), true),
        ("an unknown field", ota("  pausd: true\n"), false),
        ("no attempts", ota("  attempts: 0\n"), false),
        ("too many attempts", ota("  attempts: 11\n"), false),
        ("another word", ota("  confirmBy: Hope\n"), false),
        ("nothing in flight", ota("").replace("maxInFlight: 2", "maxInFlight: 0"), false),
        ("a share of nothing", ota("").replace("maxInFlight: 2", "maxInFlight: \"0%\""), false),
        ("more than all", ota("").replace("maxInFlight: 2", "maxInFlight: \"101%\""), false),
        ("a count in quotes", ota("").replace("maxInFlight: 2", "maxInFlight: \"2\""), false),
        ("no waves", ota("").replace("waves: [{size: 1, soak: 1s}, {size: \"100%\", soak: 1s}]", "waves: []"), false),
        ("a bare number as a time", ota("  deadlines: {download: \"90\"}\n"), false),
        ("no digest", ota("").replace("digest: sha256:", "digest: md5:"), false),
        ("no size", ota("").replace("sizeBytes: 20000", "sizeBytes: 0"), false),
        ("no sources", ota("").replace("[\"file:fw.bin\"]", "[]"), false),
        ("an unknown scheme", source("ftp://host/fw.bin"), false),
        ("no scheme", source("fw.bin"), false),
        ("a way out of the directory", source("file:../fw.bin"), false),
        ("a hidden file", source("file:.fw.bin"), false),
        ("a server", source("https://host/fw.bin"), true),
        ("a registry", source("oci://registry.example/fw:2"), true),
        ("a version with a line break", ota("").replace("version: \"2.0.0\"", "version: \"2\\n0\""), false),
        ("a version with a space at its end", ota("").replace("version: \"2.0.0\"", "version: \"2.0 \""), false),
        ("less than one artifact", ota("  maxBytes: 10\n"), false),
        ("a size of nothing known", ota("  maxBytes: 10Xi\n"), false),
        ("an artifact name with a slash", ota("").replace("name: fw\n", "name: f/w\n"), false),
        ("a controller id with a slash", press("press-1").replace("ctl-press-1", "a/b"), false),
        ("half a hash", press("press-1").replace("tokenSha256: ", "tokenSha256: z"), false),
        ("a service", edge(""), true),
        (
            "all that a service can say",
            edge("  settle: 1s\n  minInterval: 1m\n  health: {tcp: 502, timeout: 5s}\n"),
            true,
        ),
        ("a unit that is none", edge("").replace("modbus.service", "a@.service"), false),
        ("a service that reads nothing", edge("").replace("[{path: /etc/edge/modbus}]", "[]"), false),
        ("a ConfigMap", edge("").replace("path: /etc/edge/modbus", "configMap: modbus"), true),
        ("a source that is two", edge("").replace("path:", "configMap: modbus, path:"), false),
        ("a source that is none", edge("").replace("path: /etc/edge/modbus", ""), false),
        ("a relative path", edge("").replace("/etc/edge", "etc/edge"), false),
        ("a port of no machine", edge("  health: {tcp: 65536}\n"), false),
        ("a method of nobody's", edge("").replace("modbus.service}", "modbus.service, method: Kill}"), false),
        ("a Secret", secret_ref("{name: tokens, key: press-1}"), true),
        ("a Secret without a name", secret_ref("{key: press-1}"), false),
        ("no name of a Secret", secret_ref("{name: Tokens}"), false),
        ("no key of a Secret", secret_ref("{name: tokens, key: a/b}"), false),
        ("a Secret beside a hash", press("press-1").replace("auth: {", "auth: {tokenSecretRef: {name: a}, "), false),
        ("a label that is none", press("press-1").replace("line: \"3\"", "line: \"a b\""), false),
    ]
}

#[test]
fn the_server_and_lamplighter_check_say_the_same_of_the_same_file() {
    let cluster = Cluster::start();
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("fw.bin"), crate::hall::fw()).unwrap();
    let mut wrong = Vec::new();
    for (what, manifest, is_right) in manifests() {
        let file = dir.path().join("m.yaml");
        fs::write(&file, &manifest).unwrap();
        let ours = binary().arg("check").arg(&file).output().unwrap();
        let theirs = cluster
            .try_kubectl(&["create", "--dry-run=server", "--validate=strict", "-f", file.to_str().unwrap()], b"");
        let verdicts = (ours.status.success(), theirs.status.success());
        if verdicts != (is_right, is_right) {
            wrong.push(format!("{what}: ours {}; theirs {}", text(&ours), text(&theirs)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
