//! The site on another node with an empty disk: it is rebuilt from the API and from what gateways report.

use crate::eventually;
use crate::hall::{Hall, follow, fw};
use crate::site::Site;

#[test]
fn on_an_empty_disk_it_is_rebuilt_from_the_api_and_from_what_gateways_report_without_a_second_install() {
    let Hall { site: first, cluster } = {
        let hall = Hall::with(&["press-1", "press-2"]);
        let devices = ["press-1", "press-2"].map(|name| hall.device(name));
        for device in &devices {
            device.report("1.0.0");
        }
        let canary =
            eventually("a gateway is offered its update", || devices.iter().position(|device| device.poll().is_some()));
        devices[canary].update("2.0.0");
        hall.until_step(["press-1", "press-2"][canary], "Updated");
        hall.until_adopted("press-fw");
        hall.cli(&["hold", "press-2"]).good();
        hall
    };
    let updated = ["press-1", "press-2"].into_iter().find(|name| first.step(name) == "Updated").unwrap();
    let other = if updated == "press-1" { "press-2" } else { "press-1" };
    first.kill();

    let site = Site::new();
    follow(&site, &cluster.for_a_site(), "");
    site.put("fw.bin", fw());
    let hall = Hall { site, cluster };
    hall.start();
    hall.until_linked();
    // what was held and paused is not known any more
    hall.cluster.until("ota/press-fw", "Stalled", "True StoreLost");
    let device = hall.device(updated);
    device.report("2.0.0");
    hall.device(other).report("1.0.0");
    assert_eq!((device.poll(), hall.device(other).poll()), (None, None), "nothing is offered before a person says so");

    hall.cli(&["resume"]).good();
    hall.until_step(updated, "Skipped AlreadyInstalled");
    assert_eq!(hall.journalled(updated, "Fetched"), 0, "it has the version: nothing is installed twice");
    hall.device(other).update("2.0.0");
    hall.until_step(other, "Updated");
    hall.cluster.kubectl(&["wait", "--for=condition=Ready", "ota/press-fw", "--timeout=120s"]);
    hall.cluster.until(&format!("egw/{updated}"), "Ready", "True AlreadyInstalled");
    hall.cluster.until(&format!("egw/{other}"), "Ready", "True Updated");
    assert_eq!(device.poll(), None);
}
