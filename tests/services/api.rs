//! Services that a real API server declares, over a real systemd.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use crate::cluster::Cluster;
use crate::eventually;
use crate::hall::{CALM, Hall};

/// A site that follows a cluster under our Role, with a running unit and the file that it reads.
fn following(name: &str) -> (Hall, Cluster) {
    let cluster = Cluster::start();
    let hall = Hall::new(name);
    let certificate = cluster.path("certs/apiserver.crt");
    let kubeconfig = fs::read_to_string(cluster.for_a_site()).unwrap();
    let there = format!("/srv/{name}/api.crt");
    hall.write("kubeconfig", &kubeconfig.replace(certificate.to_str().unwrap(), &there));
    hall.write("api.crt", &fs::read_to_string(certificate).unwrap());
    hall.kill();
    hall.write("site.yaml", &hall.site_file(&format!(", kubernetes: {{kubeconfig: /srv/{name}/kubeconfig}}")));
    hall.start();
    hall.configure("a.conf", "A");
    sleep(Duration::from_millis(200));
    hall.add_unit("bridge", "");
    (hall, cluster)
}

fn service(config: &str, unit: &str) -> String {
    format!(
        "{{apiVersion: lamplighter.dev/v1alpha1, kind: EdgeService, metadata: {{name: bridge, namespace: lamplighter}}, spec: \
         {{config: [{{{config}}}], restart: {{unit: {unit}}}, settle: 300ms, minInterval: 0s}}}}"
    )
}

#[test]
fn a_service_of_the_api_is_restarted_once_for_a_change_and_its_status_says_so() {
    let (hall, cluster) = following("api");
    let object = service("path: /srv/api/edge/a.conf", "api-bridge.service");
    cluster.apply(&object);
    cluster.until("esvc/bridge", "Ready", "True Applied");
    let status = || cluster.get("esvc/bridge").unwrap()["status"].clone();
    let restarts = |count: u64| {
        eventually("the status says how often", || (status()["restarts"] == count).then_some(()));
        cluster.until("esvc/bridge", "Ready", "True Applied");
    };
    restarts(0);
    hall.configure("a.conf", "B");
    hall.until_starts("bridge", 2);
    restarts(1);
    let said = status();
    assert_eq!(said["appliedHash"], said["observedHash"]);
    assert_eq!((&said["lastRestart"]["reason"], &said["lastRestart"]["result"]), (&"Changed".into(), &"Done".into()));
    let table = cluster.kubectl(&["get", "esvc"]);
    assert!(table.lines().any(|line| line.contains("api-bridge.service   True    Applied   1")), "{table}");
    eventually("an event tells of it", || {
        let reasons = cluster.kubectl(&["get", "events.events.k8s.io", "-o", "jsonpath={.items[*].reason}"]);
        (reasons == "Restarted").then_some(())
    });
    // without the server
    cluster.down();
    hall.configure("a.conf", "C");
    hall.until_starts("bridge", 3);
    cluster.up();
    restarts(2);
    // deleted and created again with the same content
    cluster.kubectl(&["delete", "esvc/bridge"]);
    eventually("it is gone", || hall.status("bridge").is_none().then_some(()));
    cluster.apply(&object);
    restarts(2);
    // the same under a name that the site file does not allow
    cluster.apply(&service("path: /srv/api/edge/a.conf", "sshd.service"));
    cluster.until("esvc/bridge", "Stalled", "True UnitRefused");
    sleep(CALM);
    assert_eq!(hall.starts("bridge"), 3);
}

fn config_map(text: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: modbus, namespace: lamplighter}}, data: {{a.conf: {text}}}}}"
    )
}

#[test]
fn a_config_map_of_the_api_restarts_once_for_each_change_and_never_for_what_happens_to_the_api() {
    let (hall, cluster) = following("maps");
    cluster.apply(&service("configMap: modbus", "maps-bridge.service"));
    hall.until_reason("bridge", "ConfigMissing");
    cluster.apply(&config_map("plain-A"));
    hall.until_ready("bridge");
    // what is no content
    cluster.kubectl(&["label", "cm/modbus", "a=b"]);
    sleep(CALM);
    assert_eq!(hall.starts("bridge"), 1);
    cluster.apply(&config_map("plain-B"));
    hall.until_starts("bridge", 2);
    hall.until_ready("bridge");
    // errors, silence, another start meanwhile
    cluster.kubectl(&["delete", "rolebinding/lamplighter"]);
    sleep(CALM);
    cluster.down();
    hall.kill();
    hall.start();
    hall.until_reason("bridge", "NotRead");
    cluster.up();
    sleep(CALM);
    cluster.prepare();
    hall.until_ready("bridge");
    // deleted, and created again with the same content
    cluster.kubectl(&["delete", "cm/modbus"]);
    hall.until_reason("bridge", "ConfigMissing");
    cluster.apply(&config_map("plain-B"));
    hall.until_ready("bridge");
    sleep(CALM);
    assert_eq!(hall.starts("bridge"), 2);
    // changed while nobody was there
    hall.kill();
    cluster.apply(&config_map("plain-C"));
    hall.start();
    hall.until_starts("bridge", 3);
    hall.until_ready("bridge");
    sleep(CALM);
    assert_eq!(hall.starts("bridge"), 3);
    let why = String::from_utf8(hall.lamplighter("why service/bridge").stdout).unwrap();
    assert!(why.contains("ConfigMap/modbus") && why.contains("changed: a.conf"), "{why}");
    hall.sh("! grep -r plain- /srv/maps/state");
}
