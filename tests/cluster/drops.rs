//! What came by a drop appears in the cluster, and what is done with it there counts.

use std::fs;

use serde_json::Value;

use crate::cluster::Cluster;
use crate::eventually;
use crate::hall::{Hall, fw, press, press_fw};

/// A site that takes drops, with one gateway in the cluster, and firmware in no manifest directory.
fn hall() -> Hall {
    let hall = Hall::following(Cluster::start(), "");
    hall.remove("fw.bin");
    hall.configure("manifests: [manifests]", "manifests: [manifests], drops: drops");
    fs::create_dir(hall.path("drops")).unwrap();
    hall.start();
    hall.until_linked();
    hall.cluster.apply(&press("press-1"));
    hall.device("press-1");
    hall
}

fn put(hall: &Hall, file: &str, manifest: &str) {
    fs::write(hall.path("drops").join("fw.bin"), fw()).unwrap();
    fs::write(hall.path("drops").join(file), manifest).unwrap();
}

/// The rollouts that the cluster has.
fn shown(hall: &Hall) -> Vec<Value> {
    let all: Value = serde_json::from_str(&hall.cluster.kubectl(&["get", "ota", "-o", "json"])).unwrap();
    all["items"].as_array().unwrap().clone()
}

fn until_shown(hall: &Hall, version: &str) -> String {
    let of_version = |object: &Value| object["spec"]["artifact"]["version"] == version;
    let object = eventually("the drop is shown", || shown(hall).into_iter().find(of_version));
    assert_eq!(object["metadata"]["annotations"]["lamplighter.dev/dropped-as"], "press-fw");
    assert_eq!(object["metadata"]["annotations"]["lamplighter.dev/site"], "hall-7");
    let name = object["metadata"]["name"].as_str().unwrap().to_owned();
    assert!(name.starts_with("drop-press-fw-") && name.len() == "drop-press-fw-12345678".len(), "{name}");
    name
}

#[test]
fn a_drop_made_without_a_link_appears_once_it_is_back_is_edited_there_and_is_never_made_again() {
    let hall = hall();
    let device = hall.device("press-1");
    hall.cluster.down();
    put(&hall, "press-fw.yaml", &press_fw("2.0.0", ""));
    device.offered();
    hall.cluster.up();
    let name = until_shown(&hall, "2.0.0");
    let ota = format!("ota/{name}");
    hall.cluster.until(&ota, "Reconciling", "True WaveOpen");
    assert_eq!(hall.cluster.get(&ota).unwrap()["status"]["origin"], "Drop");
    assert_eq!((shown(&hall).len(), hall.offers("press-1")), (1, 1), "it is the same order as before");
    assert_eq!(hall.rollout()["name"], "press-fw", "and is called at the site as the drop says");

    // what is edited there is edited
    let paused = |paused: bool| {
        let patch = format!(r#"{{"spec":{{"paused":{paused}}}}}"#);
        hall.cluster.kubectl(&["patch", &ota, "--type=merge", "-p", &patch]);
    };
    paused(true);
    hall.until_step("press-1", "Waiting Paused");
    hall.cluster.until(&ota, "Reconciling", "True Paused");
    paused(false);
    device.offered();

    // the stick is gone, and the order goes on from the cluster after a restart
    fs::remove_file(hall.path("drops/press-fw.yaml")).unwrap();
    hall.kill_and_restart();
    hall.until_linked();
    device.offered();
    assert_eq!(shown(&hall).len(), 1);

    // and deleted there it is called off
    hall.cluster.kubectl(&["delete", &ota, "--timeout=60s"]);
    assert_eq!(device.poll(), None);
    put(&hall, "press-fw.yaml", &press_fw("2.0.0", ""));
    hall.kill_and_restart();
    hall.until_linked();
    // whatever comes is written in order: once this one is adopted, the other would have been made
    hall.cluster.apply(
        &press_fw("1.0.0", "  paused: true\n").replace("press-fw", "other").replace("name: fw\n", "name: app\n"),
    );
    hall.until_adopted("other");
    assert_eq!(shown(&hall).len(), 1, "and never made again");
    assert_eq!(device.poll(), None);
}

#[test]
fn a_later_drop_takes_the_place_of_the_first_whose_object_says_so() {
    let hall = hall();
    put(&hall, "first.yaml", &press_fw("2.0.0", ""));
    let device = hall.device("press-1");
    device.update("2.0.0");
    let first = until_shown(&hall, "2.0.0");
    hall.cluster.until(&format!("ota/{first}"), "Ready", "True Done");
    put(&hall, "second.yaml", &press_fw("2.0.1", ""));
    device.update("2.0.1");
    let second = until_shown(&hall, "2.0.1");
    hall.cluster.until(&format!("ota/{second}"), "Ready", "True Done");
    hall.cluster.until(&format!("ota/{first}"), "Stalled", "True NotAccepted");
    hall.cluster.kubectl(&["delete", &format!("ota/{first}"), "--timeout=60s"]);
    hall.kill_and_restart();
    hall.until_linked();
    hall.cluster.until(&format!("ota/{second}"), "Ready", "True Done");
    assert_eq!((hall.rollout()["reason"].as_str(), shown(&hall).len()), (Some("Done"), 1));
    // the hub's word on the name counts from then on
    hall.cluster.apply(&press_fw("2.0.2", ""));
    device.update("2.0.2");
    hall.cluster.until("ota/press-fw", "Ready", "True Done");
    hall.cluster.until(&format!("ota/{second}"), "Stalled", "True NotAccepted");
}
