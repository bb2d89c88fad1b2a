//! A rollout is called off while a real SWUpdate downloads.

use std::fs;
use std::path::PathBuf;

use crate::gateway::{self, Gateway};
use crate::site::Site;
use crate::{ends, slow, until};

async fn reaches(site: &Site, step: &str) {
    until(async || (site.step(gateway::ID).await.as_deref() == Some(step)).then_some(())).await;
}

#[tokio::test]
async fn swupdate_drops_a_cancelled_download_and_takes_the_next_version() {
    ends(async {
        let keep = tempfile::tempdir().unwrap();
        let mut site = Site::start(keep.path(), "2s").await;
        let link = slow::link(site.devices()).await;
        let mut gateway = Gateway::new(keep.path(), format!("http://{link}"), Some("1.0.0"));
        gateway.boot();
        gateway.build_large_firmware("2.0.0", slow::LONG, &site.manifests());
        reaches(&site, "Downloading").await;

        let manifest: PathBuf = site.manifests().join("rollout.yaml");
        let declared = fs::read_to_string(&manifest).unwrap();
        fs::write(&manifest, format!("{declared}  cancelled: true\n")).unwrap();
        reaches(&site, "Skipped").await;
        // SWUpdate 2022.12 breaks off, and reports that as a failed install before it answers to the cancellation
        let own_word = ["Cancelled: it failed", "Cancelled: the gateway dropped it"];
        assert!(own_word.iter().any(|word| site.log().contains(word)), "{}", site.log());
        assert_eq!(gateway.installs(), 0, "{}", gateway.log());

        // it is not locked up
        gateway.build_firmware("3.0.0", &site.manifests());
        gateway.reboot_after_installing().await;
        reaches(&site, "Updated").await;
        assert_eq!((gateway.installs(), gateway.installed_version().as_deref()), (1, Some("3.0.0")));
        site.stop().await;
    })
    .await;
}
