//! What becomes of a drop, written beside it or where it was moved.

use std::collections::BTreeMap;

use serde::Serialize;

use super::folder::stem;
use super::results;
use super::state::{Drops, Manifest, State, in_one_line};
use super::{DropLine, Progress, RolloutResult};

/// A result as it is written beside a drop.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Outcome<'a> {
    state: &'static str,
    message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rollouts: Vec<&'a RolloutResult>,
}

impl Outcome<'_> {
    fn text(&self) -> String {
        serde_json::to_string_pretty(self).map(|text| text + "\n").unwrap_or_default()
    }
}

impl Drops {
    /// Moves it away; where that is not possible, it stays and is left alone.
    pub(super) fn refuse(&mut self, name: &str, why: &str) {
        let stem = stem(name).unwrap_or(name).to_owned();
        let outcome = |message: String| Outcome { state: "Rejected", message, rollouts: Vec::new() };
        let rejected = results::reject(&self.dir, name, why);
        let why = in_one_line(why);
        match rejected {
            Ok(now) => {
                tracing::warn!(drop = name, why, moved_to = now, "a drop was refused");
                let message = format!("{why} (moved to {now})");
                self.manifests.remove(name);
                self.put_result(&stem, &outcome(message.clone()).text());
                self.remember(DropLine { file: name.into(), state: "Rejected".into(), message });
            }
            Err(error) => {
                tracing::warn!(drop = name, why, %error, "a drop was refused, but cannot be moved away");
                if let Some(manifest) = self.manifests.get_mut(name) {
                    manifest.state = State::Stuck;
                    manifest.message = format!("{why} (it cannot be moved away: {error})");
                }
            }
        }
    }

    /// Writes the results that changed. False if there was nothing to write.
    pub(super) fn write(&mut self, progress: &[Progress]) -> bool {
        let shared = self.shared_results();
        let news: Vec<(String, String)> = self
            .manifests
            .iter()
            .filter_map(|(name, manifest)| {
                let text = outcome(name, manifest, &shared, progress)?.text();
                (manifest.written.as_ref() != Some(&text)).then(|| (name.clone(), text))
            })
            .collect();
        let mut wrote = false;
        for (name, text) in news {
            wrote |= self.put_result(stem(&name).unwrap_or(&name), &text);
            if let Some(manifest) = self.manifests.get_mut(&name) {
                manifest.written = Some(text);
            }
        }
        wrote
    }

    fn put_result(&mut self, stem: &str, text: &str) -> bool {
        match results::write(&self.dir, stem, text) {
            Ok(wrote) => {
                self.unwritable &= !wrote;
                wrote
            }
            Err(error) => {
                // a stick may be read-only, and its drops are as good
                if !std::mem::replace(&mut self.unwritable, true) {
                    tracing::warn!(dir = %self.dir.display(), %error, "cannot write results into the drop directory; `lamplighter status` has them");
                }
                false
            }
        }
    }
}

fn outcome<'p>(
    name: &str,
    manifest: &Manifest,
    shared: &BTreeMap<String, String>,
    progress: &'p [Progress],
) -> Option<Outcome<'p>> {
    if let Some(shared) = shared.get(name) {
        return Some(Outcome { state: "Waiting", message: shared.clone(), rollouts: Vec::new() });
    }
    let State::Accepted(rollouts) = &manifest.state else {
        let state = match manifest.state {
            State::Stuck => "Rejected",
            // not worth a write before anything is known
            State::New if manifest.message.is_empty() => return None,
            _ => "Waiting",
        };
        return Some(Outcome { state, message: manifest.said(), rollouts: Vec::new() });
    };
    let mut outcome = Outcome { state: "Accepted", message: String::new(), rollouts: Vec::new() };
    let mut said = Vec::new();
    for (rollout, artifact) in rollouts {
        match progress.iter().find(|progress| progress.rollout == *rollout) {
            Some(progress) if progress.artifact == *artifact => {
                said.push(progress.sentence.clone());
                outcome.rollouts.push(&progress.line);
            }
            _ => said.push(format!("{rollout}: a newer order took its place")),
        }
    }
    outcome.message = if said.is_empty() { "its gateways are known now".into() } else { said.join("; ") };
    Some(outcome)
}
