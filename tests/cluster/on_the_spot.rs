//! What happens at the site itself, with or without a link, appears in the cluster.

use crate::eventually;
use crate::hall::{Hall, press_fw};

/// The orders in a status, each as `Pause: the press is hot`; whose they are and when is looked at.
fn orders(hall: &Hall, what: &str) -> Vec<String> {
    let object = hall.cluster.get(what).unwrap();
    let all = object["status"]["orders"].as_array().cloned().unwrap_or_default();
    let line = |order: &serde_json::Value| {
        assert!(order["by"].as_str().unwrap().contains("uid"), "{order}");
        assert!(order["at"].as_str().unwrap().parse::<jiff::Timestamp>().is_ok(), "{order}");
        format!("{}: {}", order["order"].as_str().unwrap(), order["reason"].as_str().unwrap_or_default())
    };
    all.iter().map(line).collect()
}

fn until_orders(hall: &Hall, what: &str, expected: &[&str]) {
    eventually("the orders are shown", || (orders(hall, what) == expected).then_some(()));
}

#[test]
fn orders_that_were_given_without_a_link_appear_once_it_is_back_and_an_edit_there_does_not_lift_them() {
    let hall = Hall::with(&["press-1"]);
    hall.device("press-1").offered();
    hall.until_adopted("press-fw");
    hall.cluster.down();
    hall.until_notice("API server");
    hall.cli(&["pause", "press-fw", "--reason", "the press is hot"]).good();
    hall.cli(&["hold", "press-1"]).good();
    hall.kill_and_restart();
    hall.cluster.up();
    hall.cluster.until("ota/press-fw", "Reconciling", "True Paused");
    until_orders(&hall, "ota/press-fw", &["Pause: the press is hot"]);
    until_orders(&hall, "egw/press-1", &["Hold: "]);
    let wide = hall.cluster.kubectl(&["get", "egw", "-o", "wide"]);
    assert!(wide.contains("HELD BY") && wide.contains("(uid "), "{wide}");
    // who pushes from afar does not know what the people on the spot know
    hall.cluster.apply(&press_fw("2.0.0", "  paused: false\n  attempts: 2\n"));
    eventually("the edit is there", || {
        let object = hall.cluster.get("ota/press-fw").unwrap();
        (object["status"]["observedGeneration"] == object["metadata"]["generation"]).then_some(())
    });
    hall.cluster.until("ota/press-fw", "Reconciling", "True Paused");
    hall.cli(&["resume", "press-fw"]).good();
    hall.cli(&["unhold", "press-1"]).good();
    until_orders(&hall, "ota/press-fw", &[]);
    until_orders(&hall, "egw/press-1", &[]);
    hall.device("press-1").update("2.0.0");
    hall.cluster.until("ota/press-fw", "Ready", "True Done");
    let notes = hall.cluster.kubectl(&["get", "events.events.k8s.io", "-o", "custom-columns=R:.reason,N:.note"]);
    assert!(notes.lines().any(|line| line.starts_with("Ordered") && line.contains("resume, by")), "{notes}");
}

#[test]
fn a_rollout_that_is_cancelled_on_the_spot_says_by_whom_and_stays_so() {
    let hall = Hall::with(&["press-1"]);
    hall.device("press-1").offered();
    hall.cli(&["cancel", "press-fw"]).good();
    hall.cluster.until("ota/press-fw", "Stalled", "True Cancelled");
    until_orders(&hall, "ota/press-fw", &["Cancel: "]);
    hall.cluster.apply(&press_fw("2.0.1", ""));
    eventually("the newer version does not begin", || {
        let said = hall.cluster.condition("ota/press-fw", "Stalled");
        let object = hall.cluster.get("ota/press-fw").unwrap();
        let observed = object["status"]["observedGeneration"] == object["metadata"]["generation"];
        (observed && said.as_deref() == Some("True Cancelled")).then_some(())
    });
    assert_eq!(hall.device("press-1").poll(), None);
}
