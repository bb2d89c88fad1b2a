//! What lies in the drop directory at one moment, by name, without opening anything.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::MANIFEST_SUFFIXES;
use crate::inside::special;
use crate::intake::directory::in_words;

/// With more names it is not read at all, as any part of it would be by chance.
const MOST_ENTRIES: usize = 20_000;
/// What a result's name ends with.
pub(super) const RESULT_SUFFIX: &str = ".status.json";

/// Tells one content of a file from another without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stamp {
    dev: u64,
    ino: u64,
    pub size: u64,
    /// With what a copy that keeps its time cannot keep.
    times: [i64; 4],
}

impl Stamp {
    pub fn of(metadata: &Metadata) -> Self {
        Self {
            dev: metadata.dev(),
            ino: metadata.ino(),
            size: metadata.len(),
            times: [metadata.mtime(), metadata.mtime_nsec(), metadata.ctime(), metadata.ctime_nsec()],
        }
    }
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry {
    File(Stamp),
    /// In words, such as `a link`.
    Special(&'static str),
}

/// A drop directory's names.
#[derive(Debug, Default)]
pub(super) struct Folder {
    pub entries: BTreeMap<String, Entry>,
    /// Names that nobody could write into a manifest, as far as they can be shown.
    pub strange: Vec<String>,
}

impl Folder {
    /// Lists it; hidden names are left out.
    pub fn read(dir: &Path) -> Result<Self, String> {
        let mut folder = Self::default();
        let unreadable = |error| format!("cannot be read: {}", in_words(&error));
        for (index, entry) in std::fs::read_dir(dir).map_err(unreadable)?.enumerate() {
            if index == MOST_ENTRIES {
                return Err(format!("has more than {MOST_ENTRIES} entries; take out what is no drop"));
            }
            let name = entry.map_err(unreadable)?.file_name();
            match name.into_string() {
                Ok(name) if name.starts_with('.') => {}
                Ok(name) if !name.contains(char::is_control) => {
                    // one that vanished meanwhile is not there
                    if let Ok(metadata) = std::fs::symlink_metadata(dir.join(&name)) {
                        let file = || Entry::File(Stamp::of(&metadata));
                        folder.entries.insert(name, special(&metadata).map_or_else(file, Entry::Special));
                    }
                }
                Ok(name) => folder.strange.push(name.replace(char::is_control, "\u{fffd}")),
                Err(name) => folder.strange.push(name.to_string_lossy().replace(char::is_control, "\u{fffd}")),
            }
        }
        folder.strange.sort();
        Ok(folder)
    }

    /// The names that manifests have, in order.
    pub fn manifests(&self) -> impl Iterator<Item = (&str, Entry)> {
        let manifests = self.entries.iter().filter(|(name, _)| stem(name).is_some());
        manifests.map(|(name, entry)| (name.as_str(), *entry))
    }

    /// Those of all plain files.
    pub fn stamps(&self) -> BTreeSet<Stamp> {
        let stamps = self.entries.values().filter_map(|entry| match entry {
            Entry::File(stamp) => Some(*stamp),
            Entry::Special(_) => None,
        });
        stamps.collect()
    }

    /// Plain files of a size.
    pub fn of_size(&self, size: u64) -> impl Iterator<Item = (&str, Stamp)> {
        self.entries.iter().filter_map(move |(name, entry)| match entry {
            Entry::File(stamp) if stamp.size == size => Some((name.as_str(), *stamp)),
            _ => None,
        })
    }
}

/// A manifest's name without its ending, in upper or lower case, as sticks have it; none for what is no manifest.
pub(super) fn stem(name: &str) -> Option<&str> {
    let lower = name.to_ascii_lowercase();
    if lower.ends_with(RESULT_SUFFIX) {
        return None;
    }
    let suffix = MANIFEST_SUFFIXES.iter().find(|suffix| lower.ends_with(*suffix))?;
    name.get(..name.len() - suffix.len())
}
