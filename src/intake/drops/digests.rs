//! The digests of files in the drop directory, each taken once for as long as the file is the same.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::folder::Stamp;
use crate::inside::open_plain;
use crate::model::Digest;

const BUFFER: usize = 128 * 1024;

/// What is known of each file.
#[derive(Debug, Default)]
pub(super) struct Digests {
    known: BTreeMap<Stamp, Known>,
    pub stop: Arc<AtomicBool>,
}

#[derive(Debug)]
struct Known {
    digest: Digest,
    /// So long the file had rested when it was read.
    rested: Duration,
}

impl Digests {
    /// The digest of a file that has rested for so long. One that was read while it may still have been copied, and has
    /// rested for `enough` since, is read again: some file systems have coarse clocks.
    pub fn of(
        &mut self,
        dir: &Path,
        (name, stamp): (&str, Stamp),
        rested: Duration,
        enough: Duration,
    ) -> Result<Digest, String> {
        if let Some(known) = self.known.get(&stamp).filter(|known| known.rested >= enough || rested < enough) {
            return Ok(known.digest);
        }
        let digest = self.read(dir, name, stamp)?;
        self.known.insert(stamp, Known { digest, rested });
        Ok(digest)
    }

    /// Forgets what is no longer there.
    pub fn keep(&mut self, there: &BTreeSet<Stamp>) {
        self.known.retain(|stamp, _| there.contains(stamp));
    }

    fn read(&self, dir: &Path, name: &str, stamp: Stamp) -> Result<Digest, String> {
        let unreadable = |error: io::Error| format!("cannot be read: {error}");
        let mut file = open_plain(dir, name).map_err(|error| error.to_string())?;
        let mut hash = Sha256::new();
        let mut buffer = vec![0; BUFFER];
        let mut left = stamp.size;
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err("was not read to its end, as the site stops".into());
            }
            let read = match file.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                result => result.map_err(unreadable)?,
            };
            let Some(chunk) = buffer.get(..read).filter(|chunk| !chunk.is_empty()) else { break };
            hash.update(chunk);
            left = left.saturating_sub(chunk.len() as u64);
            if left == 0 {
                break;
            }
        }
        if Stamp::of(&file.metadata().map_err(unreadable)?) != stamp {
            return Err("changed while it was read; it is read again when it rests".into());
        }
        Ok(Digest::new(hash.finalize().into()))
    }
}
