//! Figures, for `docs/measurements.md`: run with `--ignored --nocapture`, in a release build.

use std::time::{Duration, Instant};

use lamplighter::model::RolloutId;
use lamplighter::store::{Batch, Db, Directory};

use super::sample::{entry, gateway, gateway_id, member, rollout, site, time};

const GATEWAYS: u32 = 500;

/// A store with 500 gateways, 500 members and a full journal.
fn full(db: &mut Db) {
    let gateways = (0..GATEWAYS).map(gateway_id).map(|id| (id.clone(), Some(gateway(&id, 100)))).collect();
    let members = (0..GATEWAYS).map(|n| ((RolloutId(1), gateway_id(n)), Some(member(n.into())))).collect();
    let first = Batch {
        site: Some(site(1)),
        time: time(1),
        gateways,
        members,
        rollouts: vec![(RolloutId(1), Some(rollout(1)))],
        ..Batch::default()
    };
    db.commit(&first).unwrap();
    for n in 0..110 {
        let journal = (0..100).map(|row| entry(n * 100 + row)).collect();
        db.commit(&Batch { time: time(n), journal, ..Batch::default() }).unwrap();
    }
}

/// A step of one gateway: its member and a row.
fn step(n: u32) -> Batch {
    let members = vec![((RolloutId(1), gateway_id(n % GATEWAYS)), Some(member(n.into())))];
    Batch { time: time(n.into()), members, journal: vec![entry(n.into())], ..Batch::default() }
}

#[test]
#[ignore = "prints figures"]
fn measure_the_store() {
    let state = tempfile::tempdir().unwrap();
    let directory = Directory::lock(state.path()).unwrap();
    let (mut db, _) = directory.open().unwrap();
    full(&mut db);
    let written = directory.written().clone();

    let mut report = |what: &str, count: u32, batches: &mut dyn FnMut(u32) -> Batch| {
        let (bytes, syncs, start) = (written.bytes(), written.syncs(), Instant::now());
        for n in 0..count {
            db.commit(&batches(n)).unwrap();
        }
        let took = start.elapsed() / count;
        let (bytes, syncs) = (written.bytes() - bytes, written.syncs() - syncs);
        println!("{what}: {} bytes, {} syncs, {took:?} a commit", bytes / u64::from(count), syncs / u64::from(count));
    };
    report("time alone", 200, &mut |n| Batch { time: time(n.into()), ..Batch::default() });
    report("one member, one row", 1000, &mut step);
    report("64 members, 64 rows", 100, &mut |n| {
        let (mut members, mut journal) = (vec![], vec![]);
        for step in (0..64).map(|k| step(n * 64 + k)) {
            members.extend(step.members);
            journal.extend(step.journal);
        }
        Batch { time: time(n.into()), members, journal, ..Batch::default() }
    });

    std::mem::forget(db); // a crash: nothing is closed
    let file = state.path().join("store.redb");
    println!("file: {} bytes", std::fs::metadata(&file).unwrap().len());
    for how in ["after a crash", "after a clean end"] {
        let mut times = Vec::new();
        let mut wrote = 0;
        for _ in 0..9 {
            let bytes = written.bytes();
            let start = Instant::now();
            let (mut db, _) = directory.open().unwrap();
            times.push(start.elapsed());
            wrote = written.bytes() - bytes;
            db.commit(&step(7)).unwrap();
            if how == "after a crash" { std::mem::forget(db) } else { db.close().unwrap() }
        }
        times.sort();
        let median: Duration = times[4];
        println!("open {how}: median {median:?}, worst {:?}, {wrote} bytes", times[8]);
    }
}
