//! Disks that fail: the real store on one, or records in memory that meet the real store only when something goes wrong.

use std::collections::BTreeMap;

use lamplighter::store::{Batch, Db, Snapshot, Written};
use lamplighter::world::{Disk, Ending, Fault, Memory};

use crate::crash_backend::{self, CrashDisk};

/// The real store.
#[derive(Debug)]
pub struct Real(CrashDisk, Option<Db>);

/// Records in memory: quick. A commit that the disk fails is made by the real store.
#[derive(Debug, Default)]
pub struct Mostly(Memory);

pub fn real() -> Box<dyn Disk> {
    Box::new(Real::new())
}

pub fn memory() -> Box<dyn Disk> {
    Box::new(Mostly::default())
}

impl Real {
    fn new() -> Self {
        let disk = CrashDisk::new();
        let db = Db::create_on(disk.backend(), &Written::default()).unwrap();
        Self(disk, Some(db))
    }

    /// With these records in it.
    fn with(snapshot: &Snapshot) -> Self {
        let mut real = Self::new();
        let everything = Batch {
            site: snapshot.site.clone(),
            time: snapshot.time.clone(),
            gateways: all(&snapshot.gateways),
            rollouts: all(&snapshot.rollouts),
            members: all(&snapshot.members),
            artifacts: all(&snapshot.artifacts),
            drops: all(&snapshot.drops),
            orders: all(&snapshot.orders),
            services: all(&snapshot.services),
            journal: Vec::new(),
        };
        assert!(real.commit(&everything, Ending::Done));
        real
    }
}

impl Disk for Real {
    fn reopen(&mut self) -> Snapshot {
        let Self(disk, db) = self;
        drop(db.take());
        disk.heal();
        disk.drop_caches();
        let (opened, recalled) =
            Db::open_on(disk.backend(), &Written::default()).expect("the store opens after any fault");
        assert_eq!(recalled.lost, None);
        *db = Some(opened);
        recalled.snapshot
    }

    fn commit(&mut self, batch: &Batch, ending: Ending) -> bool {
        let Self(disk, db) = self;
        let db = db.as_mut().expect("commits go to an open store");
        match ending {
            Ending::CrashBefore => {
                disk.kill();
                return false;
            }
            Ending::PowerCut(n, _) => disk.fail_at(n, crash_backend::Fault::PowerCut),
            Ending::Fails(n, fault) => disk.fail_at(n, on_disk(fault)),
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

impl Disk for Mostly {
    fn reopen(&mut self) -> Snapshot {
        self.0.reopen()
    }

    fn commit(&mut self, batch: &Batch, ending: Ending) -> bool {
        if !matches!(ending, Ending::PowerCut(..) | Ending::Fails(..)) {
            return self.0.commit(batch, ending);
        }
        let mut real = Real::with(&self.0.reopen());
        let done = real.commit(batch, ending);
        self.0 = Memory::with(real.reopen());
        done
    }
}

fn on_disk(fault: Fault) -> crash_backend::Fault {
    match fault {
        Fault::NoSpace => crash_backend::Fault::NoSpace,
        Fault::Io => crash_backend::Fault::Io,
        Fault::Sync => crash_backend::Fault::Sync,
    }
}

fn all<K: Clone, V: Clone>(table: &BTreeMap<K, V>) -> Vec<(K, Option<V>)> {
    table.iter().map(|(key, value)| (key.clone(), Some(value.clone()))).collect()
}
