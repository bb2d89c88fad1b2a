//! The drop directory: orders for people with a USB stick.
//!
//! A drop is a manifest and the artifacts it names, copied here in any order, slowly. It is handed on as a whole once all
//! of it is there, and what became of it is written beside it.

mod complete;
mod digests;
mod folder;
mod follow;
mod look;
mod manifest;
mod needs;
mod obstacles;
mod outcome;
mod results;
mod state;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::MANIFEST_SUFFIXES;
use crate::model::{ArtifactSpec, Digest, Dropped, Identity, Verdict};

pub use follow::follow;
pub use state::Drops;

/// How often and how soon the directory is read, and how long a file rests until it counts as copied.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// As for manifest directories.
    pub look: super::Pace,
    /// A manifest that nobody wrote to for so long is complete, and an artifact worth reading.
    pub rest: Duration,
    /// A manifest that is wrong and that nobody wrote to for so long is refused.
    pub bad_after: Duration,
    /// An artifact of the right size with the wrong digest that nobody wrote to for so long is the wrong file. Some programs
    /// make a file as large as it will be before they fill it.
    pub wrong_after: Duration,
    /// Results are written at most so often.
    pub least: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            // a stick that is mounted over the directory is not heard
            look: super::Pace { rescan: Duration::from_secs(10), ..super::Pace::default() },
            rest: Duration::from_secs(2),
            bad_after: Duration::from_secs(5),
            wrong_after: Duration::from_secs(30),
            least: Duration::from_secs(2),
        }
    }
}

/// How it stands with an artifact in the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Verified.
    Ready,
    /// It could not be had lately; why.
    Failed(String),
    /// It can never be what the manifest says; why.
    Wrong(String),
    /// Nothing is known of it.
    Absent,
}

/// A drop at a glance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DropLine {
    /// The manifest's file name, or the directory.
    pub file: String,
    /// `Waiting` or `Rejected`; `Ignored` for what nobody looks at, `Unreadable` for the directory itself.
    pub state: String,
    /// For what it waits, or why it was refused.
    pub message: String,
}

/// How far a rollout is.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// What it is called.
    pub rollout: Identity,
    /// Its artifact.
    pub artifact: Digest,
    /// For a person.
    pub sentence: String,
    /// For the result beside the drop.
    pub line: RolloutResult,
}

/// A rollout in a result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RolloutResult {
    /// What it is called.
    pub name: String,
    /// Name and version of its artifact.
    pub artifact: String,
    /// `Ready`, `Reconciling` or `Stalled`.
    pub phase: String,
    /// One word.
    pub reason: String,
    /// For a person.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// How many members are at which step.
    pub steps: serde_json::Value,
}

/// The site, as the drop directory needs it. Whoever is asked and cannot say so now says nothing, and is asked again.
#[expect(async_fn_in_trait, reason = "everything is on one thread")]
pub trait Desk {
    /// How often gateways are told to poll, which bounds deadlines.
    fn poll_interval(&self) -> Duration;
    /// How it stands with an artifact in the cache.
    fn standing(&self, artifact: &ArtifactSpec) -> Standing;
    /// These can be had now, and should be.
    fn want(&self, artifacts: Vec<ArtifactSpec>);
    /// These wait or were refused.
    fn show(&self, drops: Vec<DropLine>);
    /// Was a drop with this content accepted at any time?
    async fn is_accepted(&self, manifest: Digest) -> Option<bool>;
    /// Takes a drop as a whole, and says what was decided once that is on disk.
    async fn decide(&self, drop: Dropped) -> Option<Verdict>;
    /// How far the rollouts are.
    async fn progress(&self) -> Option<Vec<Progress>>;
    /// Waits until something changed at the site.
    async fn changed(&mut self);
}
