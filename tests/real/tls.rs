//! SWUpdate over TLS: it trusts the authority that `lamplighter init` made, and signs in with its derived token.

use std::fs;

use tokio::time::timeout;

use crate::gateway::{self, Gateway};
use crate::site::Site;
use crate::{PATIENCE, ends, until};

#[tokio::test]
async fn a_gateway_that_trusts_the_sites_authority_is_updated_over_tls() {
    ends(async {
        let dir = tempfile::tempdir().unwrap();
        let mut site = Site::start_secured(dir.path(), "2s").await;
        let mut gateway = Gateway::new(dir.path(), format!("https://{}", site.devices()), Some("1.0.0"));
        gateway.environment =
            vec![("SAMPLE_CA", site.authority().display().to_string()), ("SAMPLE_TOKEN", site.token(gateway::ID))];
        let outcome = timeout(PATIENCE, update(&site, &mut gateway)).await;
        assert!(outcome.is_ok(), "== lamplighter\n{}\n== swupdate\n{}", site.log(), gateway.log());
        assert_eq!(gateway.installs(), 1, "{}", gateway.log());
        assert_eq!(gateway.installed_version().as_deref(), Some("2.0.0"));
        site.stop().await;
    })
    .await;
}

/// First contact, an order by manifest, download, installation, reboot, `Updated`; then once more, over new connections.
async fn update(site: &Site, gateway: &mut Gateway) {
    gateway.boot();
    gateway.build_firmware("2.0.0", &site.manifests());
    // its token is the derived one, so its manifest names none
    let manifest = site.manifests().join("gateway.yaml");
    let text = fs::read_to_string(&manifest).unwrap();
    let without: String = text
        .lines()
        .filter(|line| !line.contains("auth:") && !line.contains("tokenSha256"))
        .fold(String::new(), |text, line| text + line + "\n");
    fs::write(manifest, without).unwrap();
    gateway.reboot_after_installing().await;
    until(async || (site.step(gateway::ID).await.as_deref() == Some("Updated")).then_some(())).await;
}

#[tokio::test]
async fn a_gateway_that_trusts_another_authority_gets_nowhere() {
    ends(async {
        let dir = tempfile::tempdir().unwrap();
        let mut site = Site::start_secured(dir.path(), "2s").await;
        let other = Site::start_secured(&dir.path().join("other"), "2s").await;
        let mut gateway = Gateway::new(dir.path(), format!("https://{}", site.devices()), Some("1.0.0"));
        gateway.environment =
            vec![("SAMPLE_CA", other.authority().display().to_string()), ("SAMPLE_TOKEN", site.token(gateway::ID))];
        gateway.boot();
        let counted = until(async || site.handshakes_and_requests().await.filter(|(failed, _)| *failed > 0)).await;
        assert_eq!(counted.1, 0, "it says nothing to a site that it does not trust: {}", gateway.log());
        site.stop().await;
    })
    .await;
}
