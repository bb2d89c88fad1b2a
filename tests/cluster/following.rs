//! What people put into the cluster, and what becomes of it.

use crate::cluster::Cluster;
use crate::eventually;
use crate::hall::{Hall, press, press_fw};

/// Without what differs from run to run.
fn table(text: &str) -> String {
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split("   ").map(str::trim).collect()).collect();
    let clean = |row: &Vec<&str>| row.iter().filter(|cell| !cell.is_empty()).copied().collect::<Vec<_>>().join(" | ");
    rows.iter().map(clean).collect::<Vec<_>>().join("\n")
}

/// The same without the last column of `kubectl get`, which says how old it is.
fn ageless(text: &str) -> String {
    let rows = table(text);
    rows.lines().filter_map(|row| Some(row.rsplit_once(" | ")?.0)).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_rollout_that_is_applied_is_carried_out_under_our_role_and_kubectl_sees_it_end() {
    let hall = Hall::with(&["press-1", "press-2"]);
    for name in ["press-1", "press-2"] {
        hall.device(name).report("1.0.0");
    }
    let canary = eventually("a gateway is offered its update", || {
        ["press-1", "press-2"].into_iter().find(|name| hall.device(name).poll().is_some())
    });
    hall.cluster.until("ota/press-fw", "Ready", "False WaveOpen");
    hall.device(canary).update("2.0.0");
    let other = if canary == "press-1" { "press-2" } else { "press-1" };
    hall.device(other).update("2.0.0");
    hall.cluster.kubectl(&["wait", "--for=condition=Ready", "ota/press-fw", "--timeout=120s"]);
    for name in ["press-1", "press-2"] {
        hall.cluster.until(&format!("egw/{name}"), "Ready", "True Updated");
        hall.cluster.until(&format!("egw/{name}"), "Online", "True Polling");
    }
    let object = hall.cluster.get("ota/press-fw").unwrap();
    let time = |field: &str| object["status"][field].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    assert!(time("startedAt") < time("finishedAt"), "{object}");
    assert_eq!(object["status"]["artifact"]["bytes"], 20_000);
    let history = hall.cluster.get("egw/press-1").unwrap()["status"]["history"].clone();
    assert_eq!(history, serde_json::json!([{"rollout": "press-fw", "version": "2.0.0", "step": "Updated"}]));
    let columns = "custom-columns=NAME:.metadata.name,UPDATED:.status.summary.updated,TOTAL:.status.summary.total,\
        STATE:.status.artifact.state,GENERATION:.status.observedGeneration";
    let said = table(&hall.cluster.kubectl(&["get", "ota", "-o", columns]));
    assert_eq!(said, "NAME | UPDATED | TOTAL | STATE | GENERATION\npress-fw | 2 | 2 | Verified | 1");
    let wide = |what: &str| ageless(&hall.cluster.kubectl(&["get", what, "-o", "wide"]));
    insta::assert_snapshot!(wide("ota"), @"
    NAME | ARTIFACT | VERSION | READY | REASON | WAVE | TOTAL | UPDATED | FAILED | UPDATING | OFFLINE | MESSAGE
    press-fw | fw | 2.0.0 | True | Done | 2 | 2 | 0 | 0 | 0
    ");
    insta::assert_snapshot!(wide("egw"), @"
    NAME | CONTROLLER | ONLINE | READY | REASON | ROLLOUT | HOLD | HELD BY
    press-1 | ctl-press-1 | True | True | Updated | press-fw
    press-2 | ctl-press-2 | True | True | Updated | press-fw
    ");
    let events =
        hall.cluster.kubectl(&["get", "events.events.k8s.io", "-o", "custom-columns=R:.reason,O:.regarding.name"]);
    for reason in ["Accepted", "WaveOpened", "WaveProven", "Done"] {
        assert!(events.contains(reason), "{reason} is not in {events}");
    }
}

#[test]
fn an_edit_is_followed_within_moments() {
    let hall = Hall::with(&["press-1"]);
    hall.device("press-1").offered();
    hall.cluster.apply(&press_fw("2.0.0", "  paused: true\n"));
    hall.until_step("press-1", "Waiting Paused");
    hall.cluster.until("ota/press-fw", "Reconciling", "True Paused");
    hall.cluster.apply(&press_fw("2.0.0", "  paused: false\n"));
    hall.device("press-1").offered();
    let object = hall.cluster.get("ota/press-fw").unwrap();
    let generation = object["metadata"]["generation"].clone();
    eventually("the status is about what was applied last", || {
        let object = hall.cluster.get("ota/press-fw").unwrap();
        (object["status"]["observedGeneration"] == generation).then_some(())
    });
}

#[test]
fn what_cannot_be_accepted_says_so_itself_and_hides_nothing_else() {
    let hall = Hall::with(&["press-1"]);
    hall.device("press-1").offered();
    // the server cannot know the poll interval of this site
    let hasty = press_fw("2.0.0", "  deadlines: {install: 1s}\n").replace("press-fw", "hasty");
    hall.cluster.apply(&hasty);
    hall.cluster.until("ota/hasty", "Stalled", "True NotAccepted");
    let object = hall.cluster.get("ota/hasty").unwrap();
    let message = object["status"]["conditions"][0]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("spec.deadlines.install"), "{message}");
    assert!(!hall.is_adopted("hasty"));
    let refused = hall.ask("/v1/status")["refused"].to_string();
    assert!(refused.contains("OtaRollout/hasty in the API"), "{refused}");
    hall.cluster.apply(&press("press-2"));
    hall.device("press-2");
    hall.cluster.apply(&hasty.replace("1s", "1m"));
    hall.cluster.until("ota/hasty", "Stalled", "False WaveOpen");
}

#[test]
fn what_another_site_claims_is_left_alone() {
    let hall = Hall::new();
    let claimed = press_fw("2.0.0", "")
        .replace("{name: press-fw}", "{name: press-fw, annotations: {lamplighter.dev/site: hall-8}}");
    hall.cluster.apply(&[press("press-1"), claimed].join("---\n"));
    hall.device("press-1");
    hall.cluster.apply(&press_fw("2.0.0", "").replace("press-fw", "ours"));
    hall.until_adopted("ours");
    assert!(!hall.is_adopted("press-fw"));
    assert_eq!(hall.ask("/v1/status")["rollouts"].as_array().unwrap().len(), 1);
    assert!(hall.cluster.get("ota/press-fw").unwrap()["status"].is_null());
    let ours = hall.cluster.get("ota/ours").unwrap();
    assert_eq!(ours["metadata"]["annotations"]["lamplighter.dev/site"], "hall-7", "and ours is claimed");
}

#[test]
fn a_label_selector_names_the_site_and_an_object_that_leaves_it_is_not_deleted() {
    let hall = Hall::following(Cluster::start(), ", siteSelector: {site: hall-7}");
    hall.start();
    let ours = press_fw("2.0.0", "").replace("{name: press-fw}", "{name: press-fw, labels: {site: hall-7}}");
    let gateway = press("press-1").replace("labels: {", "labels: {site: hall-7, ");
    hall.cluster.apply(&[gateway, ours, press("press-2")].join("---\n"));
    hall.device("press-1").offered();
    assert_eq!(hall.ask("/v1/gateways")["gateways"].as_array().unwrap().len(), 1, "the other one is not this site's");
    hall.until_adopted("press-fw");
    hall.cluster.kubectl(&["label", "ota/press-fw", "site-"]);
    hall.until_step("press-1", "Waiting Unlisted");
    assert_eq!(hall.rollout()["reason"], "Unlisted");
    hall.cluster.kubectl(&["label", "ota/press-fw", "site=hall-7"]);
    hall.device("press-1").offered();
}

#[test]
fn what_a_manifest_declares_too_counts_for_neither_and_says_so() {
    let hall = Hall::with(&["press-1"]);
    hall.device("press-1").offered();
    hall.put("press-fw.yaml", press_fw("2.0.0", ""));
    hall.until_step("press-1", "Waiting Unlisted");
    hall.cluster.until("ota/press-fw", "Stalled", "True DeclaredTwice");
    hall.remove("press-fw.yaml");
    hall.device("press-1").offered();
    hall.cluster.until("ota/press-fw", "Stalled", "False WaveOpen");
}

#[test]
fn fifty_rollouts_and_five_hundred_gateways_at_once_are_taken_in() {
    let hall = Hall::new();
    let gateways: String = (0..500).map(|n| press(&format!("press-{n}")) + "---\n").collect();
    hall.cluster.kubectl_with(&["create", "-f", "-"], gateways.as_bytes());
    let rollouts: String = (0..50)
        .map(|n| {
            press_fw("2.0.0", "")
                .replace("press-fw", &format!("fw-{n}"))
                .replace("name: fw\n", &format!("name: fw-{n}\n"))
                + "---\n"
        })
        .collect();
    hall.cluster.kubectl_with(&["create", "-f", "-"], rollouts.as_bytes());
    eventually("all gateways are known", || (hall.ask("/v1/status")["gateways"]["total"] == 500).then_some(()));
    eventually("all rollouts are known", || {
        (hall.ask("/v1/status")["rollouts"].as_array().unwrap().len() == 50).then_some(())
    });
    eventually("all rollouts are adopted", || {
        let said = hall.cluster.kubectl(&["get", "ota", "-o", "jsonpath={.items[*].metadata.finalizers}"]);
        (said.matches("lamplighter.dev/withdraw").count() == 50).then_some(())
    });
    hall.kill_and_restart();
    hall.until_linked();
    assert_eq!(hall.ask("/v1/status")["gateways"]["total"], 500, "over ten pages");
}
