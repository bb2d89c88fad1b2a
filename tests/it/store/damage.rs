//! Files that are not a store any more, or never were: found out, or harmless; never a wrong state.

use lamplighter::store::{Db, OpenError, Snapshot, Written};
use redb::{Database, TableDefinition};

use super::sample::{batches, commit_all, empty_store, fill, history};
use crate::crash_backend::CrashDisk;

/// A closed store and a crashed one with the same contents: their bytes, and the last states, newest first.
fn stores() -> ([Vec<u8>; 2], Vec<Snapshot>) {
    let batches = batches(5, 30);
    let closed = empty_store();
    fill(&closed, &batches);
    let crashed = empty_store();
    let (mut db, _) = Db::open_on(crashed.backend(), &Written::default()).unwrap();
    commit_all(&mut db, &batches);
    crashed.kill();
    let states = history(&batches).into_iter().rev().map(|contents| contents.snapshot).collect();
    ([closed.image(), crashed.image()], states)
}

enum Found {
    Damage,
    Newest,
    /// The last commit's pages are damaged after a crash: redb cannot tell that from a torn commit.
    OneBefore,
}

fn open(bytes: &[u8], states: &[Snapshot], what: &str) -> Found {
    let disk = CrashDisk::with(bytes.to_vec());
    match Db::open_on(disk.backend(), &Written::default()) {
        Ok((_, recalled)) if recalled.snapshot == states[0] => Found::Newest,
        Ok((_, recalled)) if recalled.snapshot == states[1] => Found::OneBefore,
        Ok((_, recalled)) => panic!("{what}: accepted {:#?}", recalled.snapshot),
        Err(OpenError::Damaged(why)) => {
            assert!(!why.is_empty());
            assert!(disk.image() == bytes, "{what}: a damaged file keeps every byte");
            Found::Damage
        }
        Err(other) => panic!("{what}: {other:?}"),
    }
}

#[test]
fn a_file_truncated_anywhere_is_found_out() {
    let (stores, states) = stores();
    for (bytes, closed) in stores.iter().zip([true, false]) {
        let mut random = fastrand::Rng::with_seed(1);
        let edges = [0, 1, 8, 9, 64, 319, 320, 511, 512, 4095, 4096, 4097, bytes.len() - 4096, bytes.len() - 1];
        let lengths = edges.into_iter().chain((0..200).map(|_| random.usize(..bytes.len())));
        for len in lengths.chain((0..bytes.len()).step_by(4096)) {
            let found = open(&bytes[..len], &states, &format!("truncated to {len}"));
            assert!(matches!(found, Found::Damage) || !closed, "truncated to {len}");
        }
    }
}

#[test]
fn a_file_garbled_in_a_thousand_ways_is_found_out_or_garbled_where_nothing_is() {
    let (stores, states) = stores();
    for (bytes, closed) in stores.iter().zip([true, false]) {
        let mut damaged = 0;
        for seed in 0..500 {
            let mut garbled = bytes.clone();
            garble(&mut garbled, seed);
            match open(&garbled, &states, &format!("seed {seed}")) {
                Found::Damage => damaged += 1,
                Found::Newest => {}
                Found::OneBefore => assert!(!closed, "seed {seed}: a closed store never goes back"),
            }
        }
        assert!(damaged > 100, "{damaged}");
    }
}

/// Bits, bytes and sectors; in the header, in the first pages, anywhere.
fn garble(bytes: &mut [u8], seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let end = [320, bytes.len() / 4, bytes.len()][random.usize(..3)];
    for _ in 0..random.usize(1..4) {
        let at = random.usize(..end);
        match random.u8(..3) {
            0 => bytes[at] ^= 1 << random.u8(..8),
            1 => bytes[at] = random.u8(..),
            _ => {
                let sector = at..(at + 512).min(bytes.len());
                random.fill(&mut bytes[sector]);
            }
        }
    }
}

