//! What must survive power loss: one redb file, its records and their versions.
//!
//! Owns every byte of the store's file. Must never know the engine, decide anything, or give up bytes that it cannot read.

mod record;

pub use record::{
    ActionRecord, ArtifactRecord, Batch, FrozenRecord, GatewayRecord, MemberRecord, RolloutRecord, SavedTime,
    ServedRecord, SiteRecord, Snapshot, StepRecord, TrippedRecord, WaveRecord,
};
