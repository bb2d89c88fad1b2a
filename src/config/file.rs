//! Where a site's configuration comes from: a file, and flags that take the place of what it says.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::{ConfigError, SiteConfig, base, checked, parse, read_bounded};
use crate::resources::documents;

/// A site file, and the flags that go with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteFile {
    /// The file.
    pub path: PathBuf,
    /// What counts instead of what it says, also when it changes.
    pub flags: Flags,
}

/// What counts instead of what a site file says. Paths are absolute.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flags {
    /// Instead of `state`.
    pub state: Option<PathBuf>,
    /// Instead of `intake.manifests`, unless it is empty.
    pub manifests: Vec<PathBuf>,
    /// Instead of `intake.drops`.
    pub drops: Option<PathBuf>,
    /// Instead of `devices.listen`.
    pub listen: Option<SocketAddr>,
    /// Instead of `kubernetes.kubeconfig`, and to follow the server that it names.
    pub kubeconfig: Option<PathBuf>,
    /// Follow no API server, whatever the file says.
    pub no_kube: bool,
}

impl SiteFile {
    /// Reads and checks it. Reads a file: it blocks.
    pub fn load(&self) -> Result<SiteConfig, ConfigError> {
        self.check(&self.bytes()?)
    }

    /// Where it says that the state is, whatever else in it is wrong. It blocks.
    pub fn state(&self) -> Option<PathBuf> {
        let bytes = self.bytes().ok()?;
        let document = documents(&bytes).next()?.ok()?;
        Some(base(&self.path).join(document.value.get("state")?.as_str()?))
    }

    /// What is in the file. It blocks.
    pub fn bytes(&self) -> Result<Vec<u8>, ConfigError> {
        read_bounded(&self.path).map_err(|why| ConfigError::Unreadable { file: self.path.clone(), why })
    }

    /// Checks what is in the file, with the flags in place.
    pub fn check(&self, bytes: &[u8]) -> Result<SiteConfig, ConfigError> {
        let mut typed = parse(bytes, &self.path)?;
        let text = |path: &Path| path.display().to_string();
        if let Some(state) = &self.flags.state {
            typed.state = text(state);
        }
        if !self.flags.manifests.is_empty() {
            typed.intake.manifests = self.flags.manifests.iter().map(|dir| text(dir)).collect();
        }
        if let Some(drops) = &self.flags.drops {
            typed.intake.drops = Some(text(drops));
        }
        if let Some(listen) = self.flags.listen {
            typed.devices.listen = listen.to_string();
        }
        if self.flags.no_kube {
            typed.kubernetes.get_or_insert_default().enabled = Some(false);
        } else if let Some(kubeconfig) = &self.flags.kubeconfig {
            let kubernetes = typed.kubernetes.get_or_insert_default();
            (kubernetes.kubeconfig, kubernetes.enabled) = (Some(text(kubeconfig)), Some(true));
        }
        checked(typed, &self.path)
    }
}
