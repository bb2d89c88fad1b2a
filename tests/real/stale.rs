//! A real SWUpdate that is started for the report after an update (`-c 2`) while the order before it is another one: by a boot
//! loader that remembers an update of long ago, or because the order was replaced meanwhile.

use tokio::time::timeout;

use crate::gateway::{self, Gateway};
use crate::site::Site;
use crate::{PATIENCE, ends, until};

#[tokio::test]
async fn a_success_on_an_order_that_swupdate_never_fetched_is_none_and_it_is_updated_all_the_same() {
    stale(Some("1.0.0")).await;
}

#[tokio::test]
async fn the_same_of_a_gateway_whose_word_is_all_there_is() {
    stale(None).await;
}

async fn stale(version: Option<&str>) {
    ends(async {
        let keep = tempfile::tempdir().unwrap();
        // an offer waits two intervals for a gateway that is switched off; SWUpdate polls each second whatever it is told
        let mut site = Site::start(keep.path(), "30s").await;
        let mut gateway = Gateway::new(keep.path(), format!("http://{}", site.devices()), version);
        let outcome = timeout(PATIENCE, async {
            gateway.boot();
            gateway::declare(&site.manifests());
            until(async || site.hears(gateway::ID).await.then_some(())).await;
            gateway.power_off();
            gateway.build_firmware("2.0.0", &site.manifests());
            reaches(&site, "Offered").await;
            let before = site.order(gateway::ID).await;

            gateway.boot_after_update();
            gateway.reboot_after_installing().await;
            reaches(&site, "Updated").await;
            before
        })
        .await;
        let story = || format!("== lamplighter\n{}\n== swupdate\n{}", site.log(), gateway.log());
        let before = outcome.unwrap_or_else(|_| panic!("the update did not end. {}", story()));
        assert!(site.log().contains("SuccessWithoutDownload"), "{}", story());
        assert_ne!(site.order(gateway::ID).await, before, "{}", story());
        assert_eq!((gateway.installs(), gateway.installed_version().as_deref()), (1, Some("2.0.0")), "{}", story());
        site.stop().await;
    })
    .await;
}

async fn reaches(site: &Site, step: &str) {
    until(async || (site.step(gateway::ID).await.as_deref() == Some(step)).then_some(())).await;
}
