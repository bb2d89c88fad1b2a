//! Weeks without the API server: nothing is undone, what is known goes on, and what was missed is caught up on.

use std::fs;
use std::net::TcpStream;

use lamplighter::site::Endpoints;

use crate::cluster::Cluster;
use crate::eventually;
use crate::exposition::Exposition;
use crate::hall::{Hall, press, press_fw};
use crate::wire::{ALL, Request, exchange};

/// A site whose one gateway was offered its update, adopted.
fn offered() -> Hall {
    let hall = Hall::with(&["press-1"]);
    hall.device("press-1").offered();
    hall.until_adopted("press-fw");
    hall
}

#[test]
fn without_a_reachable_api_it_starts_and_goes_on_from_the_store() {
    let hall = offered();
    hall.cluster.down();
    hall.kill_and_restart();
    let device = hall.device("press-1");
    device.update("2.0.0");
    hall.until_step("press-1", "Updated");
    hall.until_notice("cannot be reached");
    hall.cluster.up();
    hall.until_linked();
    hall.cluster.until("egw/press-1", "Ready", "True Updated");
    hall.cluster.until("ota/press-fw", "Ready", "True Done");
    assert_eq!(hall.offers("press-1"), 1, "nothing ran twice");
}

#[test]
fn a_site_stays_ready_without_its_api_and_its_figures_tell_of_the_link() {
    let hall = Hall::following(Cluster::start(), "");
    hall.site.configure("{listen: \"off\"}", "{listen: \"127.0.0.1:0\"}");
    hall.start();
    hall.until_linked();
    hall.declare(&["press-1"]);
    hall.until_adopted("press-fw");
    let ask = |path| {
        let endpoints = Endpoints::read(&hall.state()).unwrap();
        let address = endpoints.metrics.unwrap().replace("http://", "");
        exchange(TcpStream::connect(address).unwrap(), &Request("GET", path, &[("Host", "hall-7")], b""), ALL).unwrap()
    };
    let figures = || Exposition::read(&String::from_utf8(ask("/metrics").body).unwrap());
    let up = eventually("its status and an event are written", || {
        let figures = figures();
        let created = "lamplighter_api_requests_total{verb=\"create\",code=\"201\"}";
        figures.series.contains_key(created).then_some(figures)
    });
    let requests =
        |verb: &str, code: &str| format!("lamplighter_api_requests_total{{verb=\"{verb}\",code=\"{code}\"}}");
    // the namespace, both lists, both watches, an adoption
    for (series, least) in [
        (requests("get", "200"), 3.0),
        (requests("watch", "200"), 2.0),
        (requests("patch", "200"), 1.0),
        ("lamplighter_api_link{state=\"Up\"}".into(), 1.0),
        ("lamplighter_gateways{presence=\"Never\"}".into(), 1.0),
    ] {
        assert!(up.get(&series) >= least, "{series} is {}", up.get(&series));
    }
    hall.cluster.down();
    hall.until_notice("cannot be reached");
    // the watches broke, and nobody answers who asks again
    eventually("requests without an answer", || figures().series.contains_key(&requests("get", "none")).then_some(()));
    assert!(figures().get("lamplighter_api_link{state=\"Down\"}") > 0.0);
    assert_eq!(ask("/ready").status, 200);
}

#[test]
fn the_api_stops_mid_rollout_the_rollout_finishes_and_its_status_becomes_right() {
    let hall = Hall::with(&["press-1", "press-2"]);
    let devices = ["press-1", "press-2"].map(|name| hall.device(name));
    for device in &devices {
        device.report("1.0.0");
    }
    let first =
        eventually("a gateway is offered its update", || devices.iter().position(|device| device.poll().is_some()));
    hall.until_adopted("press-fw");
    let order = devices[first].fetch();
    hall.cluster.down();
    devices[first].download(&order, u64::MAX);
    assert_eq!(devices[first].feedback(&order, "closed", "success"), 200);
    devices[first].report("2.0.0");
    devices[1 - first].update("2.0.0");
    hall.until_reason("Done");
    assert!(!hall.log().contains("panicked"));
    hall.cluster.up();
    hall.cluster.kubectl(&["wait", "--for=condition=Ready", "ota/press-fw", "--timeout=120s"]);
    assert_eq!((hall.offers("press-1"), hall.offers("press-2")), (1, 1), "nothing ran twice");
}

