//! The files of a simulated site: its directory, the site file, the manifests. All in a temporary directory of its own.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use sha2::{Digest as _, Sha256};

use super::cast::Role;
use super::firmware::{self, ARTIFACT, Firmware, NEW_VERSION};
use crate::authority;
use crate::cli::init;
use crate::model::{Digest, format_duration};

/// How often gateways poll: short, because nobody wants to watch real intervals.
pub const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// How long each wave is watched.
pub const SOAK: Duration = Duration::from_secs(3);
/// How long installing and confirming may take: some ten times what a slow gateway needs, since the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(12);
/// The slowest that a download may be on a busy machine.
const SLOWEST: u64 = 4 << 20;
/// Gateways per file, so that a file stays far below what the site accepts.
const GATEWAYS_PER_FILE: usize = 250;

/// The directory of a simulation, removed with this value unless it is kept.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    keep: bool,
}

impl Drop for Directory {
    fn drop(&mut self) {
        // a site that was just killed may still write for a moment
        for _ in 0..10 {
            if self.keep || fs::remove_dir_all(&self.path).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Directory {
    /// A new directory, for this user only, under the system's temporary directory.
    pub fn create(keep: bool) -> anyhow::Result<Self> {
        let base = std::env::temp_dir();
        let pid = std::process::id();
        for attempt in 0..100 {
            let path = base.join(format!("lamplighter-simulate-{pid}-{attempt}"));
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self { path, keep }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error).with_context(|| format!("cannot create {}", path.display())),
            }
        }
        anyhow::bail!("no free name for a directory under {}: remove old ones", base.display())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The site file.
    pub fn site_file(&self) -> PathBuf {
        self.path.join("site.yaml")
    }

    /// The site's log.
    pub fn log(&self) -> PathBuf {
        self.path.join("site.log")
    }

    /// Where the site keeps its state.
    pub fn state(&self) -> PathBuf {
        self.path.join("state")
    }

    /// Makes an authority and a server certificate for the site, as `init` does.
    pub fn secure(&self) -> anyhow::Result<()> {
        let dir = self.tls();
        fs::DirBuilder::new().mode(0o700).create(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
        init::make_tls(&dir, "simulated", &["127.0.0.1".into()], authority::LIFE, &mut init::Report::default())
    }

    /// The authority that gateways trust, if the site serves TLS.
    pub fn authority(&self) -> Option<PathBuf> {
        Some(self.tls().join(authority::names::AUTHORITY)).filter(|file| file.exists())
    }

    fn tls(&self) -> PathBuf {
        self.path.join("tls")
    }

    fn manifests(&self) -> PathBuf {
        self.path.join("manifests")
    }

    /// Writes everything the site needs before its first start, and tells what the firmware is.
    pub fn fill(&self, roles: &[Role], artifact_size: u64, seed: u64) -> anyhow::Result<Firmware> {
        let write = |path: PathBuf, text: String| {
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
        };
        let manifests = self.manifests();
        for dir in [&manifests, &self.state()] {
            fs::create_dir(dir).with_context(|| format!("cannot create {}", dir.display()))?;
        }
        let firmware = firmware::generate(&manifests.join("firmware.bin"), artifact_size, seed)
            .with_context(|| format!("cannot write the firmware into {}", manifests.display()))?;
        for (number, roles) in roles.chunks(GATEWAYS_PER_FILE).enumerate() {
            write(manifests.join(format!("gateways-{}.yaml", number + 1)), gateways(roles))?;
        }
        write(manifests.join("rollout.yaml"), rollout(roles, firmware))?;
        self.write_site_file(None)?;
        Ok(firmware)
    }

    /// Writes the site file; `listen` is the address bound at the first start, so that the gateways find the site again.
    pub fn write_site_file(&self, listen: Option<SocketAddr>) -> anyhow::Result<()> {
        let listen = listen.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 0)));
        let secure = match self.authority() {
            Some(_) => "tls: {certificate: tls/server.crt, key: tls/server.key}",
            None => "insecure: true",
        };
        let text = format!(
            "apiVersion: lamplighter.dev/v1alpha1
kind: SiteConfig
site: simulated
state: {}
intake:
  manifests: [{}]
devices:
  listen: {listen}
  {secure}
  pollInterval: {}
  offlineAfter: 30s
limits: {{maxInFlight: 1000}}
metrics: {{listen: off}}
",
            quoted(&self.state()),
            quoted(&self.manifests()),
            format_duration(POLL_INTERVAL),
        );
        let path = self.site_file();
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }
}

