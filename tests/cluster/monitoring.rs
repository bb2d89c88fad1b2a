//! What Prometheus is given: accepted by its operator's definitions and its own parser, about figures that there are.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::cluster::{Cluster, K3S, programs};
use crate::eventually;

fn object(path: &str) -> Value {
    serde_yaml::from_str(&fs::read_to_string(format!("{K3S}/{path}")).unwrap()).unwrap()
}

#[test]
fn the_pod_monitor_and_the_alerts_are_accepted_and_find_the_port_of_the_pod() {
    let cluster = Cluster::start();
    cluster.kubectl(&["apply", "--server-side", "-f", programs().join("definitions").to_str().unwrap()]);
    eventually("they are accepted", || {
        let path = format!("{K3S}/monitoring");
        let said = cluster.try_kubectl(&["apply", "--server-side", "--validate=strict", "-k", &path], b"");
        let text = String::from_utf8_lossy(&said.stderr).into_owned();
        assert!(said.status.success() || text.contains("no matches for kind"), "{text}");
        said.status.success().then_some(())
    });
    let monitor = object("monitoring/pods.yaml");
    let pod = object("base/deployment.yaml")["spec"]["template"].clone();
    assert_eq!(monitor["spec"]["selector"]["matchLabels"], pod["metadata"]["labels"]);
    let ports = pod["spec"]["containers"][0]["ports"].as_array().unwrap();
    let port = ports.iter().find(|port| port["name"] == monitor["spec"]["podMetricsEndpoints"][0]["port"]).unwrap();
    let site: Value = serde_yaml::from_str(object("base/site.yaml")["data"]["site.yaml"].as_str().unwrap()).unwrap();
    assert_eq!(site["metrics"]["listen"], format!("0.0.0.0:{}", port["containerPort"]));
}

#[test]
fn each_alert_is_read_by_prometheus_and_is_about_figures_that_there_are() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/reference/metrics.md")).unwrap();
    let spec = object("monitoring/alerts.yaml")["spec"].clone();
    let file = tempfile::NamedTempFile::new().unwrap();
    let read = |rules: &Value| {
        fs::write(file.path(), rules.to_string()).unwrap();
        let ended = Command::new(programs().join("promrules")).arg(file.path()).stdin(Stdio::null()).output().unwrap();
        (ended.status.success(), String::from_utf8(ended.stderr).unwrap())
    };
    assert_eq!(read(&spec), (true, String::new()));
    let rules = spec["groups"][0]["rules"].as_array().unwrap();
    for rule in rules {
        let expression = rule["expr"].as_str().unwrap();
        for name in expression
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .filter(|it| it.starts_with("lamplighter_"))
        {
            let family = name.trim_end_matches("_sum").trim_end_matches("_count");
            assert!(page.contains(&format!("| `{family}` |")), "{name}");
        }
        let mut broken = rule.clone();
        broken["expr"] = json!(format!("{expression} >"));
        assert!(!read(&json!({"groups": [{"name": "broken", "rules": [broken]}]})).0);
    }
    assert!(rules.len() > 5);
}
