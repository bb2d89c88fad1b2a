//! `rauc-hawkbit`, another real client (b.13): updated, and refusing whatever it is told to drop.

use std::fmt::Write as _;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use sha2::{Digest, Sha256};

use crate::site::Site;
use crate::{ends, slow, until};

const ID: &str = "rauc-1";
const TOKEN: &str = "s3cret";

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    })
}

/// The client, and the directory that plays its flash.
struct Gateway {
    dir: PathBuf,
    process: Child,
}

impl Gateway {
    fn boot(dir: &Path, site: SocketAddr) -> Self {
        let dir = dir.join("gateway");
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("version"), "1").unwrap();
        let log = fs::File::create(dir.join("log")).unwrap();
        let process = Command::new(Path::new(env!("CARGO_TARGET_TMPDIR")).join("rauc-hawkbit/bin/python"))
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real/rauc_gateway.py"))
            .args([&site.to_string(), ID, TOKEN])
            .arg(&dir)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .expect("tests/real/install.sh installs it");
        Self { dir, process }
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.dir.join(name)).unwrap_or_default()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Declares the gateway, and a version for it.
fn order(site: &Site, version: &str, bytes: usize, more: &str) {
    let dir = site.manifests();
    let bundle = format!("{version}\n{}", "x".repeat(bytes));
    fs::write(dir.join("bundle.raucb"), &bundle).unwrap();
    let head = "apiVersion: lamplighter.dev/v1alpha1\nkind:";
    let gateway = format!(
        "{head} EdgeGateway\nmetadata: {{name: {ID}, labels: {{kind: rauc}}}}\nspec: {{auth: {{tokenSha256: {}}}}}\n",
        sha256(TOKEN.as_bytes())
    );
    let rollout = format!(
        "{head} OtaRollout\nmetadata: {{name: fw}}\nspec:\n  artifact: {{name: firmware, version: \"{version}\", \
         sources: [\"file:bundle.raucb\"], digest: sha256:{}, sizeBytes: {}}}\n  selector: {{matchLabels: {{kind: rauc}}}}\n{more}",
        sha256(bundle.as_bytes()),
        bundle.len()
    );
    fs::write(dir.join("all.yaml"), format!("{gateway}---\n{rollout}")).unwrap();
}

async fn reaches(site: &Site, step: &str) {
    until(async || (site.step(ID).await.as_deref() == Some(step)).then_some(())).await;
}

#[tokio::test]
async fn rauc_hawkbit_from_pypi_is_updated_end_to_end() {
    ends(async {
        let keep = tempfile::tempdir().unwrap();
        let mut site = Site::start(keep.path(), "1s").await;
        let gateway = Gateway::boot(keep.path(), site.devices());
        for version in ["2", "3"] {
            order(&site, version, 100_000, "");
            until(async || gateway.read("installs").lines().any(|line| line == version).then_some(())).await;
            reaches(&site, "Updated").await;
        }
        assert_eq!(gateway.read("installs"), "2\n3\n", "each once. {}", gateway.read("log"));
        site.stop().await;
    })
    .await;
}

#[tokio::test]
async fn rauc_hawkbit_refuses_to_drop_an_order_and_never_gets_it_whole() {
    ends(async {
        let keep = tempfile::tempdir().unwrap();
        let site = Site::start(keep.path(), "1s").await;
        let gateway = Gateway::boot(keep.path(), slow::link(site.devices()).await);
        order(&site, "2", slow::LONG / 4, "");
        reaches(&site, "Downloading").await;
        order(&site, "2", slow::LONG / 4, "  cancelled: true\n");
        reaches(&site, "Skipped").await;
        assert!(gateway.read("log").contains("refuses to drop"), "{}", gateway.read("log"));
        assert_eq!(gateway.read("installs"), "");
        order(&site, "3", 100_000, "");
        reaches(&site, "Updated").await;
        assert_eq!(gateway.read("installs"), "3\n");
    })
    .await;
}
