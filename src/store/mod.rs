//! What must survive power loss: one redb file, its records and their versions.
//!
//! Owns every byte of the store's file. Must never know the engine, decide anything, or give up bytes that it cannot read.

mod copy;
mod db;
mod directory;
mod encoding;
mod error;
mod handle;
mod held;
mod journal;
mod marker;
mod record;
mod tables;
mod watched;

pub use copy::{open_copy, store_file};
pub use db::{Db, LostStore, Recalled};
pub use directory::Directory;
pub use error::{CommitError, OpenError, ReadError};
pub use handle::Handle;
pub use journal::{JOURNAL_ROWS, JournalPage, JournalRow, Span};
pub use record::{
    ActionRecord, ArtifactRecord, Batch, BegunRecord, DropRecord, FrozenRecord, GatewayRecord, LastRestartRecord,
    MemberRecord, OrderRecord, RolloutRecord, SavedTime, ServedRecord, ServiceRecord, SiteRecord, Snapshot, StepRecord,
    TrippedRecord, WaveRecord,
};
pub use watched::Written;
