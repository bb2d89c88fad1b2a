//! From files to a [`Listing`]: what is wanted, and what was refused and why.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::directory::{Fingerprint, each_manifest, fingerprint, vanished};
use crate::model::{Intent, Listing, Refusal};
use crate::resources::{self, FieldError, Kinds, Object, Setting, documents};

/// One object, or what stands where one should be.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The file and the object in it, as `hall.yaml: EdgeGateway/gw-1`, or as far as it got.
    pub what: String,
    /// The object, or why it is refused.
    pub result: Result<Intent, String>,
}

impl Found {
    /// Names of files and fields may hold anything, and all this goes to terminals.
    fn new(what: &str, result: Result<Intent, String>) -> Self {
        let plain = |text: &str| text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
        Self { what: plain(what), result: result.map_err(|why| plain(&why)) }
    }
}

/// The manifest directories of a site.
#[derive(Debug, Clone)]
pub struct Manifests {
    dirs: Vec<PathBuf>,
    poll_interval: Duration,
}

impl Manifests {
    /// The directories are read in this order; `poll_interval` is what gateways are told.
    pub fn new(dirs: Vec<PathBuf>, poll_interval: Duration) -> Self {
        Self { dirs, poll_interval }
    }

    /// The directories.
    pub fn dirs(&self) -> &[PathBuf] {
        &self.dirs
    }

    /// Everything in the directories, in a fixed order. Reads files: it blocks.
    pub fn found(&self) -> Vec<Found> {
        // A volume that is swapped while it is read shows as files that vanish: look again.
        for _ in 0..2 {
            let (found, complete) = self.look();
            if complete {
                return found;
            }
        }
        self.look().0
    }

    /// What the directories say. Reads files: it blocks.
    pub fn list(&self) -> Listing {
        let mut found = self.found();
        refuse_duplicates(&mut found);
        listing(found)
    }

    /// What a manifest would say if it lay in the first directory.
    pub fn would_say(&self, manifest: &[u8]) -> Listing {
        let dir = self.dirs.first().cloned().unwrap_or_default();
        let setting = Setting { dir, poll_interval: self.poll_interval, secrets: false };
        let mut found = found_in("manifest", manifest, &Kinds::default(), &setting);
        refuse_duplicates(&mut found);
        if found.is_empty() {
            found.push(Found::new("manifest", Err("holds no object".into())));
        }
        listing(found)
    }

    pub(super) fn fingerprint(&self) -> Fingerprint {
        fingerprint(&self.dirs)
    }

    fn look(&self) -> (Vec<Found>, bool) {
        let kinds = Kinds::default();
        let (mut all, mut complete) = (Vec::new(), true);
        for dir in &self.dirs {
            let setting = Setting { dir: dir.clone(), poll_interval: self.poll_interval, secrets: false };
            each_manifest(dir, |name, content| {
                let label = self.label(dir, name);
                complete &= !matches!(&content, Err(why) if vanished(why));
                match content {
                    Ok(bytes) => all.extend(found_in(&label, &bytes, &kinds, &setting)),
                    Err(why) => all.push(Found::new(&label, Err(why))),
                }
            });
        }
        (all, complete)
    }

    /// A file's name alone says enough where there is one directory.
    fn label(&self, dir: &Path, name: &str) -> String {
        if self.dirs.len() == 1 && !name.is_empty() { name.to_owned() } else { dir.join(name).display().to_string() }
    }
}

/// The objects in one file.
pub fn found_in(label: &str, bytes: &[u8], kinds: &Kinds, setting: &Setting) -> Vec<Found> {
    let documents = documents(bytes);
    let single = documents.len() == 1;
    let describe = |document| match document {
        Ok(document) => {
            let what = match name_of(&document) {
                Some(name) => format!("{label}: {name}"),
                None if single => label.to_owned(),
                None => format!("{label}, line {}", document.line),
            };
            Found::new(&what, intent(&document, kinds, setting).map_err(|errors| in_one_line(&errors)))
        }
        Err(unreadable) => {
            let resources::Unreadable { line, why } = unreadable;
            Found::new(&format!("{label}, line {line}"), Err(why))
        }
    };
    documents.map(describe).collect()
}

