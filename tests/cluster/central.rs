//! The samples of a centre that sends a rollout to many sites, and of k3s's own controller: accepted by the definitions of
//! whom they are for; and how Argo CD reads our conditions.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::cluster::{Cluster, K3S, programs};
use crate::eventually;
use crate::hall::{Hall, press, press_fw};

fn sample(name: &str) -> String {
    fs::read_to_string(format!("{K3S}/{name}")).unwrap()
}

fn documents(yaml: &str) -> Vec<Value> {
    yaml.split("\n---").map(|document| serde_yaml::from_str(document).unwrap()).collect()
}

#[test]
fn the_samples_are_accepted_by_the_definitions_of_whom_they_are_for() {
    let cluster = Cluster::start();
    let definitions = programs().join("definitions");
    cluster.kubectl(&["apply", "--server-side", "-f", definitions.to_str().unwrap()]);
    for namespace in ["argocd", "flux-system"] {
        cluster.kubectl(&["create", "namespace", namespace]);
    }
    for name in ["central/argo-cd.yaml", "central/flux.yaml", "auto-deploy/lamplighter.yaml"] {
        let said = eventually("its kinds are served", || {
            let path = format!("{K3S}/{name}");
            let said = cluster
                .try_kubectl(&["apply", "--server-side", "--force-conflicts", "--validate=strict", "-f", &path], b"");
            let text = String::from_utf8_lossy(&said.stderr).into_owned();
            (!text.contains("no matches for kind")).then_some((said.status.success(), text))
        });
        assert_eq!(said, (true, String::new()), "{name}");
    }
    let rollouts = format!("{K3S}/central/rollouts");
    cluster.kubectl(&["apply", "-n", "lamplighter", "--validate=strict", "-f", &rollouts]);
    // what Fleet and Karmada choose is there, under the names that they use
    let chosen = documents(&sample("central/karmada.yaml"))[0]["spec"]["resourceSelectors"][0].clone();
    let rollout = cluster.get(&format!("ota/{}", chosen["name"].as_str().unwrap())).unwrap();
    assert_eq!((&rollout["apiVersion"], &rollout["kind"]), (&chosen["apiVersion"], &chosen["kind"]));
    assert_eq!(
        documents(&sample("central/fleet.yaml"))[0]["spec"]["targetNamespace"],
        rollout["metadata"]["namespace"]
    );
}

#[test]
fn what_k3s_deploys_by_itself_has_the_values_and_the_version_of_the_chart() {
    let objects = documents(&sample("auto-deploy/lamplighter.yaml"));
    let spec = &objects[1]["spec"];
    assert_eq!(objects[0], documents(&sample("base/namespace.yaml"))[0]);
    let chart: Value = serde_yaml::from_str(&sample("chart/Chart.yaml")).unwrap();
    assert_eq!(
        (&chart["version"], &chart["appVersion"]),
        (&env!("CARGO_PKG_VERSION").into(), &env!("CARGO_PKG_VERSION").into())
    );
    assert!(spec["chart"].as_str().unwrap().ends_with(concat!("/lamplighter-", env!("CARGO_PKG_VERSION"), ".tgz")));
    let values = tempfile::NamedTempFile::new().unwrap();
    fs::write(values.path(), spec["valuesContent"].as_str().unwrap()).unwrap();
    let mut helm = Command::new(programs().join("helm"));
    let rendered =
        helm.args(["template", "lamplighter", &format!("{K3S}/chart"), "--values"]).arg(values.path()).output();
    assert!(rendered.unwrap().status.success());
}

/// A JSON value as Lua writes it.
fn lua(value: &Value) -> String {
    match value {
        Value::Null => "nil".into(),
        Value::Array(all) => format!("{{{}}}", all.iter().map(lua).collect::<Vec<_>>().join(", ")),
        Value::Object(all) => {
            let fields: Vec<String> = all.iter().map(|(key, value)| format!("[{key:?}] = {}", lua(value))).collect();
            format!("{{{}}}", fields.join(", "))
        }
        other => other.to_string(),
    }
}

/// What Argo CD makes of a rollout as it is now.
fn health(cluster: &Cluster, name: &str) -> String {
    let script = documents(&sample("central/argo-cd.yaml"))[1]["data"]
        ["resource.customizations.health.lamplighter.dev_OtaRollout"]
        .as_str()
        .unwrap()
        .to_owned();
    let rollout = cluster.get(&format!("ota/{name}")).unwrap();
    let whole = format!(
        "obj = {}\nlocal function health()\n{script}\nend\nlocal said = health()\nprint(said.status .. \": \" .. said.message)\n",
        lua(&rollout)
    );
    let file = cluster.path("health.lua");
    fs::write(&file, whole).unwrap();
    let said = Command::new(programs().join("glua")).arg(&file).output().unwrap();
    assert!(said.status.success() && said.stderr.is_empty(), "{}", String::from_utf8_lossy(&said.stderr));
    String::from_utf8(said.stdout).unwrap().trim().to_owned()
}

fn until_health(hall: &Hall, name: &str, wanted: &str) {
    let mut last = String::new();
    eventually(wanted, || {
        let now = health(&hall.cluster, name);
        if now != last {
            eprintln!("{name} is {now}");
            last = now;
        }
        last.starts_with(wanted).then_some(())
    });
}

#[test]
fn argo_cd_reads_progress_pause_trouble_and_the_end_from_the_conditions() {
    let hall = Hall::new();
    hall.stop();
    hall.cluster.apply(&[press("press-1"), press_fw("2.0.0", "")].join("---\n"));
    assert_eq!(health(&hall.cluster, "press-fw"), "Progressing: its site did not answer yet");
    hall.start();
    hall.device("press-1").offered();
    hall.cluster.until("ota/press-fw", "Ready", "False WaveOpen");
    until_health(&hall, "press-fw", "Progressing:");
    hall.cluster.apply(&press_fw("2.0.0", "  paused: true\n"));
    until_health(&hall, "press-fw", "Suspended:");
    hall.cluster.apply(&press_fw("2.0.0", "  paused: false\n"));
    hall.device("press-1").update("2.0.0");
    until_health(&hall, "press-fw", "Healthy:");
    // the server cannot know the poll interval of this site
    hall.cluster.apply(&press_fw("2.0.0", "  deadlines: {install: 1s}\n").replace("press-fw", "hasty"));
    until_health(&hall, "hasty", "Degraded:");
}
