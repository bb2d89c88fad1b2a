//! What the drop directory asks of the site, carried to the loop, the keeper and the board of drops.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};

use super::control::{Answer, Asked, Query};
use super::report::{RolloutLine, Status};
use crate::artifact::Keeper;
use crate::device::{Context, Envelope};
use crate::intake::drops::{Desk, DropLine, Progress, RolloutResult, Standing};
use crate::model::{ArtifactSpec, Digest, Dropped, Event, Identity, ReconcilingReason, Verdict};

/// Stands between the drop directory and the loop.
pub(super) struct DropDesk {
    pub events: mpsc::Sender<Envelope>,
    pub queries: mpsc::Sender<Asked>,
    pub keeper: Rc<Keeper>,
    pub wanted: watch::Sender<Vec<ArtifactSpec>>,
    /// What `status` shows.
    pub shown: Rc<RefCell<Vec<DropLine>>>,
    pub committed: watch::Receiver<u64>,
    pub devices: Rc<Context>,
}

impl Desk for DropDesk {
    fn poll_interval(&self) -> Duration {
        self.devices.settings.borrow().poll_interval
    }

    fn standing(&self, artifact: &ArtifactSpec) -> Standing {
        let digest = &artifact.key.digest;
        match (self.keeper.ready_size(digest), self.keeper.failure(digest)) {
            (Some(size), _) if size == artifact.size => Standing::Ready,
            (Some(size), _) => Standing::Wrong(format!(
                "spec.artifact.sizeBytes is {}, but the file with this digest has {size} bytes; correct the manifest",
                artifact.size
            )),
            (None, Some(why)) => Standing::Failed(why),
            (None, None) => Standing::Absent,
        }
    }

    fn want(&self, artifacts: Vec<ArtifactSpec>) {
        self.wanted.send_if_modified(|before| {
            let changed = *before != artifacts;
            *before = artifacts;
            changed
        });
    }

    fn show(&self, drops: Vec<DropLine>) {
        self.shown.replace(drops);
    }

    async fn is_accepted(&self, manifest: Digest) -> Option<bool> {
        self.ask(Query::IsDropAccepted(manifest)).await
    }

    async fn decide(&self, drop: Dropped) -> Option<Verdict> {
        let (reply, verdict) = oneshot::channel();
        self.events.send((Event::Dropped(drop), Some(reply))).await.ok()?;
        verdict.await.ok()
    }

    async fn progress(&self) -> Option<Vec<Progress>> {
        let status: Status = self.ask(Query::Status).await?;
        Some(status.rollouts.iter().filter_map(progress).collect())
    }

    async fn changed(&mut self) {
        if self.committed.changed().await.is_err() {
            // the site stops
            std::future::pending::<()>().await;
        }
    }
}

impl DropDesk {
    /// As a person at the control socket would, so that nothing is seen before it is committed.
    async fn ask<T: serde::de::DeserializeOwned>(&self, query: Query) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.queries.send((query, reply)).await.ok()?;
        match answer.await.ok()? {
            Answer::Json(json) => serde_json::from_slice(&json).ok(),
            _ => None,
        }
    }
}

fn progress(line: &RolloutLine) -> Option<Progress> {
    let (summary, name) = (&line.summary, &line.name);
    let mut parts = vec![format!("{name}: {} of {} gateways updated", summary.updated, summary.total)];
    let others = [
        (summary.updating, "under way"),
        (summary.failed, "failed"),
        (summary.offline, "offline"),
        (summary.rolled_back, "rolled back"),
    ];
    parts.extend(others.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")));
    let reason = if line.phase == "Ready" { "done" } else { &line.reason };
    // a countdown would be written, and synced, again and again for as long as it takes
    let told = if line.reason == ReconcilingReason::Soaking.to_string() { "" } else { line.message.as_str() };
    let message = if told.is_empty() { String::new() } else { format!(": {told}") };
    let sentence = format!("{} ({reason}){message}", parts.join(", "));
    Some(Progress {
        rollout: Identity(name.clone()),
        artifact: line.artifact.digest.parse().ok()?,
        sentence,
        line: RolloutResult {
            name: name.clone(),
            artifact: format!("{} {}", line.artifact.name, line.artifact.version),
            phase: line.phase.clone(),
            reason: line.reason.clone(),
            message: told.to_owned(),
            steps: serde_json::to_value(line.steps).ok()?,
        },
    })
}
