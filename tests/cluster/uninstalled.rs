//! Uninstalling in any order, by the commands of docs/install.md.

use std::path::Path;

use crate::eventually;
use crate::hall::{Hall, press_fw};
use crate::pages::{Page, follow};

const DEFINITIONS: [&str; 2] = ["crd/otarollouts.lamplighter.dev", "crd/edgegateways.lamplighter.dev"];

fn adopted() -> Hall {
    let hall = Hall::with(&["press-1"]);
    hall.device("press-1").offered();
    hall.until_adopted("press-fw");
    hall
}

fn delete_definitions(hall: &Hall) {
    hall.cluster.kubectl(&["delete", DEFINITIONS[0], DEFINITIONS[1], "--wait=false"]);
}

fn until_gone(hall: &Hall) {
    for definition in DEFINITIONS {
        eventually("the definition is gone", || hall.cluster.get(definition).is_none().then_some(()));
    }
}

#[test]
fn lamplighter_first_then_its_rollouts_wait_for_the_documented_command() {
    let hall = adopted();
    hall.stop();
    let another =
        press_fw("2.0.0", "").replace("{name: press-fw}", "{name: other, finalizers: [lamplighter.dev/withdraw]}");
    hall.cluster.apply(&another);
    delete_definitions(&hall);
    eventually("the rollout is to be deleted", || {
        let rollout = hall.cluster.get("ota/press-fw").expect("it waits for its site");
        rollout["metadata"]["deletionTimestamp"].is_string().then_some(())
    });
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert!(hall.cluster.get("ota/press-fw").is_some(), "nobody lets it go");
    follow(Page::read("install.md").block("finalizers"), &hall.cluster, Path::new("/"));
    until_gone(&hall);
}

#[test]
fn definitions_first_then_the_site_lets_its_rollouts_go_and_says_what_is_missing() {
    let hall = adopted();
    delete_definitions(&hall);
    until_gone(&hall);
    hall.until_notice("lamplighter crds");
    assert_eq!(hall.device("press-1").poll(), None, "as if it had been deleted");
    hall.cluster.prepare();
    hall.until_linked();
}