#[test]
fn a_new_intent_that_was_pushed_meanwhile_is_carried_out_when_the_link_is_back() {
    let hall = offered();
    hall.device("press-1").update("2.0.0");
    hall.stop();
    hall.cluster.apply(&press_fw("2.0.1", ""));
    hall.cluster.down();
    hall.start();
    hall.until_notice("cannot be reached");
    assert_eq!(hall.rollout()["artifact"]["version"], "2.0.0");
    hall.cluster.up();
    hall.device("press-1").update("2.0.1");
    hall.until_step("press-1", "Updated");
}

#[test]
fn edited_and_recreated_with_a_new_uid_while_away_it_is_the_same_intent() {
    let hall = offered();
    let device = hall.device("press-1");
    let order = device.fetch();
    hall.stop();
    // somebody took the finalizer away by hand, so that it could go unseen
    hall.cluster.kubectl(&[
        "patch",
        "ota/press-fw",
        "--type=json",
        "-p",
        r#"[{"op":"remove","path":"/metadata/finalizers"}]"#,
    ]);
    let before = hall.cluster.get("ota/press-fw").unwrap()["metadata"]["uid"].clone();
    hall.cluster.kubectl(&["delete", "ota/press-fw", "egw/press-1"]);
    hall.cluster.apply(&[press("press-1"), press_fw("2.0.0", "  attempts: 2\n")].join("---\n"));
    assert_ne!(hall.cluster.get("ota/press-fw").unwrap()["metadata"]["uid"], before);
    hall.start();
    hall.until_linked();
    hall.until_adopted("press-fw");
    assert_eq!(hall.step("press-1"), "Downloading", "it has the order in hand, and keeps it");
    device.download(&order, u64::MAX);
    assert_eq!(device.feedback(&order, "closed", "success"), 200);
    device.report("2.0.0");
    hall.cluster.until("ota/press-fw", "Ready", "True Done");
    assert_eq!(hall.offers("press-1"), 1);
}

#[test]
fn a_watch_that_is_too_old_is_begun_anew_and_loses_nothing() {
    let hall = offered();
    hall.cluster.down();
    hall.until_notice("cannot be reached");
    hall.cluster.up();
    // all that was known is compacted away, and the site may be frozen while it happens
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(hall.pid().cast_signed()).unwrap(),
        rustix::process::Signal::STOP,
    )
    .unwrap();
    for n in 0..60 {
        hall.cluster.kubectl(&["annotate", "--overwrite", "egw/press-1", &format!("note={n}")]);
    }
    hall.cluster.down();
    hall.cluster.until_compacted();
    hall.cluster.up();
    hall.cluster.apply(&press("press-2"));
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(hall.pid().cast_signed()).unwrap(),
        rustix::process::Signal::CONT,
    )
    .unwrap();
    hall.device("press-2");
    hall.until_linked();
    assert!(hall.log().contains("too old to go on from"), "the server said 410");
    // it may have waited longer for a poll than an offer does, or than a gateway counts as there
    let step = hall.step("press-1");
    assert!(["Offered", "Waiting NotFetched", "Waiting Offline"].contains(&step.as_str()), "{step}");
}

#[test]
fn expired_credentials_change_nothing_and_a_token_that_is_rotated_is_read_by_itself() {
    let cluster = Cluster::start();
    let token = cluster.path("token");
    fs::write(&token, "lamplighter-token").unwrap();
    let file = cluster.kubeconfig("lamplighter", &format!("tokenFile: \"{}\"", token.display()));
    let hall = Hall::following(cluster, "");
    assert!(file.exists());
    hall.cluster.kubeconfig("lamplighter", &format!("tokenFile: \"{}\"", token.display()));
    hall.start();
    hall.until_linked();
    hall.declare(&["press-1"]);
    let device = hall.device("press-1");
    device.offered();
    // the server knows another token of ours from now on
    hall.cluster.down();
    hall.cluster.write_tokens("rotated-token");
    hall.cluster.up();
    hall.until_notice("credentials");
    assert_eq!(hall.step("press-1"), "Offered", "a 401 undoes nothing");
    device.fetch();
    fs::write(&token, "rotated-token\n").unwrap();
    hall.until_linked();
    hall.cluster.apply(&press("press-2"));
    hall.device("press-2");
}

#[test]
fn rights_that_were_taken_away_change_nothing() {
    let hall = offered();
    hall.cluster.kubectl(&["-n", "lamplighter", "delete", "rolebinding/lamplighter"]);
    hall.kill_and_restart();
    hall.until_notice("forbidden");
    let device = hall.device("press-1");
    device.update("2.0.0");
    hall.until_step("press-1", "Updated");
    hall.cluster.prepare();
    hall.cluster.until("ota/press-fw", "Ready", "True Done");
}

