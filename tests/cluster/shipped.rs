//! What we ship for a cluster: the plain manifests, the overlays and the chart, in a real server.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::cluster::{Cluster, K3S, NAMESPACE, programs};
use crate::eventually;
use crate::site::binary;

const OVERLAYS: [&str; 3] = ["air-gap", "site", "daemonset"];
const DEFINITIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/crds");

/// What we have in the cluster beside our namespace.
fn ours() -> Vec<String> {
    let ours = ["deployment", "serviceaccount", "role", "rolebinding", "priorityclass"]
        .map(|kind| format!("{kind}/lamplighter"));
    let mut all = ours.to_vec();
    all.push("configmap/lamplighter-site".into());
    let files = fs::read_dir(DEFINITIONS).unwrap().map(|entry| entry.unwrap().path());
    let kinds = files.filter_map(|file| Some(file.file_name()?.to_str()?.strip_suffix(".yaml")?.to_owned()));
    all.extend(kinds.map(|kind| format!("crd/{kind}.lamplighter.dev")));
    all
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn succeed(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", text(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// What kustomize, which kubectl brings, makes of a directory.
fn kustomized(directory: &str) -> String {
    succeed(Command::new(programs().join("kubectl")).args(["kustomize", &format!("{K3S}/{directory}")]))
}

/// helm with files of its own.
fn helm(home: &TempDir, args: &[&str]) -> Command {
    let mut command = Command::new(programs().join("helm"));
    for name in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
        command.env(name, home.path());
    }
    command.args(args).stdin(Stdio::null());
    command
}

/// The chart, rendered with some values.
fn rendered(namespace: &str, values: &[&str]) -> Output {
    let home = TempDir::new().unwrap();
    let mut command = helm(&home, &["template", "lamplighter", &format!("{K3S}/chart"), "--namespace", namespace]);
    for value in values {
        command.args(["--set-json", value]);
    }
    command.output().unwrap()
}

fn chart() -> String {
    let output = rendered(NAMESPACE, &[]);
    assert!(output.status.success(), "{}", text(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn documents(yaml: &str) -> Vec<Value> {
    let all = yaml.split("\n---").map(|document| serde_yaml::from_str::<Value>(document).unwrap());
    all.filter(|document| !document.is_null()).collect()
}

/// By kind and name, what somebody said of an object; not what the server and its tools add.
fn meant(objects: Vec<Value>) -> BTreeMap<String, Value> {
    let meant = |mut object: Value| {
        let name = format!("{}/{}", object["kind"].as_str().unwrap(), object["metadata"]["name"].as_str().unwrap());
        let metadata = object["metadata"].clone();
        let mut kept = json!({"namespace": metadata["namespace"], "labels": metadata["labels"]});
        if let Some(labels) = kept["labels"].as_object_mut() {
            labels.remove("app.kubernetes.io/managed-by");
        }
        if kept["labels"].as_object().is_some_and(serde_json::Map::is_empty) {
            kept["labels"] = Value::Null;
        }
        let fields = object.as_object_mut().unwrap();
        fields.insert("metadata".into(), kept);
        fields.remove("status");
        if let Some(file) = object["data"]["site.yaml"].as_str() {
            object["data"]["site.yaml"] = serde_yaml::from_str(file).unwrap();
        }
        (name, object)
    };
    objects.into_iter().map(meant).collect()
}

/// What differs between two sets of objects, a line each.
fn difference(left: &BTreeMap<String, Value>, right: &BTreeMap<String, Value>) -> Vec<String> {
    let mut all = Vec::new();
    for name in left.keys().chain(right.keys().filter(|name| !left.contains_key(*name))) {
        match (left.get(name), right.get(name)) {
            (Some(left), Some(right)) => compare(name, left, right, &mut all),
            (left, _) => all.push(format!("{name}: only in the {}", if left.is_some() { "first" } else { "second" })),
        }
    }
    all
}

fn compare(path: &str, left: &Value, right: &Value, all: &mut Vec<String>) {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            for key in left.keys().chain(right.keys().filter(|key| !left.contains_key(*key))) {
                let value = |of: &serde_json::Map<String, Value>| of.get(key).cloned().unwrap_or_default();
                compare(&format!("{path}.{key}"), &value(left), &value(right), all);
            }
        }
        _ if left == right => {}
        _ => all.push(format!("{path}: {left} is not {right}")),
    }
}

/// What is in the cluster under our names.
fn deployed(cluster: &Cluster) -> BTreeMap<String, Value> {
    meant(ours().iter().map(|name| cluster.get(name).unwrap_or_else(|| panic!("{name} is not there"))).collect())
}

fn remove(cluster: &Cluster) {
    for name in ours() {
        cluster.kubectl(&["delete", &name]);
        eventually("it is gone", || cluster.get(&name).is_none().then_some(()));
    }
}

#[test]
fn plain_manifests_kustomize_and_the_chart_deploy_the_same() {
    let cluster = Cluster::bare();
    let base = format!("{K3S}/base");
    let namespace = format!("{base}/namespace.yaml");
    cluster.kubectl(&["apply", "-f", DEFINITIONS, "-f", &namespace, "-f", &base]);
    let plain = deployed(&cluster);
    remove(&cluster);

    cluster.kubectl(&["apply", "-k", &base]);
    assert_eq!(difference(&plain, &deployed(&cluster)), [""; 0], "kustomize");
    let again = cluster.kubectl(&["apply", "-k", &base]);
    assert!(again.lines().all(|line| line.ends_with("unchanged")), "{again}");
    remove(&cluster);

    let (home, admin) = (TempDir::new().unwrap(), cluster.kubeconfig("admin", "token: admin-token"));
    let mut package = helm(&home, &["package", &format!("{K3S}/chart"), "--destination"]);
    succeed(package.arg(home.path()));
    let chart = home.path().join(concat!("lamplighter-", env!("CARGO_PKG_VERSION"), ".tgz"));
    let chart = chart.to_str().unwrap();
    let helm =
        |args: &[&str]| succeed(helm(&home, args).args(["--namespace", NAMESPACE]).arg("--kubeconfig").arg(&admin));
    helm(&["install", "lamplighter", chart]);
    assert_eq!(difference(&plain, &deployed(&cluster)), [""; 0], "helm");
    helm(&["upgrade", "lamplighter", chart, "--set", "port=9443"]);
    let port = |cluster: &Cluster| {
        let deployment = cluster.get("deployment/lamplighter").unwrap();
        deployment["spec"]["template"]["spec"]["containers"][0]["ports"][0]["hostPort"].clone()
    };
    assert_eq!(port(&cluster), 9443);
    helm(&["rollback", "lamplighter", "1"]);
    assert_eq!(difference(&plain, &deployed(&cluster)), [""; 0], "helm, back again");
    helm(&["uninstall", "lamplighter"]);
    assert!(cluster.get("deployment/lamplighter").is_none());
    assert!(cluster.get("crd/otarollouts.lamplighter.dev").is_some(), "rollouts are not deleted with the chart");
}

#[test]
fn each_overlay_is_accepted_strictly_without_a_warning_and_so_are_its_pods() {
    let cluster = Cluster::bare();
    let base = format!("{K3S}/base");
    cluster.kubectl(&["apply", "--server-side", "-f", DEFINITIONS, "-f", &format!("{base}/namespace.yaml")]);
    cluster.kubectl(&["apply", "--server-side", "--validate=strict", "-k", &base]);
    let all = OVERLAYS.map(|name| (name, kustomized(&format!("overlays/{name}"))));
    for (name, yaml) in all.iter().map(|(name, yaml)| (*name, yaml.as_str())).chain([("chart", chart().as_str())]) {
        cluster.kubectl(&["label", "namespace", NAMESPACE, "pod-security.kubernetes.io/warn-"]);
        let strictly =
            ["apply", "--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict", "-f", "-"];
        let said = cluster.try_kubectl(&strictly, yaml.as_bytes());
        assert!(said.status.success() && !text(&said).contains("Warning"), "{name}: {}", text(&said));
        let workload = documents(yaml).into_iter().find(|object| object["spec"]["template"].is_object()).unwrap();
        let mut pod = workload["spec"]["template"].clone();
        pod["apiVersion"] = json!("v1");
        pod["kind"] = json!("Pod");
        pod["metadata"]["name"] = json!("lamplighter-0");
        pod["metadata"]["namespace"] = json!(NAMESPACE);
        let pod = serde_json::to_vec(&pod).unwrap();
        let create = ["create", "--dry-run=server", "--validate=strict", "-o", "name", "-f", "-"];
        let said = text(&cluster.try_kubectl(&create, &pod));
        assert_eq!(said, "pod/lamplighter-0\n", "{name}");
        cluster.kubectl(&["label", "namespace", NAMESPACE, "pod-security.kubernetes.io/warn=restricted"]);
        let said = text(&cluster.try_kubectl(&create, &pod));
        let warning = said.lines().find(|line| line.starts_with("Warning")).unwrap();
        let breaches = warning.split_once(": ").unwrap().1.matches(" (").count();
        assert!(warning.contains("hostPort") && warning.contains("hostPath") && breaches == 2, "{name}: {warning}");
    }
    let (name, site) = all.iter().find(|(name, _)| *name == "site").unwrap();
    cluster.kubectl_with(&["apply", "-f", "-"], site.as_bytes());
    assert!(
        cluster.get("deployment/lamplighter-hall-7").is_some() && cluster.get("deployment/lamplighter").is_some(),
        "{name}"
    );
}

#[test]
fn the_chart_refuses_wrong_values_and_names_them() {
    for (value, name) in [
        ("site=\"Hall 7\"", "/site"),
        ("site=null", "site"),
        ("port=0", "/port"),
        ("port=\"8443\"", "/port"),
        ("state=\"var/lib\"", "/state"),
        ("hosts=[\"https://updates\"]", "/hosts/0"),
        ("image.pullPolicy=\"Sometimes\"", "/image/pullPolicy"),
        ("image.tag=\"a b\"", "/image/tag"),
        ("image.registry=\"x\"", "registry"),
        ("siteFile.site=\"hall-7\"", "/siteFile"),
        ("siteFile.metrics.listen=\"off\"", "/siteFile"),
        ("siteFile=[]", "siteFile"),
        ("definitions=\"yes\"", "/definitions"),
        ("tolerations=[{\"key\": \"a\", \"operator\": \"Is\"}]", "/tolerations/0/operator"),
        ("resources.limits.memory=16", "/resources/limits/memory"),
        ("replicas=2", "replicas"),
    ] {
        let output = rendered(NAMESPACE, &[value]);
        assert!(!output.status.success(), "{value}");
        assert!(text(&output).contains(name), "{value}: {}", text(&output));
    }
}

#[test]
fn the_chart_in_another_namespace_leaves_no_word_of_ours_and_takes_what_it_is_given() {
    let values = [
        "site=\"hall-7\"",
        "siteFile={\"devices\": {\"pollInterval\": \"30s\"}, \"kubernetes\": {\"siteSelector\": {\"hall\": \"7\"}}}",
        "hosts=[\"updates.hall-7\"]",
        "image={\"repository\": \"registry.example/lamplighter\", \"tag\": \"1\", \"pullPolicy\": \"Never\"}",
        "nodeSelector={\"lamplighter.dev/site\": \"hall-7\"}",
        "tolerations=[{\"key\": \"floor\", \"operator\": \"Exists\"}]",
        "definitions=false",
        "priorityClass=false",
    ];
    let output = rendered("hall-7", &values);
    let yaml = String::from_utf8(output.stdout).unwrap();
    assert!(!yaml.contains("namespace: lamplighter") && !yaml.contains("[lamplighter]"), "{yaml}");
    let objects = meant(documents(&yaml));
    let kinds: Vec<&str> = objects.keys().map(String::as_str).collect();
    assert_eq!(
        kinds,
        [
            "ConfigMap/lamplighter-site",
            "Deployment/lamplighter",
            "Role/lamplighter",
            "RoleBinding/lamplighter",
            "ServiceAccount/lamplighter"
        ]
    );
    let site = &objects["ConfigMap/lamplighter-site"]["data"]["site.yaml"];
    assert_eq!((&site["site"], &site["devices"]["pollInterval"]), (&json!("hall-7"), &json!("30s")));
    assert_eq!(site["devices"]["listen"], "0.0.0.0:8443", "what it is given comes beside what the chart says");
    let pod = &objects["Deployment/lamplighter"]["spec"]["template"]["spec"];
    for container in [&pod["initContainers"][0], &pod["containers"][0]] {
        assert_eq!(
            (&container["image"], &container["imagePullPolicy"]),
            (&json!("registry.example/lamplighter:1"), &json!("Never"))
        );
    }
    assert_eq!(pod["nodeSelector"], json!({"lamplighter.dev/site": "hall-7"}));
    assert_eq!(pod["tolerations"].as_array().unwrap().last().unwrap()["key"], "floor");
    assert!(pod["initContainers"][0]["args"].as_array().unwrap().contains(&json!("--host=updates.hall-7")));
    assert_eq!(objects["Role/lamplighter"]["rules"][0]["resourceNames"], json!(["hall-7"]));
}

#[test]
fn the_site_files_in_them_are_accepted_and_the_image_is_of_this_version() {
    let dir = TempDir::new().unwrap();
    let image = concat!("lamplighter.dev/lamplighter:", env!("CARGO_PKG_VERSION"));
    let all = [kustomized("base"), kustomized("overlays/site"), kustomized("overlays/daemonset"), chart()];
    for yaml in all {
        for object in documents(&yaml) {
            if let Some(file) = object["data"]["site.yaml"].as_str() {
                check(dir.path(), file);
            }
            let pod = &object["spec"]["template"]["spec"];
            for container in ["initContainers", "containers"].iter().filter_map(|kind| pod[*kind].as_array()).flatten()
            {
                assert_eq!(container["image"], image);
            }
        }
    }
}

fn check(dir: &Path, file: &str) {
    let path = dir.join("site.yaml");
    fs::write(&path, file).unwrap();
    let said = binary().arg("check").arg(&path).output().unwrap();
    assert!(said.status.success(), "{file}: {}", text(&said));
}
