//! What is written into the cluster: little, right, and nobody else's.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{scope, sleep};
use std::time::Duration;

use crate::hall::{Hall, press, press_fw};
use crate::{device::Device, eventually};

#[test]
fn at_rest_nothing_is_written_also_after_a_restart() {
    let hall = Hall::with(&["press-1"]);
    hall.device("press-1").update("2.0.0");
    hall.cluster.until("ota/press-fw", "Ready", "True Done");
    hall.cluster.until("egw/press-1", "Ready", "True Updated");
    let versions = || {
        ["ota/press-fw", "egw/press-1"]
            .map(|what| hall.cluster.get(what).unwrap()["metadata"]["resourceVersion"].clone())
    };
    eventually("it comes to rest", || {
        let (before, writes) = (versions(), hall.counter("apiWrites"));
        sleep(Duration::from_secs(8));
        (before == versions() && writes == hall.counter("apiWrites")).then_some(())
    });
    let before = versions();
    hall.kill_and_restart();
    hall.until_linked();
    sleep(Duration::from_secs(8));
    assert_eq!((versions(), hall.counter("apiWrites")), (before, 0), "what the server has is not written again");
}

#[test]
fn fields_of_other_managers_are_left_as_they_are() {
    let hall = Hall::with(&["press-1"]);
    hall.until_adopted("press-fw");
    let theirs =
        r#"{"metadata":{"annotations":{"argocd.argoproj.io/tracking-id":"x"},"finalizers":["example.com/theirs"]}}"#;
    hall.cluster.kubectl(&["patch", "ota/press-fw", "--type=merge", "-p", theirs]);
    hall.until_adopted("press-fw");
    hall.device("press-1").update("2.0.0");
    hall.cluster.until("ota/press-fw", "Ready", "True Done");
    let object = hall.cluster.get("ota/press-fw").unwrap();
    assert_eq!(object["metadata"]["annotations"]["argocd.argoproj.io/tracking-id"], "x");
    let finalizers = object["metadata"]["finalizers"].to_string();
    assert!(finalizers.contains("example.com/theirs"), "{finalizers}");
    let managers = object["metadata"]["managedFields"].as_array().unwrap();
    let ours: Vec<_> = managers.iter().filter(|entry| entry["manager"] == "lamplighter").collect();
    assert!(ours.iter().all(|entry| entry["operation"] == "Apply"), "{ours:?}");
    assert!(ours.iter().all(|entry| entry["fieldsV1"]["f:spec"].is_null()), "{ours:?}");
}

/// Ends the gateways' threads.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn five_hundred_gateways_cost_at_most_four_requests_each() {
    const GATEWAYS: u64 = 500;
    let hall = Hall::new();
    let names: Vec<String> = (0..GATEWAYS).map(|n| format!("press-{n}")).collect();
    let gateways: String = names.iter().map(|name| press(name) + "---\n").collect();
    hall.cluster.kubectl_with(&["create", "-f", "-"], gateways.as_bytes());
    eventually("all gateways are known", || (hall.ask("/v1/status")["gateways"]["total"] == GATEWAYS).then_some(()));
    let wide = press_fw("2.0.0", "").replace("maxInFlight: 2", "maxInFlight: 60");
    hall.cluster.apply(&wide);
    hall.until_adopted("press-fw");
    let (requests, writes) = (hall.counter("apiRequests"), hall.counter("apiWrites"));
    let address = hall.address();
    let done = AtomicBool::new(false);
    scope(|scope| {
        let done = &done;
        let _whatever_happens = Ends(done);
        for names in names.chunks(25) {
            scope.spawn(move || {
                let devices: Vec<Device<'_>> = names.iter().map(|name| Device::at(address, name)).collect();
                for device in &devices {
                    device.poll();
                }
                // whoever is updated goes on polling, or it counts as fallen silent
                while !done.load(Ordering::Relaxed) {
                    for device in &devices {
                        let Some(order) = device.poll().and_then(|href| device.try_fetch_at(&href)) else { continue };
                        device.download(&order, u64::MAX);
                        assert_eq!(device.feedback(&order, "closed", "success"), 200);
                        device.attributes(&serde_json::json!({"fw": "2.0.0"}));
                    }
                    sleep(Duration::from_millis(500));
                }
            });
        }
        hall.cluster.until("ota/press-fw", "Ready", "True Done");
        let ready = "jsonpath={.items[*].status.conditions[?(@.type==\"Ready\")].reason}";
        // five writes a second take their time
        for many in [200, 400, 500] {
            eventually("so many gateways say so", || {
                (hall.cluster.kubectl(&["get", "egw", "-o", ready]).matches("Updated").count() >= many).then_some(())
            });
        }
    });
    let (requests, writes) = (hall.counter("apiRequests") - requests, hall.counter("apiWrites") - writes);
    println!("500 gateways: {requests} requests to the API server, {writes} of them writes");
    assert!(requests <= 4 * GATEWAYS, "{requests}");
}
