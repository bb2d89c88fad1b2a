//! The state directory: one user at a time, nothing thrown away, and a loss that cannot be overlooked.

use std::fs;
use std::path::Path;

use lamplighter::store::{Batch, Db, Directory, LostStore, OpenError, Recalled, Snapshot};

use super::sample::{batches, commit_all, history, site, time};

fn open(state: &Path) -> (Directory, Db, Recalled) {
    let directory = Directory::lock(state).unwrap();
    let (db, recalled) = directory.open().unwrap();
    (directory, db, recalled)
}

fn names(state: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(state).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A state directory with a store that holds something, and that something.
fn used() -> (tempfile::TempDir, Snapshot) {
    let state = tempfile::tempdir().unwrap();
    let batches = batches(9, 10);
    let (_directory, mut db, recalled) = open(state.path());
    assert_eq!(recalled, Recalled::default());
    commit_all(&mut db, &batches);
    db.close().unwrap();
    (state, history(&batches).pop().unwrap().snapshot)
}

#[test]
fn a_missing_file_is_a_new_site_and_a_kept_one_comes_back_whole() {
    let (state, expected) = used();
    assert_eq!(names(state.path()), ["lock", "store.redb"]);
    let (_directory, _db, recalled) = open(state.path());
    assert_eq!(recalled, Recalled { snapshot: expected, lost: None });
}

#[test]
fn a_missing_state_directory_is_made() {
    let parent = tempfile::tempdir().unwrap();
    let (_directory, _db, recalled) = open(&parent.path().join("var/lib/lamplighter"));
    assert_eq!(recalled, Recalled::default());
}

#[test]
fn a_second_lamplighter_is_told_so_and_touches_nothing() {
    let (state, expected) = used();
    let (first, mut db, _) = open(state.path());
    let before = fs::read(state.path().join("store.redb")).unwrap();
    fs::write(state.path().join("store.opening"), "opening\n").unwrap();

    let error = Directory::lock(state.path()).unwrap_err();
    assert!(matches!(&error, OpenError::InUse(path) if path == state.path()), "{error:?}");
    assert!(error.to_string().contains("another lamplighter runs on"), "{error}");
    assert_eq!(fs::read(state.path().join("store.redb")).unwrap(), before);
    assert_eq!(fs::read(state.path().join("store.opening")).unwrap(), b"opening\n");

    db.commit(&Batch { time: time(99), ..Batch::default() }).unwrap();
    drop((db, first));
    let (_directory, _db, recalled) = open(state.path());
    assert_eq!(recalled.snapshot, Snapshot { time: time(99), ..expected });
}

#[test]
fn a_damaged_file_is_set_aside_with_every_byte_and_the_loss_is_said_until_it_is_recorded() {
    let (state, _) = used();
    let store = state.path().join("store.redb");
    let whole = fs::read(&store).unwrap();
    for (n, damaged) in [&[][..], &whole[..whole.len() / 2], b"nonsense"].into_iter().enumerate() {
        fs::write(&store, damaged).unwrap();
        let set_aside = state.path().join(format!("store.redb.set-aside-{}", n + 1));
        for start in 0..3 {
            let (_directory, mut db, recalled) = open(state.path());
            let lost = recalled.lost.unwrap_or_else(|| panic!("said again at start {start}"));
            assert_eq!(lost.set_aside, set_aside);
            assert!(!lost.why.is_empty());
            assert_eq!(fs::read(&set_aside).unwrap(), damaged);
            assert_eq!(recalled.snapshot.site, None);
            // time alone does not say that the site knows
            db.commit(&Batch { time: time(start), ..Batch::default() }).unwrap();
        }
        let (directory, mut db, _) = open(state.path());
        db.commit(&Batch { time: time(9), site: Some(site(1)), ..Batch::default() }).unwrap();
        drop((db, directory));
        let (_directory, _db, recalled) = open(state.path());
        assert_eq!(recalled.lost, None);
        assert_eq!(recalled.snapshot.site, Some(site(1)));
    }
    let expected = ["lock", "store.redb", "store.redb.set-aside-1", "store.redb.set-aside-2", "store.redb.set-aside-3"];
    assert_eq!(names(state.path()), expected);
}

#[test]
fn a_crash_anywhere_while_setting_aside_ends_in_the_loss_being_said() {
    let (state, expected) = used();
    let path = |name: &str| state.path().join(name);
    let damaged = b"damaged";
    fs::rename(path("store.redb"), path("whole")).unwrap();
    fs::write(path("store.redb"), damaged).unwrap();
    drop(open(state.path()));
    let lost = LostStore { set_aside: path("store.redb.set-aside-1"), why: String::new() };
    let said = |recalled: Recalled| recalled.lost.map(|found| found.set_aside) == Some(lost.set_aside.clone());

    // before the damaged file moved
    fs::rename(path("store.redb"), path("store.redb.instead")).unwrap();
    fs::rename(path("store.redb.set-aside-1"), path("store.redb")).unwrap();
    assert!(said(open(state.path()).2));
    assert_eq!(fs::read(path("store.redb.set-aside-1")).unwrap(), damaged);

    // after it moved, with a marker that speaks of it
    fs::rename(path("store.redb"), path("store.redb.instead")).unwrap();
    fs::write(path("store.opening"), "opening\npanicked: at page 7\n").unwrap();
    assert!(said(open(state.path()).2));
    assert_eq!(names(state.path()), ["lock", "store.redb", "store.redb.set-aside-1", "whole"]);

    // half a new file is worth nothing, beside a store and without one
    fs::write(path("store.redb.new"), "half").unwrap();
    fs::rename(path("whole"), path("store.redb")).unwrap();
    assert_eq!(open(state.path()).2, Recalled { snapshot: expected, lost: None });
    fs::remove_file(path("store.redb")).unwrap();
    fs::write(path("store.redb.new"), "half").unwrap();
    assert_eq!(open(state.path()).2, Recalled::default());
}

#[test]
fn a_file_that_cannot_be_read_is_an_error_and_stays_where_it_is() {
    let state = tempfile::tempdir().unwrap();
    fs::create_dir(state.path().join("store.redb")).unwrap();
    let error = Directory::lock(state.path()).unwrap().open().unwrap_err();
    assert!(matches!(error, OpenError::Io(..)), "{error:?}");
    assert!(error.to_string().contains("store.redb"), "{error}");
    assert_eq!(names(state.path()), ["lock", "store.redb"]);
}
