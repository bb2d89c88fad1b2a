//! What is known of the drop directory from one look to the next. Its functions block.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::digests::Digests;
use super::folder::{Entry, Stamp};
use super::manifest::{self, Contents};
use super::{DropLine, Pace};
use crate::model::{ArtifactSpec, Digest, Dropped, Identity};

/// The drop directory of a site.
#[derive(Debug)]
pub struct Drops {
    pub(super) dir: PathBuf,
    pub(super) poll_interval: Duration,
    pub(super) pace: Pace,
    pub(super) digests: Digests,
    pub(super) since: BTreeMap<Stamp, Instant>,
    pub(super) manifests: BTreeMap<String, Manifest>,
    /// About the directory itself.
    pub(super) about: Vec<DropLine>,
    /// What is no longer there, but was not forgotten.
    pub(super) past: Vec<DropLine>,
    pub(super) unwritable: bool,
}

/// A manifest in the directory.
#[derive(Debug)]
pub(super) struct Manifest {
    pub entry: Entry,
    pub since: Instant,
    pub state: State,
    /// For what it waits, or what became of it.
    pub message: String,
    /// Its result, as it was written last.
    pub written: Option<String>,
}

/// How far a manifest is.
#[derive(Debug)]
pub(super) enum State {
    /// Not read yet: it may still be copied.
    New,
    /// Read; whether it was accepted earlier is not known yet.
    Read(Contents),
    /// To be accepted.
    Waiting(Contents),
    /// To be refused.
    Bad(Option<Digest>, String),
    Accepted(Vec<(Identity, Digest)>),
    /// Refused, but it could not be moved.
    Stuck,
}

impl Drops {
    /// `poll_interval` is what gateways are told.
    pub fn new(dir: PathBuf, poll_interval: Duration, pace: Pace) -> Self {
        Self {
            dir,
            poll_interval,
            pace,
            digests: Digests::default(),
            since: BTreeMap::new(),
            manifests: BTreeMap::new(),
            about: Vec::new(),
            past: Vec::new(),
            unwritable: false,
        }
    }

    /// Once true, nothing more is read.
    pub(super) fn stop(&self) -> Arc<AtomicBool> {
        self.digests.stop.clone()
    }

    /// Those of which it is not known whether they were accepted earlier.
    pub(super) fn unasked(&self) -> Vec<(String, Digest)> {
        let unasked = self.manifests.iter().filter_map(|(name, manifest)| match &manifest.state {
            State::Read(contents) => Some((name.clone(), contents.digest)),
            _ => None,
        });
        unasked.collect()
    }

    /// It was not: it waits until it is complete.
    pub(super) fn waits(&mut self, name: &str) {
        self.step(name, |state| match state {
            State::Read(contents) => State::Waiting(contents),
            other => other,
        });
    }

    /// It counts from now on, whatever becomes of its files.
    pub(super) fn accepted(&mut self, name: &str) {
        self.step(name, |state| match state {
            State::Read(contents) | State::Waiting(contents) => State::Accepted(contents.rollouts),
            other => other,
        });
    }

    fn step(&mut self, name: &str, to: impl FnOnce(State) -> State) {
        if let Some(manifest) = self.manifests.get_mut(name) {
            manifest.state = to(std::mem::replace(&mut manifest.state, State::New));
        }
    }

    /// Is there one whose progress is written beside it?
    pub(super) fn has_accepted(&self) -> bool {
        self.manifests.values().any(|manifest| matches!(manifest.state, State::Accepted(_)))
    }

    /// Is there one that a change at the site may complete?
    pub(super) fn is_waiting(&self) -> bool {
        self.manifests.values().any(|manifest| matches!(manifest.state, State::Read(_) | State::Waiting(_)))
    }

    /// Why it is to be refused, a line for each error.
    pub(super) fn wrong(&self, name: &str) -> Option<String> {
        match &self.manifests.get(name)?.state {
            State::Bad(_, why) => Some(why.clone()),
            _ => None,
        }
    }

    /// Could the site not say what becomes of it?
    pub(super) fn is_undecided(&self, name: &str) -> bool {
        let undecided = |manifest: &Manifest| matches!(manifest.state, State::Waiting(_) | State::Bad(..));
        self.manifests.get(name).is_some_and(undecided)
    }

    /// The artifacts of drops that wait.
    pub(super) fn needs(&self) -> impl Iterator<Item = &ArtifactSpec> {
        self.waiting().flat_map(|(_, contents)| contents.needs.iter().map(|need| &need.artifact))
    }

    pub(super) fn waiting(&self) -> impl Iterator<Item = (&str, &Contents)> {
        self.manifests.iter().filter_map(|(name, manifest)| match &manifest.state {
            State::Waiting(contents) => Some((name.as_str(), contents)),
            _ => None,
        })
    }

    /// A drop as it is handed on; none if it is not what it was any more.
    pub(super) fn drop(&mut self, name: &str) -> Option<Dropped> {
        let manifest = self.manifests.get_mut(name)?;
        let file = name.to_owned();
        match &manifest.state {
            State::Bad(digest, why) => Some(Dropped { file, digest: *digest, content: Err(in_one_line(why)) }),
            State::Waiting(contents) => match manifest::read(&self.dir, name, self.poll_interval) {
                Ok((digest, intents)) if digest == contents.digest => {
                    Some(Dropped { file, digest: Some(digest), content: Ok(intents) })
                }
                _ => {
                    (manifest.state, manifest.since) = (State::New, Instant::now());
                    None
                }
            },
            _ => None,
        }
    }

    /// What waits, was refused, or is wrong with the directory.
    pub(super) fn lines(&self) -> Vec<DropLine> {
        let line = |(name, manifest): (&String, &Manifest)| {
            let state = match &manifest.state {
                State::Accepted(_) => return None,
                State::Stuck | State::Bad(..) => "Rejected",
                State::New | State::Read(_) | State::Waiting(_) => "Waiting",
            };
            Some(DropLine { file: name.clone(), state: state.into(), message: manifest.said() })
        };
        let here = self.manifests.iter().filter_map(line);
        self.about.iter().cloned().chain(here).chain(self.past.iter().cloned()).collect()
    }
}

impl Manifest {
    /// In a sentence, how it stands.
    pub fn said(&self) -> String {
        match &self.state {
            State::Bad(_, why) => in_one_line(why),
            _ if self.message.is_empty() => "is being copied or read".into(),
            _ => self.message.clone(),
        }
    }
}

/// Only a reason beside a refused drop has room for more.
pub(super) fn in_one_line(why: &str) -> String {
    why.replace('\n', "; ")
}
