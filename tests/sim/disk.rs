//! The store under the site: records in a map, or the real store on a disk that fails.

use std::collections::BTreeMap;

use lamplighter::store::{Batch, Db, Snapshot, Written};

use crate::crash_backend::{CrashDisk, Fault};

/// Where commits go.
#[derive(Debug)]
pub enum Disk {
    /// Records in memory: quick. A commit that the disk fails is made by the real store.
    Memory(Box<Snapshot>),
    /// The real store.
    Real(CrashDisk, Option<Db>),
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

impl Disk {
    pub fn memory() -> Self {
        Self::Memory(Box::default())
    }

    pub fn real() -> Self {
        let disk = CrashDisk::new();
        let db = Db::create_on(disk.backend(), &Written::default()).unwrap();
        Self::Real(disk, Some(db))
    }

    /// The real store with these records in it.
    fn real_with(snapshot: &Snapshot) -> Self {
        let mut real = Self::real();
        let everything = Batch {
            site: snapshot.site.clone(),
            time: snapshot.time.clone(),
            gateways: all(&snapshot.gateways),
            rollouts: all(&snapshot.rollouts),
            members: all(&snapshot.members),
            artifacts: all(&snapshot.artifacts),
            drops: all(&snapshot.drops),
            orders: all(&snapshot.orders),
            journal: Vec::new(),
        };
        assert!(real.commit(&everything, Ending::Done));
        real
    }

    /// What the store knows; after a crash or a failed commit the only truth.
    pub fn reopen(&mut self) -> Snapshot {
        match self {
            Self::Memory(snapshot) => (**snapshot).clone(),
            Self::Real(disk, db) => {
                drop(db.take());
                disk.heal();
                disk.drop_caches();
                let (opened, recalled) =
                    Db::open_on(disk.backend(), &Written::default()).expect("the store opens after any fault");
                assert_eq!(recalled.lost, None);
                *db = Some(opened);
                recalled.snapshot
            }
        }
    }

    /// Commits with this ending; true if the site may show and answer what it decided.
    pub fn commit(&mut self, batch: &Batch, ending: Ending) -> bool {
        match self {
            Self::Memory(snapshot) => match ending {
                Ending::CrashBefore => false,
                Ending::Done | Ending::CrashAfter => {
                    apply(snapshot, batch);
                    ending == Ending::Done
                }
                // what a disk does to a commit under way is the real store's to show
                Ending::PowerCut(..) | Ending::Fails(..) => {
                    let mut real = Self::real_with(snapshot);
                    let done = real.commit(batch, ending);
                    **snapshot = real.reopen();
                    done
                }
            },
            Self::Real(disk, db) => {
                let db = db.as_mut().expect("commits go to an open store");
                match ending {
                    Ending::CrashBefore => {
                        disk.kill();
                        return false;
                    }
                    Ending::PowerCut(n, _) => disk.fail_at(n, Fault::PowerCut),
                    Ending::Fails(n, fault) => disk.fail_at(n, fault),
                    Ending::Done | Ending::CrashAfter => {}
                }
                let done = db.commit(batch).is_ok();
                match ending {
                    Ending::CrashAfter => disk.kill(),
                    Ending::PowerCut(_, seed) => disk.cut_power(seed, seed % 2 == 0),
                    // a fault beyond the commit's last write does not happen
                    Ending::Fails(..) if done => disk.heal(),
                    _ => {}
                }
                done && !matches!(ending, Ending::CrashAfter | Ending::PowerCut(..))
            }
        }
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

fn all<K: Clone, V: Clone>(table: &BTreeMap<K, V>) -> Vec<(K, Option<V>)> {
    table.iter().map(|(key, value)| (key.clone(), Some(value.clone()))).collect()
}

fn put<K: Ord + Clone, V: Clone>(table: &mut BTreeMap<K, V>, changes: &[(K, Option<V>)]) {
    for (key, value) in changes {
        match value {
            Some(value) => table.insert(key.clone(), value.clone()),
            None => table.remove(key),
        };
    }
}
