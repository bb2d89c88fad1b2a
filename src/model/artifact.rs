//! Firmware files.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Digest, Version};

/// What makes two orders the same order: an artifact's name, version and digest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactKey {
    /// The key under which gateways report their version of it.
    pub name: String,
    /// The version that gateways should come back with.
    pub version: Version,
    /// The bytes.
    pub digest: Digest,
}

impl fmt::Display for ArtifactKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.version)
    }
}

/// An artifact, checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactSpec {
    /// Name, version and digest.
    #[serde(flatten)]
    pub key: ArtifactKey,
    /// The exact size in bytes, at least 1; also the hard limit while it is fetched.
    pub size: u64,
    /// Where to get it, tried in order; never empty.
    pub sources: Vec<Source>,
}

impl ArtifactSpec {
    /// The file name that devices see: the name of the first source.
    pub fn file_name(&self) -> &str {
        match self.sources.first() {
            Some(Source::File { name, .. }) => name,
            None => &self.key.name,
        }
    }
}

/// A place to get an artifact from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Source {
    /// A file beside the manifest that names it.
    File {
        /// The manifest's directory.
        dir: PathBuf,
        /// A plain file name in it.
        name: String,
    },
}

/// The hashes that DDI clients ask for beside the digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sums {
    /// 40 lower-case hex digits; also the artifact's `ETag`.
    pub sha1: String,
    /// 32 lower-case hex digits.
    pub md5: String,
}