#[test]
fn a_server_that_holds_its_connections_and_says_nothing_is_noticed_within_a_minute() {
    let hall = offered();
    hall.cluster.freeze();
    hall.until_notice("does not answer");
    let device = hall.device("press-1");
    device.update("2.0.0");
    hall.until_step("press-1", "Updated");
    hall.cluster.thaw();
    hall.cluster.until("ota/press-fw", "Ready", "True Done");
}

#[test]
fn another_cluster_behind_the_same_address_undoes_nothing_and_starts_nothing() {
    let hall = Hall::with(&["press-1", "press-2"]);
    let devices = ["press-1", "press-2"].map(|name| hall.device(name));
    let first =
        eventually("a gateway is offered its update", || devices.iter().position(|device| device.poll().is_some()));
    hall.until_adopted("press-fw");
    hall.cluster.become_another();
    hall.cluster.prepare();
    hall.until_notice("another cluster");
    // it has other orders, and none of ours
    hall.cluster.apply(&[press("press-9"), press_fw("9.0.0", "")].join("---\n"));
    devices[first].update("2.0.0");
    devices[1 - first].update("2.0.0");
    hall.until_reason("Done");
    let rollouts = hall.ask("/v1/status")["rollouts"].clone();
    assert_eq!((rollouts.as_array().unwrap().len(), &rollouts[0]["artifact"]["version"]), (1, &"2.0.0".into()));
    assert!(!hall.is_adopted("press-fw"), "and nothing is written into it");
    assert!(hall.log().contains("another cluster answers"), "{}", hall.log());
    hall.kill_and_restart();
    hall.until_notice("another cluster");
    hall.cluster.become_the_first_again();
    hall.until_linked();
    hall.cluster.until("ota/press-fw", "Ready", "True Done");
}

#[test]
fn a_server_that_knows_nothing_of_us_any_more_undoes_nothing() {
    let hall = offered();
    // neither our namespace nor our kinds: whatever is asked of it, it answers 404
    hall.cluster.become_another();
    hall.until_notice("API server");
    assert_eq!(hall.step("press-1"), "Offered", "a 404 undoes nothing");
    hall.kill_and_restart();
    hall.until_notice("API server");
    let device = hall.device("press-1");
    device.update("2.0.0");
    hall.until_step("press-1", "Updated");
    hall.cluster.become_the_first_again();
    hall.until_linked();
    hall.cluster.until("ota/press-fw", "Ready", "True Done");
}

#[test]
fn another_cluster_is_the_right_one_once_a_person_says_so() {
    let hall = offered();
    hall.cluster.become_another();
    hall.cluster.prepare();
    hall.cluster.apply(&[press("press-1"), press("press-9"), press_fw("2.0.0", "")].join("---\n"));
    hall.until_notice("another cluster");
    let namespace = hall.cluster.get("namespace/lamplighter").unwrap();
    let uid = namespace["metadata"]["uid"].as_str().unwrap();
    hall.configure("kubernetes: {", &format!("kubernetes: {{cluster: {uid}, "));
    hall.stop();
    hall.start();
    hall.until_linked();
    hall.until_adopted("press-fw");
    hall.device("press-9");
    assert_eq!(hall.rollout()["name"], "press-fw");
    assert_eq!(hall.offers("press-1"), 1);
}

#[test]
fn definitions_that_are_missing_are_said_and_waited_for() {
    let cluster = Cluster::bare();
    let hall = Hall::following(cluster, "");
    hall.start();
    hall.until_notice("API server");
    hall.cluster.kubectl(&["create", "namespace", "lamplighter"]);
    hall.cluster.kubectl(&["apply", "-f", concat!(env!("CARGO_MANIFEST_DIR"), "/k3s/base/role.yaml")]);
    hall.until_notice("lamplighter crds");
    hall.cluster.prepare();
    hall.until_linked();
}

#[test]
fn a_new_site_waits_for_the_list_of_an_api_that_never_answered() {
    let cluster = Cluster::start();
    let hall = Hall::following(cluster, "");
    hall.cluster.down();
    hall.put("press-1.yaml", press("press-1"));
    hall.put("press-fw.yaml", press_fw("2.0.0", ""));
    hall.start();
    let device = hall.device("press-1");
    hall.until_reason("AwaitingApi");
    assert_eq!(device.poll(), None);
    hall.cluster.up();
    hall.cluster.apply(&press("press-2"));
    device.offered();
}
