//! A disk that fails: an error, never a loss; and after reopening, the state before or after.

use lamplighter::store::{Batch, CommitError, Db, OpenError, ReadError, Written};

use super::sample::{Contents, batches, commit_all, empty_store, history};
use crate::crash_backend::{CrashDisk, Fault};

/// Opens and commits until something fails; how many commits were answered. Whatever fails must be the disk's fault.
fn run(disk: &CrashDisk, batches: &[Batch]) -> usize {
    let mut db = match Db::open_on(disk.backend(), &Written::default()) {
        Ok((db, _)) => db,
        Err(OpenError::Io(..)) => return 0,
        Err(other) => panic!("{other:?}"),
    };
    for (answered, batch) in batches.iter().enumerate() {
        match db.commit(batch) {
            Ok(()) => {}
            Err(CommitError::Unknown(_)) => {
                assert!(matches!(db.commit(batch), Err(CommitError::MustReopen)));
                assert!(matches!(db.journal(1), Err(ReadError::MustReopen)));
                return answered;
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    batches.len()
}

fn fails_at_every_step_and_goes_on(fault: Fault) {
    let batches = batches(23, 12);
    let history = history(&batches);
    let base = empty_store();
    let total = {
        let disk = base.copy();
        run(&disk, &batches);
        disk.steps()
    };
    let mut failures = 0;
    for step in 0..total {
        let disk = base.copy();
        disk.fail_at(step, fault);
        let answered = run(&disk, &batches);
        failures += usize::from(answered < batches.len());
        disk.heal();
        disk.drop_caches(); // as a directory does before it opens

        let (mut db, recalled) = Db::open_on(disk.backend(), &Written::default()).expect("a healed disk opens");
        let found = Contents::of(&db, recalled.snapshot);
        let at = (answered..history.len().min(answered + 2)).find(|at| history[*at] == found);
        let at = at.unwrap_or_else(|| panic!("step {step}: {answered} commits were answered, found {found:#?}"));

        commit_all(&mut db, &batches[at..]);
        disk.cut_power(0, false);
        drop(db);
        let (db, recalled) = Db::open_on(disk.backend(), &Written::default()).unwrap();
        assert_eq!(Contents::of(&db, recalled.snapshot), history[batches.len()], "step {step}: all of it is durable");
    }
    assert!(failures > 0);
}

#[test]
fn no_space_at_any_write_is_an_error_and_the_store_goes_on_once_there_is_space() {
    fails_at_every_step_and_goes_on(Fault::NoSpace);
}

#[test]
fn an_io_error_at_any_write_is_an_error_and_the_store_goes_on_after_it() {
    fails_at_every_step_and_goes_on(Fault::Io);
}

#[test]
fn a_failed_fsync_is_an_error_and_what_it_lost_is_never_taken_for_saved() {
    fails_at_every_step_and_goes_on(Fault::Sync);
}

#[test]
fn a_disk_that_cannot_be_read_is_not_a_damaged_store() {
    let disk = empty_store();
    disk.fail_at(0, Fault::Io);
    let before = disk.image();
    let error = Db::open_on(disk.backend(), &Written::default()).unwrap_err();
    assert!(matches!(error, OpenError::Io(..)), "{error:?}");
    assert!(error.to_string().contains("free space or repair the disk"), "{error}");
    assert_eq!(disk.image(), before);
}
