//! How often a unit is restarted for what happens to its configuration.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use super::hall::{CALM, Hall};

#[test]
fn a_change_is_one_restart_and_everything_that_is_none_is_none() {
    let hall = Hall::with_service("one", "bridge", "");
    hall.configure("a.conf", "B");
    hall.until_starts("bridge", 2);
    hall.until_ready("bridge");
    // a touch, the same bytes, another file
    hall.sh("touch /srv/one/edge/a.conf");
    hall.configure("a.conf", "B");
    hall.configure("other.conf", "X");
    sleep(CALM);
    assert_eq!(hall.starts("bridge"), 2);
    // there and back within the settle time
    hall.configure("a.conf", "C");
    hall.configure("a.conf", "B");
    sleep(CALM);
    assert_eq!(hall.starts("bridge"), 2);
    // gone, and back as another
    fs::remove_file(hall.path("edge/a.conf")).unwrap();
    hall.until_reason("bridge", "ConfigMissing");
    sleep(CALM);
    assert_eq!(hall.starts("bridge"), 2);
    hall.configure("a.conf", "D");
    hall.until_starts("bridge", 3);
    let line = hall.until_ready("bridge");
    assert_eq!((&line["restarts"], &line["lastRestart"]["result"]), (&2.into(), &"Done".into()));
    let why = String::from_utf8(hall.lamplighter("why service/bridge").stdout).unwrap();
    assert!(why.contains("RestartBegun") && why.contains("changed: a.conf"), "{why}");
}

#[test]
fn ten_changes_in_ten_seconds_are_at_most_two_restarts() {
    let hall = Hall::with_service("ten", "bridge", "");
    hall.declare_as("bridge", "[{path: /srv/ten/edge/a.conf}]", "", "settle: 2s");
    for at in 0..10 {
        hall.configure("a.conf", &format!("{at}"));
        sleep(Duration::from_secs(1));
    }
    hall.until("bridge", "restarted", |line| line["restarts"].as_u64() > Some(0) && line["phase"] == "Ready");
    sleep(CALM);
    assert!((2..=3).contains(&hall.starts("bridge")), "{}", hall.starts("bridge"));
}

#[test]
fn many_services_on_one_directory_and_one_service_on_many() {
    let hall = Hall::new("many");
    for file in ["shared/a.conf", "x.conf", "y.conf"] {
        hall.write(&format!("edge/{file}"), "A");
    }
    sleep(Duration::from_millis(200));
    let units = ["u1", "u2", "u3", "u4", "u5"];
    for unit in units {
        hall.add_unit(unit, "");
        hall.declare(unit, "shared", "");
    }
    hall.add_unit("all", "");
    hall.declare_as("all", "[{path: /srv/many/edge/x.conf}, {path: /srv/many/edge/y.conf}]", "", "settle: 300ms");
    for unit in units.into_iter().chain(["all"]) {
        hall.until_ready(unit);
    }
    hall.configure("shared/a.conf", "B");
    for unit in units {
        hall.until_starts(unit, 2);
    }
    hall.configure("x.conf", "B");
    hall.configure("y.conf", "B");
    hall.until_starts("all", 2);
    sleep(CALM);
    assert_eq!(hall.starts("all"), 2);
    assert!(units.into_iter().all(|unit| hall.starts(unit) == 2));
}

#[test]
fn deleted_and_declared_again_is_no_restart() {
    let hall = Hall::with_service("again", "bridge", "");
    fs::remove_file(hall.path("manifests/bridge.yaml")).unwrap();
    sleep(CALM);
    hall.declare("bridge", "a.conf", "");
    hall.until_ready("bridge");
    sleep(CALM);
    assert_eq!(hall.starts("bridge"), 1);
}

#[test]
fn a_reload_is_a_reload_and_one_that_a_unit_cannot_do_says_so() {
    let hall = Hall::new("reload");
    hall.configure("a.conf", "A");
    sleep(Duration::from_millis(200));
    hall.add_unit("can", "ExecReload=/bin/sh -c 'echo x >>/srv/reload/reloads'\n");
    hall.add_unit("cannot", "");
    for unit in ["can", "cannot"] {
        hall.declare_as(unit, "[{path: /srv/reload/edge/a.conf}]", ", method: Reload", "settle: 300ms");
        hall.until_ready(unit);
    }
    hall.configure("a.conf", "B");
    hall.until("can", "reloaded", |line| line["restarts"] == 1);
    let line = hall.until_reason("cannot", "RestartFailed");
    assert!(line["message"].as_str().unwrap().contains("spec.restart.method"), "{line}");
    sleep(CALM);
    assert_eq!(fs::read_to_string(hall.path("reloads")).unwrap().lines().count(), 1);
    assert_eq!((hall.starts("can"), hall.starts("cannot")), (1, 1));
}

#[test]
fn a_person_restarts_a_unit_also_one_that_is_stopped() {
    let hall = Hall::with_service("person", "bridge", "");
    hall.sh("systemctl stop person-bridge");
    hall.configure("a.conf", "B");
    hall.until_ready("bridge");
    assert_eq!(hall.starts("bridge"), 1, "a stopped unit reads it when it is started");
    let output = hall.lamplighter("restart bridge");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    hall.until_starts("bridge", 2);
}
