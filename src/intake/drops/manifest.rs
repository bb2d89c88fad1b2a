//! A manifest in the drop directory, read as a whole: all its objects, or why there are none.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use crate::inside::{OpenError, open_plain};
use crate::intake::listing::{Found, found_in, refuse_duplicates};
use crate::model::{ArtifactSpec, Digest, Identity, Intent};
use crate::resources::{Kinds, Limits, Setting};

/// So many of a manifest's errors are said; the first few are what a person corrects.
const MOST_ERRORS: usize = 12;

/// Why there is nothing to decide about.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Unread {
    /// For now: a stick that is pulled out is no reason to refuse anything.
    Yet(String),
    /// It will never be one as it is.
    Refused(Option<Digest>, String),
}

/// What a manifest says, as far as it is kept.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Contents {
    /// Of the manifest's bytes.
    pub digest: Digest,
    /// What no other drop may declare: names and controller ids.
    pub keys: BTreeSet<String>,
    /// Its rollouts, and the artifact of each.
    pub rollouts: Vec<(Identity, Digest)>,
    /// What has to lie beside it.
    pub needs: Vec<Need>,
}

/// An artifact with a source beside the manifest.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Need {
    pub rollout: Identity,
    pub artifact: ArtifactSpec,
}

/// Reads a manifest: its digest and its objects.
pub(super) fn read(dir: &Path, name: &str, poll_interval: Duration) -> Result<(Digest, Vec<Intent>), Unread> {
    let bytes = bytes(dir, name)?;
    let digest = Digest::new(Sha256::digest(&bytes).into());
    // half of a line may be a value too, such as another controller id; JSON has an end of its own
    if !name.to_ascii_lowercase().ends_with(".json") && bytes.last().is_some_and(|last| *last != b'\n') {
        let why = "ends in the middle of a line, so it may be cut short; copy it again, or end it with a line break";
        return Err(Unread::Refused(Some(digest), why.into()));
    }
    let setting = Setting { dir: dir.to_owned(), poll_interval, secrets: false };
    let mut found = found_in(name, &bytes, &Kinds::default(), &setting);
    refuse_duplicates(&mut found);
    let refused = |why| Unread::Refused(Some(digest), why);
    if found.is_empty() {
        return Err(refused(
            "holds no object; write an OtaRollout, an EdgeGateway or an EdgeService, or remove the file".into(),
        ));
    }
    let errors: Vec<String> = found.iter().filter_map(error).collect();
    if errors.is_empty() {
        return Ok((digest, found.into_iter().filter_map(|found| found.result.ok()).collect()));
    }
    let more = errors.len().saturating_sub(MOST_ERRORS);
    let more = (more > 0).then(|| format!("and {more} more"));
    Err(refused(errors.into_iter().take(MOST_ERRORS).chain(more).collect::<Vec<_>>().join("\n")))
}

fn error(found: &Found) -> Option<String> {
    found.result.as_ref().err().map(|why| format!("{}: {why}", found.what))
}

/// What is kept of it.
pub(super) fn contents(digest: Digest, intents: &[Intent]) -> Contents {
    let mut contents = Contents { digest, keys: BTreeSet::new(), rollouts: Vec::new(), needs: Vec::new() };
    for intent in intents {
        contents.keys.insert(intent.name());
        match intent {
            Intent::Gateway(spec) => _ = contents.keys.insert(format!("the controller id {}", spec.controller_id)),
            Intent::Service(_, spec) => _ = contents.keys.insert(format!("the unit {}", spec.unit)),
            Intent::Rollout(identity, spec) => {
                contents.rollouts.push((identity.clone(), spec.artifact.key.digest));
                let local = |file: &&ArtifactSpec| file.sources.iter().any(|source| !source.is_remote());
                let need = |file: &ArtifactSpec| Need { rollout: identity.clone(), artifact: file.clone() };
                contents.needs.extend(spec.files().filter(local).map(need));
            }
        }
    }
    contents
}

fn bytes(dir: &Path, name: &str) -> Result<Vec<u8>, Unread> {
    let yet = |error: io::Error| Unread::Yet(format!("cannot be read: {error}"));
    let file = open_plain(dir, name).map_err(|error| match error {
        OpenError::Special(_) => Unread::Refused(None, error.to_string()),
        error => Unread::Yet(error.to_string()),
    })?;
    let length = file.metadata().map_err(yet)?.len();
    let mut bytes = Vec::new();
    if length <= Limits::FILE_BYTES {
        file.take(Limits::FILE_BYTES + 1).read_to_end(&mut bytes).map_err(yet)?;
    }
    let length = length.max(bytes.len() as u64);
    if length > Limits::FILE_BYTES {
        let why = format!(
            "has {length} bytes; a manifest has at most {}; is it an artifact? otherwise split it",
            Limits::FILE_BYTES
        );
        return Err(Unread::Refused(None, why));
    }
    Ok(bytes)
}
