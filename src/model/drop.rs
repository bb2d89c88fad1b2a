//! What a person put into the drop directory, and what was decided about it.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::digest::hex;
use super::{Digest, Identity, Intent, Uid};

/// How an object was declared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeclaredBy {
    /// By a manifest: it counts as long as the manifest says so.
    #[default]
    Manifest,
    /// By a drop: it stays, whatever becomes of the drop's files.
    Drop,
    /// By an object of the API server that has this uid. It stays as it was last seen while there is no link.
    Api(Uid),
    /// By nobody: a person or the site file let it in. It stays, until a manifest or a drop declares it.
    Accepted,
}

impl DeclaredBy {
    /// For serde: what needs no field.
    pub fn is_manifest(&self) -> bool {
        *self == Self::Manifest
    }

    /// By an object of the API server?
    pub fn is_api(&self) -> bool {
        matches!(self, Self::Api(_))
    }

    /// By something that can be edited, and that a drop must not contradict?
    pub fn is_standing(&self) -> bool {
        self.is_manifest() || self.is_api()
    }
}

/// What the object is called by which an API server shows a rollout that came by a drop: `drop-press-fw-1a2b3c4d`. Another
/// drop, or the same at another site, is another object.
pub fn object_of_drop(site: &str, rollout: &Identity, manifest: &Digest) -> Identity {
    let name: String = rollout.0.chars().take(LONGEST_NAME).collect();
    Identity(format!("{PREFIX}{}-{}", name.trim_end_matches(['.', '-']), mark_of_drop(site, manifest)))
}

/// Is this the name of the object of this drop?
pub fn is_object_of_drop(name: &Identity, site: &str, manifest: &Digest) -> bool {
    name.0.starts_with(PREFIX) && name.0.ends_with(&format!("-{}", mark_of_drop(site, manifest)))
}

const PREFIX: &str = "drop-";
/// Names of objects have 253 characters at most.
const LONGEST_NAME: usize = 200;

fn mark_of_drop(site: &str, manifest: &Digest) -> String {
    let hash = Sha256::new().chain_update(site).chain_update([0]).chain_update(manifest.bytes()).finalize();
    hex(hash.get(..4).unwrap_or_default())
}

/// A manifest in the drop directory, as a whole: all of it counts, or nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Dropped {
    /// Its file name.
    pub file: String,
    /// The digest of the manifest's bytes; none if they could not be read.
    pub digest: Option<Digest>,
    /// All its objects, or why it is refused unread.
    pub content: Result<Vec<Intent>, String>,
}

/// Why a drop cannot be accepted beside what is declared already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contradiction {
    /// Which of the drop's objects, from 0.
    pub object: u32,
    /// What stands against it.
    pub why: Against,
}

/// What stands against an object of a drop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Against {
    /// A manifest or the API declares it.
    Declared,
    /// A manifest or the API declares another gateway with this controller id.
    ControllerId,
    /// Another service has the same unit.
    Unit,
    /// A rollout has another size for the same digest.
    Size,
}

/// What is wrong and what to do: goes behind the object's name.
impl fmt::Display for Against {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Declared => {
                "is declared in a manifest directory or in the API server of this site; use another name, or change it there"
            }
            Self::ControllerId => {
                "has a controller id that a gateway in a manifest directory or in the API server of this site has; correct spec.controllerId, or change it there"
            }
            Self::Unit => "spec.restart.unit: is the unit of another service of this site; correct it, or change that one",
            Self::Size => {
                "spec.artifact.sizeBytes: is another one than a rollout of this site has for the same digest; correct the wrong one"
            }
        })
    }
}
