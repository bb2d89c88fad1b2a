//! The firmware that is rolled out: seeded noise, written to disk piece by piece.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use fastrand::Rng;
use sha2::{Digest as _, Sha256};

use crate::model::Digest;

/// What it is called; gateways report their version under this key.
pub const ARTIFACT: &str = "gateway-os";
/// What gateways run at first.
pub const OLD_VERSION: &str = "1.0.0";
/// What they should run at the end.
pub const NEW_VERSION: &str = "2.0.0";

const PIECE: usize = 64 * 1024;

/// The firmware's identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Firmware {
    /// In bytes.
    pub size: u64,
    /// Of all of them.
    pub digest: Digest,
}

/// Writes `size` bytes that depend on `seed` alone.
pub fn generate(path: &Path, size: u64, seed: u64) -> io::Result<Firmware> {
    let mut rng = Rng::with_seed(seed);
    let mut hash = Sha256::new();
    let mut file = BufWriter::new(File::create_new(path)?);
    let mut piece = vec![0; PIECE];
    let mut left = size;
    while left > 0 {
        rng.fill(&mut piece);
        let take = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
        let bytes = piece.get(..take).unwrap_or_default();
        hash.update(bytes);
        file.write_all(bytes)?;
        left -= take as u64;
    }
    file.flush()?;
    Ok(Firmware { size, digest: Digest::new(hash.finalize().into()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_its_size_and_depends_on_the_seed_alone() {
        let dir = tempfile::tempdir().unwrap();
        let make = |name: &str, seed| generate(&dir.path().join(name), 200_001, seed).unwrap();
        let (one, same, other) = (make("1", 4), make("2", 4), make("3", 5));
        assert_eq!(one, same);
        assert_ne!(one.digest, other.digest);
        let bytes = std::fs::read(dir.path().join("1")).unwrap();
        assert_eq!(bytes.len(), 200_001);
        assert_eq!(Digest::new(Sha256::digest(bytes).into()), one.digest);
    }
}
