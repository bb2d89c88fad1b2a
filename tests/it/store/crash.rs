//! Power cuts: whatever was answered is there afterwards, whatever was under way is there whole or not at all.

use lamplighter::store::{Batch, Db, Written};

use super::sample::{Contents, batches, commit_all, empty_store, history};
use crate::crash_backend::{CrashDisk, Fault};

/// Opens and commits until something fails; how many commits were answered.
fn run(disk: &CrashDisk, batches: &[Batch]) -> usize {
    let Ok((mut db, _)) = Db::open_on(disk.backend(), &Written::default()) else { return 0 };
    batches.iter().take_while(|batch| db.commit(batch).is_ok()).count()
}

fn contents(disk: &CrashDisk) -> Contents {
    let (db, recalled) = Db::open_on(disk.backend(), &Written::default()).expect("the store opens after a crash");
    assert_eq!(recalled.lost, None);
    Contents::of(&db, recalled.snapshot)
}

fn assert_before_or_after(found: &Contents, history: &[Contents], answered: usize, what: &str) {
    let allowed = &history[answered..history.len().min(answered + 2)];
    assert!(allowed.contains(found), "{what}: {answered} commits were answered, found {found:#?}");
}

#[test]
fn power_lost_at_every_write_of_every_commit_leaves_the_last_commit_or_the_one_under_way() {
    let batches = batches(7, 14);
    let history = history(&batches);
    let base = empty_store();
    let total = {
        let disk = base.copy();
        assert_eq!(run(&disk, &batches), batches.len());
        disk.steps()
    };
    let mut under_way = 0;
    for step in 0..total {
        let disk = base.copy();
        disk.fail_at(step, Fault::PowerCut);
        let answered = run(&disk, &batches);
        for (seed, torn) in [(0, false), (1, false), (step + 2, false), (step + 3, true)] {
            let after = disk.copy();
            after.cut_power(seed, torn);
            let found = contents(&after);
            assert_before_or_after(&found, &history, answered, &format!("step {step}, seed {seed}"));
            under_way += usize::from(found != history[answered]);
        }
    }
    assert!(under_way > 0, "some crash came after the commit was on disk and before its answer");
}

#[test]
fn power_lost_again_while_recovering_changes_nothing() {
    let batches = batches(11, 6);
    let history = history(&batches);
    let base = empty_store();
    for step in (5..60).step_by(6) {
        let crashed = base.copy();
        crashed.fail_at(step, Fault::PowerCut);
        let answered = run(&crashed, &batches);
        crashed.cut_power(step, true);
        for again in 0.. {
            let disk = crashed.copy();
            disk.fail_at(again, Fault::PowerCut);
            let opened = Db::open_on(disk.backend(), &Written::default()).is_ok();
            disk.cut_power(again, true);
            assert_before_or_after(&contents(&disk), &history, answered, &format!("step {step}, then {again}"));
            if opened {
                break;
            }
        }
    }
}

#[test]
fn a_killed_process_loses_nothing_and_an_idle_end_is_clean() {
    let batches = batches(3, 10);
    let disk = empty_store();
    let (mut db, _) = Db::open_on(disk.backend(), &Written::default()).unwrap();
    commit_all(&mut db, &batches);
    disk.kill();
    drop(db);
    let expected = history(&batches).pop().unwrap();
    assert_eq!(contents(&disk), expected);

    disk.cut_power(0, false);
    assert_eq!(contents(&disk), expected, "recovering made it durable");
}
