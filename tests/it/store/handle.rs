//! The store on its thread: answers come after the disk, errors instead of silence.

use lamplighter::store::{Batch, CommitError, Db, Handle, OpenError, ReadError, Recalled, Written};

use super::sample::{batches, empty_store, history};
use crate::crash_backend::{CrashDisk, Fault};

fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(test)
}

async fn on(disk: &CrashDisk) -> Result<(Handle, Recalled), OpenError> {
    let (disk, written) = (disk.clone(), Written::default());
    let counted = written.clone();
    Handle::open(move || Db::open_on(disk.backend(), &counted), written).await
}

#[test]
fn a_directory_is_opened_used_closed_and_free_again() {
    let state = tempfile::tempdir().unwrap();
    let batches = batches(17, 12);
    let expected = history(&batches).pop().unwrap();
    run(async {
        for round in 0..2 {
            let (store, recalled) = Handle::open_directory(state.path()).await.unwrap();
            assert!(matches!(Handle::open_directory(state.path()).await, Err(OpenError::InUse(_))));
            if round == 0 {
                assert_eq!(recalled, Recalled::default());
                let opening = store.written().bytes();
                for batch in &batches {
                    store.commit(batch.clone()).await.unwrap();
                }
                assert_eq!(store.written().commits(), 12);
                assert!(store.written().bytes() > opening + 12 * 4096);
                assert!(store.written().syncs() >= 12);
            } else {
                assert_eq!(recalled.snapshot, expected.snapshot);
            }
            let rows = store.journal(2).await.unwrap();
            let newest = &expected.journal[expected.journal.len() - 2..];
            assert_eq!(rows.into_iter().map(|row| row.entry).collect::<Vec<_>>(), newest);
            assert_eq!(store.reopen().await.unwrap().snapshot, expected.snapshot);
            store.close().await.unwrap();
        }
    });
}

#[test]
fn after_a_failed_commit_everything_is_refused_until_reopened() {
    run(async {
        let disk = empty_store();
        let (store, _) = on(&disk).await.unwrap();
        let batches = batches(19, 3);
        store.commit(batches[0].clone()).await.unwrap();
        disk.fail_at(0, Fault::NoSpace);
        assert!(matches!(store.commit(batches[1].clone()).await, Err(CommitError::Unknown(_))));
        disk.heal();
        assert!(matches!(store.commit(batches[1].clone()).await, Err(CommitError::MustReopen)));
        assert!(matches!(store.journal(1).await, Err(ReadError::MustReopen)));

        disk.fail_at(0, Fault::Io);
        assert!(matches!(store.reopen().await, Err(OpenError::Io(..))));
        assert!(matches!(store.commit(batches[1].clone()).await, Err(CommitError::MustReopen)));
        disk.heal();
        assert_eq!(store.reopen().await.unwrap().snapshot, history(&batches)[1].snapshot);
        store.commit(batches[1].clone()).await.unwrap();
        store.close().await.unwrap();
        assert_eq!(on(&disk).await.unwrap().1.snapshot, history(&batches)[2].snapshot);
    });
}

#[test]
fn when_the_thread_is_gone_every_call_says_so() {
    run(async {
        let opened = Handle::open(|| panic!("the thread dies"), Written::default()).await;
        assert!(matches!(opened, Err(OpenError::Gone)), "{opened:?}");

        let disk = empty_store();
        let mut starts = 0;
        let open = move || {
            starts += 1;
            assert!(starts < 2, "the thread dies later");
            Db::open_on(disk.backend(), &Written::default())
        };
        let (store, _) = Handle::open(open, Written::default()).await.unwrap();
        assert!(matches!(store.reopen().await, Err(OpenError::Gone)));
        assert!(matches!(store.commit(Batch::default()).await, Err(CommitError::Gone)));
        assert!(matches!(store.journal(1).await, Err(ReadError::Gone)));
        assert!(matches!(store.reopen().await, Err(OpenError::Gone)));
        assert!(matches!(store.close().await, Err(CommitError::Gone)));
    });
}
