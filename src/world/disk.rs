//! The store under the site: records in a map. Tests put the real store on a disk that fails in its place.

use std::collections::BTreeMap;
use std::fmt;

use crate::store::{Batch, Snapshot};

/// Where commits go.
pub trait Disk: fmt::Debug {
    /// What the store knows; after a crash or a failed commit the only truth.
    fn reopen(&mut self) -> Snapshot;

    /// Commits with this ending; true if the site may show and answer what it decided.
    fn commit(&mut self, batch: &Batch, ending: Ending) -> bool;
}

/// What becomes of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It is durable and answered.
    Done,
    /// The process dies before it begins.
    CrashBefore,
    /// The process dies after it, before anybody hears of it.
    CrashAfter,
    /// The power goes at the nth write in it; what was not synced survives in part, by the seed.
    PowerCut(u64, u64),
    /// The disk fails at the nth write in it; the process goes on.
    Fails(u64, Fault),
}

/// How a disk fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It is full.
    NoSpace,
    /// It fails with EIO.
    Io,
    /// A sync fails, and saves a part of what it should.
    Sync,
}

/// Records in memory. A commit is there as a whole or not at all: what a disk does to one under way is the real store's to
/// show.
#[derive(Debug, Default)]
pub struct Memory(Snapshot);

impl Memory {
    /// With these records in it.
    pub fn with(snapshot: Snapshot) -> Self {
        Self(snapshot)
    }
}

impl Disk for Memory {
    fn reopen(&mut self) -> Snapshot {
        self.0.clone()
    }

    fn commit(&mut self, batch: &Batch, ending: Ending) -> bool {
        let durable = match ending {
            Ending::Done | Ending::CrashAfter => true,
            Ending::PowerCut(_, seed) => seed % 2 == 0,
            Ending::CrashBefore | Ending::Fails(..) => false,
        };
        if durable {
            apply(&mut self.0, batch);
        }
        ending == Ending::Done
    }
}

/// Puts a batch into a snapshot, as the store does.
pub fn apply(snapshot: &mut Snapshot, batch: &Batch) {
    if let Some(site) = &batch.site {
        snapshot.site = Some(site.clone());
    }
    snapshot.time = batch.time.clone();
    put(&mut snapshot.gateways, &batch.gateways);
    put(&mut snapshot.rollouts, &batch.rollouts);
    put(&mut snapshot.members, &batch.members);
    put(&mut snapshot.artifacts, &batch.artifacts);
    put(&mut snapshot.drops, &batch.drops);
    put(&mut snapshot.orders, &batch.orders);
}

fn put<K: Ord + Clone, V: Clone>(table: &mut BTreeMap<K, V>, changes: &[(K, Option<V>)]) {
    for (key, value) in changes {
        match value {
            Some(value) => table.insert(key.clone(), value.clone()),
            None => table.remove(key),
        };
    }
}