/// A path as a YAML string: JSON is YAML.
fn quoted(path: &Path) -> String {
    serde_json::Value::from(path.to_string_lossy()).to_string()
}

fn gateways(roles: &[Role]) -> String {
    roles.iter().fold(String::new(), |mut text, role| {
        let token = Digest::new(Sha256::digest(&role.token).into()).hex();
        let _ = write!(
            text,
            "---
apiVersion: lamplighter.dev/v1alpha1
kind: EdgeGateway
metadata:
  name: {}
  labels: {{site: simulated}}
spec:
  auth: {{tokenSha256: {token}}}
",
            role.name,
        );
        text
    })
}

/// How long one download may take.
fn download_deadline(size: u64) -> Duration {
    PATIENCE + Duration::from_secs(size / SLOWEST)
}

/// The longest time in which nothing at all may happen although something is still to come.
pub fn longest_lull(size: u64) -> Duration {
    download_deadline(size) + 2 * PATIENCE + SOAK + Duration::from_secs(30)
}

fn rollout(roles: &[Role], firmware: Firmware) -> String {
    let failing = roles.iter().filter(|role| role.fails()).count();
    format!(
        "apiVersion: lamplighter.dev/v1alpha1
kind: OtaRollout
metadata:
  name: simulated
spec:
  artifact:
    name: {ARTIFACT}
    version: {NEW_VERSION}
    sources: [\"file:firmware.bin\"]
    digest: {}
    sizeBytes: {}
  selector:
    matchLabels: {{site: simulated}}
  strategy:
    waves:
      - {{size: 1, soak: {soak}}}
      - {{size: \"100%\", soak: {soak}}}
    maxInFlight: \"50%\"
    # one more than will fail: the brake would end the rollout early, and is not what is shown here
    maxFailures: {}
  deadlines: {{download: {}, install: {patience}, confirm: {patience}}}
  # one: a gateway that fails does so every time, and the back-off would only take time
  attempts: 1
  confirmBy: Auto
",
        firmware.digest,
        firmware.size,
        failing + 1,
        format_duration(download_deadline(firmware.size)),
        soak = format_duration(SOAK),
        patience = format_duration(PATIENCE),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::simulate::cast::cast;

    #[test]
    fn the_directory_holds_what_a_site_needs_and_is_gone_afterwards() {
        let dir = Directory::create(false).unwrap();
        let path = dir.path().to_owned();
        let roles = cast(300, 10, 1);
        let firmware = dir.fill(&roles, 5000, 1).unwrap();
        let read = |name: &str| fs::read_to_string(path.join(name)).unwrap();
        assert_eq!(read("manifests/gateways-1.yaml").matches("kind: EdgeGateway").count(), 250);
        assert_eq!(read("manifests/gateways-2.yaml").matches("kind: EdgeGateway").count(), 50);
        let rollout: serde_json::Value = serde_yaml::from_str(&read("manifests/rollout.yaml")).unwrap();
        assert_eq!(rollout["spec"]["artifact"]["digest"], firmware.digest.to_string());
        assert_eq!(rollout["spec"]["strategy"]["maxFailures"], 31);
        dir.write_site_file(Some(([127, 0, 0, 1], 4711).into())).unwrap();
        let site: serde_json::Value = serde_yaml::from_str(&read("site.yaml")).unwrap();
        assert_eq!(site["devices"]["listen"], "127.0.0.1:4711");
        drop(dir);
        assert!(!path.exists());
    }

    #[test]
    fn a_kept_directory_stays() {
        let dir = Directory::create(true).unwrap();
        let path = dir.path().to_owned();
        drop(dir);
        assert!(path.exists());
        fs::remove_dir_all(path).unwrap();
    }
}
