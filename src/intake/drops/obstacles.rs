//! What keeps drops from counting although all of each is there: they contradict one another.

use std::collections::BTreeMap;
use std::time::Instant;

use super::folder::stem;
use super::state::{Drops, Manifest, State};
use crate::model::Digest;

impl Drops {
    /// A manifest that is being copied just now: it may say something else about what another one declares.
    pub(super) fn coming(&self, now: Instant) -> Option<String> {
        let coming = |manifest: &Manifest| match manifest.state {
            State::New => now.saturating_duration_since(manifest.since) < self.pace.rest,
            State::Read(_) => true,
            _ => false,
        };
        self.manifests.iter().find(|(_, manifest)| coming(manifest)).map(|(name, _)| name.clone())
    }

    /// Where two waiting drops say different things about the same object, nobody can say which one is meant; and two
    /// manifests with one result would write it in turns.
    pub(super) fn obstacles(&self) -> BTreeMap<String, String> {
        let mut places: BTreeMap<&str, Vec<(&str, Digest)>> = BTreeMap::new();
        for (name, contents) in self.waiting() {
            for key in &contents.keys {
                places.entry(key).or_default().push((name, contents.digest));
            }
        }
        let mut obstacles = self.shared_results();
        for (key, places) in places.into_iter().filter(|(_, places)| places.len() > 1) {
            for (name, digest) in &places {
                // of two copies the first counts, and then the second was accepted too
                let mut others =
                    places.iter().filter(|(other, theirs)| other < name || (other > name && theirs != digest));
                if let Some((other, theirs)) = others.next() {
                    let why = if theirs == digest {
                        format!("says the same as {other}")
                    } else {
                        format!("{key} is in {other} too, and says something else there; keep one of the files")
                    };
                    obstacles.entry((*name).to_owned()).or_insert(why);
                }
            }
        }
        obstacles
    }

    /// Manifests with the same name but for the ending.
    pub(super) fn shared_results(&self) -> BTreeMap<String, String> {
        let mut stems: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for name in self.manifests.keys() {
            stems.entry(stem(name).unwrap_or(name)).or_default().push(name);
        }
        let shared = stems.into_values().filter(|names| names.len() > 1);
        let told = shared.flat_map(|names| {
            let why = format!("{} would have the same result file; rename one of them", names.join(" and "));
            names.into_iter().map(move |name| (name.to_owned(), why.clone()))
        });
        told.collect()
    }
}
