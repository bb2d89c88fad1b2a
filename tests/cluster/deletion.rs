//! `kubectl delete`: done within moments, whoever is dead; who installs finishes.

use std::time::Duration;

use crate::hall::{Hall, press_fw};
use crate::site::digest;
use crate::wire::ALL;
use crate::{eventually, hall::fw};

#[test]
fn a_rollout_in_flight_is_deleted_at_once_although_a_gateway_is_dead_and_one_that_installs_finishes() {
    let all = "  strategy: {waves: [{size: \"100%\", soak: 1s}], maxInFlight: \"100%\"}\n";
    let hall = Hall::with(&["press-1", "press-2", "press-3"]);
    let at_once = press_fw("2.0.0", "")
        .replace("  strategy: {waves: [{size: 1, soak: 1s}, {size: \"100%\", soak: 1s}], maxInFlight: 2}\n", all);
    hall.cluster.apply(&at_once.replace("press-fw", "all").replace("name: fw\n", "name: app\n"));
    hall.cluster.kubectl(&["delete", "ota/press-fw", "--timeout=60s"]);
    let devices = ["press-1", "press-2", "press-3"].map(|name| hall.device(name));
    let dead = devices[0].fetch();
    let installing = devices[1].fetch();
    devices[1].download(&installing, ALL);
    hall.until_step("press-2", "Installing");
    devices[2].offered();
    hall.until_adopted("all");
    hall.cluster.kubectl(&["delete", "ota/all", "--timeout=60s"]);
    assert!(hall.cluster.get("ota/all").is_none());
    assert_eq!(hall.step("press-1"), "Waiting Cancelling");
    assert_eq!(hall.step("press-2"), "Installing");
    assert_eq!(hall.step("press-3"), "Skipped Cancelled");
    assert_eq!(devices[2].poll(), None);
    assert_eq!(devices[1].feedback(&installing, "closed", "success"), 200);
    assert_eq!(devices[1].attributes(&serde_json::json!({"app": "2.0.0"})), 200);
    hall.until_step("press-2", "Updated");
    drop(dead);
    assert_eq!(hall.journalled("press-2", "Offered"), 1);
    assert_eq!(digest(&fw()).len(), 64);
}

#[test]
fn deleted_while_lamplighter_is_away_it_is_withdrawn_when_it_is_back() {
    let hall = Hall::with(&["press-1"]);
    hall.device("press-1").offered();
    hall.until_adopted("press-fw");
    assert!(hall.stop().success());
    hall.cluster.kubectl(&["delete", "ota/press-fw", "--wait=false"]);
    assert!(hall.cluster.get("ota/press-fw").is_some(), "it waits for its site");
    hall.start();
    eventually("it is released", || hall.cluster.get("ota/press-fw").is_none().then_some(()));
    assert_eq!(hall.device("press-1").poll(), None);
    eventually("it is forgotten", || hall.ask("/v1/status")["rollouts"].as_array().unwrap().is_empty().then_some(()));
}

#[test]
fn a_deletion_is_in_the_store_before_the_object_goes() {
    let hall = Hall::with(&["press-1"]);
    hall.device("press-1").offered();
    hall.until_adopted("press-fw");
    hall.cluster.kubectl(&["delete", "ota/press-fw", "--wait=false"]);
    eventually("the object is gone", || hall.cluster.get("ota/press-fw").is_none().then_some(()));
    hall.kill();
    hall.cluster.down();
    hall.start();
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(hall.device("press-1").poll(), None, "it was withdrawn before its object went");
}

#[test]
fn a_namespace_is_deleted_within_moments_although_a_gateway_is_dead_and_no_event_can_be_written_there() {
    let hall = Hall::with(&["press-1", "press-2"]);
    let devices = ["press-1", "press-2"].map(|name| hall.device(name));
    let dead =
        eventually("a gateway is offered its update", || devices.iter().position(|device| device.poll().is_some()));
    devices[dead].fetch();
    hall.until_adopted("press-fw");
    hall.cluster.kubectl(&["delete", "namespace", "lamplighter", "--wait=false"]);
    let namespace = hall.cluster.get("namespace/lamplighter").unwrap();
    assert_eq!(namespace["status"]["phase"], "Terminating");
    // nothing can be created there any more; its controller leaves five seconds, and then takes our rights away first
    std::thread::sleep(Duration::from_secs(5));
    hall.cluster.kubectl(&["-n", "lamplighter", "delete", "rolebinding/lamplighter"]);
    hall.cluster.kubectl(&["delete", "ota,egw", "--all", "--timeout=30s"]);
    let name = ["press-1", "press-2"][dead];
    assert_eq!(hall.step(name), "Waiting Cancelling", "it may still be at it");
    // and the end of the namespace is no order: it may come again
    let finalize = serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "lamplighter"}, "spec": {"finalizers": []}});
    let file = hall.path("finalize.json");
    std::fs::write(&file, finalize.to_string()).unwrap();
    let raw = "/api/v1/namespaces/lamplighter/finalize";
    hall.cluster.kubectl(&["replace", "--raw", raw, "-f", file.to_str().unwrap()]);
    assert!(hall.cluster.get("namespace/lamplighter").is_none());
    hall.until_notice("namespaces \"lamplighter\"");
    assert_eq!(hall.step(name), "Waiting Cancelling");
}
