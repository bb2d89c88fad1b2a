//! Firmware files.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Digest, Source, Version};

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
    /// The file name that devices see: that of the first source, or the artifact's own.
    pub fn file_name(&self) -> &str {
        self.sources.first().and_then(Source::file_name).unwrap_or(&self.key.name)
    }
}

/// The hashes that DDI clients ask for beside the digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sums {
    /// 40 lower-case hex digits; also the artifact's `ETag`.
    pub sha1: String,
    /// 32 lower-case hex digits.
    pub md5: String,
}
