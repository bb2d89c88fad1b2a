//! The main job over the API: SWUpdate itself is updated by an `OtaRollout` of a real API server that stops half-way.

use std::fs;

use crate::cluster::Cluster;
use crate::eventually;
use crate::hall::Hall;
use crate::swupdate::{Gateway, ID, rebooted};

#[test]
fn swupdate_is_updated_by_a_rollout_of_the_api_whose_server_stops_half_way_and_nothing_runs_twice() {
    let hall = Hall::following(Cluster::start(), "");
    hall.start();
    hall.until_linked();
    let dir = hall.path("machine");
    let mut gateway = Gateway::new(&dir, format!("http://{}", hall.address()), Some("1.0.0"));
    gateway.build_firmware("2.0.0", &dir);
    let image = "gateway-os-2.0.0.swu";
    hall.put(image, fs::read(dir.join(image)).unwrap());
    hall.cluster.kubectl(&["apply", "-f", dir.join("gateway.yaml").to_str().unwrap()]);
    gateway.boot();
    hall.cluster.until(&format!("egw/{ID}"), "Online", "True Polling");
    let rollout = fs::read_to_string(dir.join("rollout.yaml")).unwrap();
    hall.cluster.apply(&rollout.replace("soak: 10s", "soak: 2s"));
    hall.until_adopted("gateway-os");
    eventually("it has its order", || (hall.offers(ID) > 0).then_some(()));
    hall.cluster.down();
    assert_ne!(hall.step(ID), "Updated", "it could not say yet what it runs");

    rebooted(&mut gateway);
    hall.until_step(ID, "Updated");
    hall.until_reason("Done");
    hall.until_notice("cannot be reached");

    hall.cluster.up();
    hall.cluster.kubectl(&["wait", "--for=condition=Ready", "ota/gateway-os", "--timeout=120s"]);
    let object = hall.cluster.get("ota/gateway-os").unwrap();
    assert_eq!(object["status"]["summary"]["updated"], 1, "{object}");
    hall.cluster.until(&format!("egw/{ID}"), "Ready", "True Updated");
    let versions = hall.cluster.get(&format!("egw/{ID}")).unwrap()["status"]["versions"].clone();
    assert_eq!(versions["gateway-os"], "2.0.0");
    hall.until_linked();
    assert_eq!((gateway.installs(), hall.offers(ID)), (1, 1), "{}", gateway.log());
    assert_eq!(gateway.installed_version().as_deref(), Some("2.0.0"));
}
