//! A look at the drop directory: what lies in it is listed, and the manifests that rest are read.

use std::time::Instant;

use super::DropLine;
use super::folder::{Entry, Folder, stem};
use super::manifest::{self, Unread};
use super::state::{Drops, Manifest, State};

/// The most manifests that are looked at.
const MOST_MANIFESTS: usize = 1_000;
/// So many drops that were refused, or went away while they waited, are still shown.
const MOST_SHOWN: usize = 16;
/// So many strange names are shown.
const MOST_STRANGE: usize = 4;

impl Drops {
    /// Lists the directory and reads the manifests that rest.
    pub(super) fn scan(&mut self, now: Instant) -> Folder {
        self.about.clear();
        let folder = match Folder::read(&self.dir) {
            Ok(folder) => folder,
            Err(why) => {
                self.say_about("Unreadable", self.dir.display().to_string(), why);
                return Folder::default();
            }
        };
        self.forget_missing(&folder);
        let there = folder.stamps();
        self.digests.keep(&there);
        self.since.retain(|stamp, _| there.contains(stamp));
        let count = folder.manifests().count();
        for (name, entry) in folder.manifests().take(MOST_MANIFESTS) {
            self.look_at(name, entry, now);
        }
        if count > MOST_MANIFESTS {
            let why = format!(
                "has {count} manifests, and those after the first {MOST_MANIFESTS} are not read; take out those that were accepted"
            );
            self.say_about("Ignored", self.dir.display().to_string(), why);
        }
        for name in folder.strange.iter().take(MOST_STRANGE) {
            let why = "has a name that is not UTF-8 or has control characters, so it is not looked at; rename it";
            self.say_about("Ignored", name.clone(), why.into());
        }
        folder
    }

    fn say_about(&mut self, state: &str, file: String, message: String) {
        self.about.push(DropLine { file, state: state.into(), message });
    }

    /// Taking files away changes nothing; what waited is remembered, so that a person sees that it never counted.
    fn forget_missing(&mut self, folder: &Folder) {
        let gone: Vec<String> =
            self.manifests.keys().filter(|name| !folder.entries.contains_key(*name)).cloned().collect();
        for name in gone {
            let Some(manifest) = self.manifests.remove(&name) else { continue };
            if matches!(manifest.state, State::Read(_) | State::Waiting(_)) && !manifest.message.is_empty() {
                let message = format!("was taken away while it waited, so nothing of it counts ({})", manifest.message);
                self.remember(DropLine { file: name.clone(), state: "Waiting".into(), message });
            }
            let stem = stem(&name).unwrap_or(&name);
            if manifest.written.is_some()
                && !self.manifests.keys().any(|other| super::folder::stem(other) == Some(stem))
            {
                super::results::remove(&self.dir, stem);
            }
        }
    }

    pub(super) fn remember(&mut self, line: DropLine) {
        self.past.retain(|past| past.file != line.file);
        if self.past.len() == MOST_SHOWN {
            self.past.remove(0);
        }
        self.past.push(line);
    }

    fn look_at(&mut self, name: &str, entry: Entry, now: Instant) {
        let known = self.manifests.get(name).is_some_and(|manifest| manifest.entry == entry);
        if !known {
            self.past.retain(|past| past.file != name);
            let written = self.manifests.remove(name).and_then(|manifest| manifest.written);
            let manifest = Manifest { entry, since: now, state: State::New, message: String::new(), written };
            self.manifests.insert(name.to_owned(), manifest);
        }
        let (dir, interval, pace) = (self.dir.clone(), self.poll_interval, self.pace);
        let Some(manifest) = self.manifests.get_mut(name) else { return };
        let rested = now.saturating_duration_since(manifest.since);
        if rested < pace.rest || !matches!(manifest.state, State::New) {
            return;
        }
        let read = match entry {
            Entry::Special(what) => {
                Err(Unread::Refused(None, format!("is {what}, not a plain file; copy the file itself")))
            }
            Entry::File(_) => manifest::read(&dir, name, interval),
        };
        match read {
            Ok((digest, intents)) => manifest.state = State::Read(manifest::contents(digest, &intents)),
            Err(Unread::Yet(why)) => manifest.message = why,
            Err(Unread::Refused(digest, why)) if rested >= pace.bad_after => {
                manifest.state = State::Bad(digest, why);
            }
            Err(Unread::Refused(_, why)) => manifest.message = format!("{why}; it may still be copying"),
        }
    }
}
