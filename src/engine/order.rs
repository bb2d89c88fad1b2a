//! The order in which members are offered.

use sha2::{Digest as _, Sha256};

use crate::model::{ArtifactKey, ControllerId};

/// A member's place: the smallest is offered first. It differs from artifact to artifact, so that it isn't always the same
/// gateway that goes first, and it is the same wherever it is computed.
pub fn order_key(artifact: &ArtifactKey, gateway: &ControllerId) -> u64 {
    let mut hash = Sha256::new();
    for part in [artifact.name.as_str(), artifact.version.as_str(), gateway.as_str()] {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    hash.finalize().iter().take(8).fold(0, |key, byte| key << 8 | u64::from(*byte))
}
