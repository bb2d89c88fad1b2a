//! What kind of gateway it is, and what becomes of its updates.

use std::collections::BTreeMap;

use crate::model::{Client, ControllerId, Digest};

/// A gateway's character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Character {
    /// Whose habits it has: SWUpdate's, rhu's or Zephyr's.
    pub client: Client,
    /// It reports the version that it runs.
    pub reports: bool,
    /// What becomes of its update.
    pub fate: Fate,
}

/// What becomes of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It works.
    Good,
    /// So many installs fail, then one works.
    Fails(u8),
    /// It installs and comes back with the old version.
    FallsBack,
    /// It takes the order and is never heard of again.
    SilentAfterFetch,
    /// It downloads and is never heard of again.
    SilentAfterDownload,
    /// It is never there.
    NeverPolls,
    /// It polls and lets every offer lie.
    NeverFetches,
    /// It works, and its downloads take a hundred times as long.
    Slow,
    /// Its downloads are slow and cut so many times; it resumes.
    Cut(u8),
    /// It reports success without downloading anything.
    Lies,
    /// It posts ids that nobody gave it, then works.
    Strange,
    /// It refuses every order.
    Rejects,
    /// It works, and says everything twice, late and out of order.
    Noisy,
    /// It installs as it reads, as RAUC can: some parts of the artifact, the end first, in many small requests.
    Streams,
}

/// The part that a gateway plays.
#[derive(Debug, Clone)]
pub struct Role {
    /// How it names itself.
    pub id: ControllerId,
    /// What it is like.
    pub character: Character,
    /// What it runs at first.
    pub runs: String,
    /// The attribute under which it reports that.
    pub key: String,
    /// What it reports beside that.
    pub attributes: BTreeMap<String, String>,
    /// Its fate meets orders of this version only; with others all goes well.
    pub only: Option<String>,
    /// The files that are for its hardware; any, if none are named.
    pub files: Vec<Digest>,
}

impl Role {
    /// Is a file for its hardware?
    pub(super) fn takes(&self, digest: &Digest) -> bool {
        self.files.is_empty() || self.files.contains(digest)
    }
}
