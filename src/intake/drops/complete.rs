//! Which drops are complete, which are wrong, and for what the others wait.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::Standing;
use super::folder::Folder;
use super::manifest::Need;
use super::needs::{Met, Sight};
use super::state::{Drops, State};
use crate::model::{ArtifactSpec, Digest};

/// What a look found.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub wanted: Vec<ArtifactSpec>,
    /// To be handed on, by name.
    pub ready: Vec<String>,
    /// To be refused.
    pub bad: Vec<String>,
    /// Something happens after this time although nobody writes.
    pub again: Option<Duration>,
}

impl Drops {
    /// Looks for what the waiting drops need. `standing` has an entry for each of [`needs`](Self::needs).
    pub(super) fn find(&mut self, folder: &Folder, standing: &BTreeMap<Digest, Standing>, now: Instant) -> Found {
        let mut found = Found::default();
        let obstacles = self.obstacles();
        let coming = self.coming(now);
        for (name, manifest) in &mut self.manifests {
            let rested = now.saturating_duration_since(manifest.since);
            let mut after = |rest: Duration| {
                let left = rest.saturating_sub(rested) + Duration::from_millis(1);
                found.again = Some(found.again.map_or(left, |again| again.min(left)));
            };
            match &manifest.state {
                State::New if rested < self.pace.rest => after(self.pace.rest),
                State::New => after(self.pace.bad_after.max(rested + self.pace.look.poll)),
                State::Read(_) => after(rested + self.pace.least),
                State::Bad(..) => found.bad.push(name.clone()),
                State::Waiting(contents) => {
                    if let Some(obstacle) = obstacles.get(name) {
                        manifest.message.clone_from(obstacle);
                        continue;
                    }
                    let sight = Sight {
                        dir: &self.dir,
                        folder,
                        digests: &mut self.digests,
                        since: &mut self.since,
                        now,
                        pace: self.pace,
                    };
                    match meet(sight, &contents.needs, standing, &mut found.wanted) {
                        Ok(waits) if waits.is_empty() && coming.is_some() => {
                            let other = coming.as_deref().unwrap_or_default();
                            manifest.message = format!("is complete, and waits until {other} is copied too");
                        }
                        Ok(waits) if waits.is_empty() => {
                            manifest.message = "is complete, and is being accepted".into();
                            found.ready.push(name.clone());
                        }
                        Ok(waits) => manifest.message = waits,
                        Err(wrong) => {
                            manifest.state = State::Bad(Some(contents.digest), wrong);
                            found.bad.push(name.clone());
                        }
                    }
                }
                State::Accepted(_) | State::Stuck => {}
            }
        }
        for since in self.since.values() {
            let rested = now.saturating_duration_since(*since);
            let next = [self.pace.rest, self.pace.wrong_after].into_iter().filter(|rest| *rest > rested).min();
            if let Some(next) = next {
                let left = next.saturating_sub(rested) + Duration::from_millis(1);
                found.again = Some(found.again.map_or(left, |again| again.min(left)));
            }
        }
        found
    }
}

/// For what a drop waits, empty if for nothing; or what is wrong for good.
fn meet(
    mut sight: Sight<'_>,
    needs: &[Need],
    standing: &BTreeMap<Digest, Standing>,
    wanted: &mut Vec<ArtifactSpec>,
) -> Result<String, String> {
    let mut waits = Vec::new();
    for need in needs {
        let standing = standing.get(&need.artifact.key.digest).cloned().unwrap_or(Standing::Absent);
        let sentence = match sight.look_for(need, standing) {
            Met::Ready => {
                // nobody else wants it yet, and it must not be cleared away
                wanted.push(need.artifact.clone());
                continue;
            }
            Met::Wanted(artifact, sentence) => {
                wanted.push(artifact);
                sentence
            }
            Met::Waits(sentence) => sentence,
            Met::Wrong(why) => return Err(format!("OtaRollout/{}: {why}", need.rollout)),
        };
        waits.push(format!("{}: {sentence}", need.rollout));
    }
    Ok(waits.join("; "))
}