fn intent(document: &resources::Document, kinds: &Kinds, setting: &Setting) -> Result<Intent, Vec<FieldError>> {
    let checked = match kinds.object(document)? {
        Object::Gateway(object) => resources::gateway(&object, setting).map(Intent::Gateway),
        Object::Rollout(object) => {
            resources::rollout(&object, setting).map(|(identity, spec)| Intent::Rollout(identity, spec.into()))
        }
        Object::Service(object) => resources::service(&object).map(|(name, spec)| Intent::Service(name, spec.into())),
    };
    checked.map_err(|error| vec![error])
}

fn name_of(document: &resources::Document) -> Option<String> {
    let name = document.value.get("metadata")?.get("name")?.as_str()?;
    let short = |text: &str| text.chars().take(80).collect::<String>();
    Some(format!("{}/{}", short(document.kind()?), short(name)))
}

fn in_one_line(errors: &[FieldError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Where the same name, controller id or digest stands twice, nobody can say which one is meant: all are refused, each
/// naming the others.
pub fn refuse_duplicates(found: &mut [Found]) {
    refuse_shared(found, |intent| Some(format!("the name {}", intent.name())));
    refuse_shared(found, |intent| match intent {
        Intent::Gateway(spec) => Some(format!("the controller id {}", spec.controller_id)),
        Intent::Rollout(..) | Intent::Service(..) => None,
    });
    refuse_shared(found, |intent| match intent {
        Intent::Service(_, spec) => Some(format!("the unit {}", spec.unit)),
        Intent::Gateway(_) | Intent::Rollout(..) => None,
    });
    refuse_two_sizes(found);
}

fn refuse_shared(found: &mut [Found], key: impl Fn(&Intent) -> Option<String>) {
    let mut places: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, one) in found.iter().enumerate() {
        if let Some(key) = one.result.as_ref().ok().and_then(&key) {
            places.entry(key).or_default().push(index);
        }
    }
    for (key, indexes) in places.into_iter().filter(|(_, indexes)| indexes.len() > 1) {
        refuse(found, &indexes, |others| format!("{key} is used by {others} too; all are refused, keep one"));
    }
}

/// A digest has one size; with two, one rollout could never be served.
fn refuse_two_sizes(found: &mut [Found]) {
    let mut places: BTreeMap<_, Vec<(usize, u64)>> = BTreeMap::new();
    for (index, one) in found.iter().enumerate() {
        if let Ok(Intent::Rollout(_, spec)) = &one.result {
            let files: BTreeSet<_> = spec.files().map(|file| (file.key.digest, file.size)).collect();
            for (digest, size) in files {
                places.entry(digest).or_default().push((index, size));
            }
        }
    }
    for (_, uses) in places {
        if uses.iter().any(|(_, size)| uses.first().is_some_and(|(_, first)| first != size)) {
            let indexes: Vec<usize> = uses.iter().map(|(index, _)| *index).collect();
            refuse(found, &indexes, |others| {
                format!(
                    "spec.artifact.sizeBytes: is another one in {others} for the same digest; correct the wrong one"
                )
            });
        }
    }
}

fn refuse(found: &mut [Found], indexes: &[usize], why: impl Fn(&str) -> String) {
    const MOST_NAMED: usize = 4;
    let places: Vec<String> = indexes.iter().filter_map(|index| Some(found.get(*index)?.what.clone())).collect();
    for (nth, index) in indexes.iter().enumerate() {
        let others = places.iter().enumerate().filter(|(other, _)| *other != nth).map(|(_, place)| place.as_str());
        let others: Vec<&str> = others.take(MOST_NAMED).collect();
        if let Some(one) = found.get_mut(*index) {
            one.result = Err(why(&others.join(" and ")));
        }
    }
}

/// Sorts what was found into what is wanted and what is refused.
pub fn listing(found: Vec<Found>) -> Listing {
    let mut listing = Listing::default();
    for Found { what, result } in found {
        match result {
            Ok(intent) => listing.intents.push(intent),
            Err(why) => listing.refused.push(Refusal { what, why }),
        }
    }
    listing
}
