//! The sequence in which members are offered.

use sha2::{Digest as _, Sha256};

/// A member's place among those of an artifact and version, by its controller id: the smallest is offered first. It differs
/// from artifact to artifact, so that it isn't always the same gateway that goes first, and it is the same wherever it is
/// computed.
pub fn order_key(artifact: &str, version: &str, gateway: &str) -> u64 {
    let mut hash = Sha256::new();
    for part in [artifact, version, gateway] {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    hash.finalize().iter().take(8).fold(0, |key, byte| key << 8 | u64::from(*byte))
}
