//! Starts that die while they open the store. (That a panic is remembered is shown beside the code, with a real abort.)

use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs, thread};

use lamplighter::store::{Directory, Snapshot};

use super::sample::{batches, commit_all, history};

const STATE: &str = "LAMPLIGHTER_TEST_STATE";

/// Runs in a process of its own, until it is killed.
#[test]
#[ignore = "started by the test below"]
fn child_that_opens_for_ever() {
    let Some(state) = env::var_os(STATE) else { return };
    let directory = Directory::lock(Path::new(&state)).unwrap();
    loop {
        drop(directory.open().unwrap());
    }
}

fn recall(state: &Path) -> Snapshot {
    let (_, recalled) = Directory::lock(state).unwrap().open().unwrap();
    assert_eq!(recalled.lost, None);
    recalled.snapshot
}

fn used(state: &Path) -> Snapshot {
    let batches = batches(13, 10);
    let (mut db, _) = Directory::lock(state).unwrap().open().unwrap();
    commit_all(&mut db, &batches);
    history(&batches).pop().unwrap().snapshot
}

#[test]
fn kill_9_while_opening_does_not_lose_the_store() {
    let state = tempfile::tempdir().unwrap();
    let expected = used(state.path());
    let marker = state.path().join("store.opening");
    let mut in_the_middle = 0;
    for round in 0..16 {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "store::marker::child_that_opens_for_ever", "--ignored"])
            .env(STATE, state.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        while !marker.exists() {
            assert!(child.try_wait().unwrap().is_none(), "the child goes on until it is killed");
            thread::yield_now();
        }
        (0..round % 10).for_each(|_| thread::yield_now());
        child.kill().unwrap();
        child.wait().unwrap();
        in_the_middle += usize::from(marker.exists());
        assert_eq!(recall(state.path()), expected, "round {round}");
        assert!(!marker.exists());
    }
    assert!(in_the_middle > 0, "some kill came in the middle of opening");
}

#[test]
fn four_silent_deaths_are_forgiven_and_the_fifth_is_the_files_fault() {
    let state = tempfile::tempdir().unwrap();
    let expected = used(state.path());
    let marker = state.path().join("store.opening");
    for marks in ["", "opening\n", "\0\0\0\0", &"opening\n".repeat(4)] {
        fs::write(&marker, marks).unwrap();
        assert_eq!(recall(state.path()), expected);
    }
    let bytes = fs::read(state.path().join("store.redb")).unwrap();
    fs::write(&marker, "opening\n".repeat(5)).unwrap();
    let (_, recalled) = Directory::lock(state.path()).unwrap().open().unwrap();
    let lost = recalled.lost.unwrap();
    assert_eq!(lost.why, "5 starts in a row died while opening it");
    assert_eq!(fs::read(lost.set_aside).unwrap(), bytes);
    assert!(!marker.exists());
}