#[test]
fn a_file_of_something_else_is_found_out() {
    let zeros = vec![0; 1 << 20];
    let text = b"state: lost\n".repeat(1000);
    let other_database = {
        let disk = CrashDisk::new();
        let db = Database::builder().create_with_backend(disk.backend()).unwrap();
        let transaction = db.begin_write().unwrap();
        transaction.open_table(TableDefinition::<u64, u64>::new("theirs")).unwrap().insert(1, 2).unwrap();
        transaction.commit().unwrap();
        drop(db);
        disk.image()
    };
    for bytes in [&[][..], &zeros, &text, &other_database] {
        assert!(matches!(open(bytes, &[Snapshot::default(), Snapshot::default()], "foreign"), Found::Damage));
    }
}

const META: TableDefinition<&[u8], &[u8]> = TableDefinition::new("meta");
const GATEWAYS: TableDefinition<&[u8], &[u8]> = TableDefinition::new("gateways");

/// Changes a store behind its back; closed afterwards, or left as after a crash.
fn meddle(disk: &CrashDisk, close: bool, change: impl FnOnce(&redb::WriteTransaction)) {
    let db = Database::builder().create_with_backend(disk.backend()).unwrap();
    let transaction = db.begin_write().unwrap();
    change(&transaction);
    transaction.commit().unwrap();
    if !close {
        disk.kill();
    }
    drop(db);
}

#[test]
fn a_store_of_a_newer_release_is_refused_and_keeps_every_byte() {
    for close in [true, false] {
        let disk = empty_store();
        meddle(&disk, close, |transaction| {
            transaction.open_table(META).unwrap().insert(&b"format"[..], &2_u64.to_be_bytes()[..]).unwrap();
        });
        let before = disk.image();
        let error = Db::open_on(disk.backend(), &Written::default()).unwrap_err();
        assert!(matches!(error, OpenError::Newer { what: "its format", found: 2, known: 1 }), "{error:?}");
        assert!(error.to_string().contains("run that release again"), "{error}");
        assert!(disk.image() == before);
    }
}

#[test]
fn one_record_of_a_newer_release_is_enough_to_refuse() {
    let disk = empty_store();
    meddle(&disk, false, |transaction| {
        let mut table = transaction.open_table(GATEWAYS).unwrap();
        table.insert(&b"gw-001"[..], &br#"[5,["another shape"]]"#[..]).unwrap();
    });
    let before = disk.image();
    let error = Db::open_on(disk.backend(), &Written::default()).unwrap_err();
    assert!(matches!(error, OpenError::Newer { what: "a gateway", found: 5, known: 4 }), "{error:?}");
    assert!(disk.image() == before);
}

#[test]
fn a_record_or_a_key_that_nobody_wrote_is_damage() {
    let cases: [(&[u8], &[u8]); 3] =
        [(b"gw-001", b"[1,{}]"), (b"gw-001", b"\xff"), (b"not a gateway\xff", br#"[1,{"spec":1}]"#)];
    for (key, value) in cases {
        let disk = empty_store();
        meddle(&disk, true, |transaction| {
            transaction.open_table(GATEWAYS).unwrap().insert(key, value).unwrap();
        });
        let opened = Db::open_on(disk.backend(), &Written::default());
        assert!(matches!(opened, Err(OpenError::Damaged(_))), "{opened:?}");
    }
}

#[test]
fn a_store_of_before_there_were_drops_is_read_and_a_drop_of_a_newer_release_is_refused() {
    const DROPS: TableDefinition<'static, &[u8], &[u8]> = TableDefinition::new("drops");
    let disk = empty_store();
    assert!(Db::open_on(disk.backend(), &Written::default()).unwrap().1.snapshot.drops.is_empty());
    meddle(&disk, false, |transaction| {
        transaction.open_table(DROPS).unwrap().insert(&[7_u8; 32][..], &br#"[2,{"order":1}]"#[..]).unwrap();
    });
    let error = Db::open_on(disk.backend(), &Written::default()).unwrap_err();
    assert!(matches!(error, OpenError::Newer { what: "a drop", found: 2, known: 1 }), "{error:?}");
}
