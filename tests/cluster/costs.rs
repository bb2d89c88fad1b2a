//! What following a cluster costs, counted.

use std::fmt::Write as _;
use std::fs;
use std::time::Instant;

use crate::cluster::Cluster;
use crate::eventually;
use crate::hall::{Hall, press, press_fw};
use crate::link::Link;

/// A site at rest whose link is counted.
fn at_rest() -> (Hall, Link) {
    let cluster = Cluster::start();
    let link = Link::to(cluster.address());
    let hall = Hall::following(cluster, "");
    let file = hall.cluster.for_a_site();
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace(&hall.cluster.address().to_string(), &link.address.to_string())).unwrap();
    hall.start();
    hall.until_linked();
    (hall, link)
}

#[test]
fn at_rest_four_watches_and_a_question_are_all_that_goes_over_the_link() {
    let (hall, link) = at_rest();
    let requests = || hall.counter("apiRequests");
    // from the end of a set of watches to the end of the next but one
    let turn = |from: u64| eventually("the watches end", || (requests() >= from + 5).then(requests));
    let begin = turn(requests());
    let (bytes, connections, writes, at) =
        (link.bytes(), link.connections(), hall.counter("apiWrites"), Instant::now());
    let end = turn(turn(begin));
    let (bytes, connections, took) = (link.bytes() - bytes, link.connections() - connections, at.elapsed());
    println!("two turns took {took:?}, {bytes} bytes and {connections} connections");
    assert_eq!((end - begin, hall.counter("apiWrites") - writes), (10, 0));
    assert!(bytes < 2 * 20_000, "{bytes}");
    assert!(connections <= 10, "{connections}");
}

#[test]
fn five_hundred_config_maps_of_100_kb_in_the_namespace_are_never_read() {
    let (hall, link) = at_rest();
    let resident = || {
        let status = fs::read_to_string(format!("/proc/{}/status", hall.pid())).unwrap();
        let found = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        found.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    hall.cluster.apply(&press("press-1"));
    hall.device("press-1");
    let (before, bytes) = (resident(), link.bytes());
    let text = "x".repeat(100_000);
    for hundred in 0..5 {
        let mut maps = String::new();
        for n in 0..100 {
            writeln!(
                maps,
                "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: map-{hundred}-{n}}}\ndata: {{text: {text}}}"
            )
            .unwrap();
        }
        hall.cluster.kubectl_with(&["create", "-f", "-"], maps.as_bytes());
    }
    let begin = Instant::now();
    hall.cluster.apply(&press_fw("2.0.0", ""));
    hall.device("press-1").offered();
    println!("from before kubectl apply to the first offer: {:?}", begin.elapsed());
    hall.kill_and_restart();
    hall.until_linked();
    hall.device("press-1").update("2.0.0");
    hall.cluster.until("ota/press-fw", "Ready", "True Done");
    let (after, bytes) = (resident(), link.bytes() - bytes);
    println!("VmRSS {before} KiB, then {after} KiB; {bytes} bytes went over the link");
    assert!(bytes < 1_000_000, "{bytes}: 50 MB lie there");
    assert!(after < before + 4_096, "{before} KiB, then {after} KiB");
}
