//! The drop directory through its front, with a site that is played.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use lamplighter::intake::drops::{Desk, DropLine, Drops, Pace, Progress, Standing, follow};
use lamplighter::model::{ArtifactSpec, Digest, Dropped, Verdict};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{sleep, timeout};

use crate::resources::{gateway, rollout};

/// Quick enough to test with; nothing is looked at that was not heard.
const PACE: Pace = Pace {
    look: lamplighter::intake::Pace {
        quiet: Duration::from_millis(20),
        longest: Duration::from_millis(500),
        rescan: Duration::from_secs(3_600),
        poll: Duration::from_millis(50),
    },
    rest: Duration::from_millis(50),
    bad_after: Duration::from_millis(100),
    wrong_after: Duration::from_secs(3_600),
    least: Duration::from_millis(50),
};

/// A site that accepts everything once its artifacts are in the cache, and puts there what is wanted.
#[derive(Clone, Default)]
struct Played {
    looks: Rc<Cell<u32>>,
    decided: Rc<RefCell<Vec<Dropped>>>,
    wanted: Rc<RefCell<Vec<ArtifactSpec>>>,
    cached: Rc<RefCell<BTreeSet<Digest>>>,
    /// Puts nothing into the cache.
    stuck: Rc<Cell<bool>>,
}

struct PlayedDesk(Played, watch::Receiver<u64>);

impl Desk for PlayedDesk {
    fn standing(&self, artifact: &ArtifactSpec) -> Standing {
        if self.0.cached.borrow().contains(&artifact.key.digest) { Standing::Ready } else { Standing::Absent }
    }

    fn want(&self, artifacts: Vec<ArtifactSpec>) {
        if !self.0.stuck.get() {
            self.0.cached.borrow_mut().extend(artifacts.iter().map(|artifact| artifact.key.digest));
        }
        self.0.wanted.replace(artifacts);
    }

    fn show(&self, _drops: Vec<DropLine>) {
        self.0.looks.set(self.0.looks.get() + 1);
    }

    async fn is_accepted(&self, manifest: Digest) -> Option<bool> {
        let accepted = |drop: &Dropped| drop.digest == Some(manifest) && drop.content.is_ok();
        Some(self.0.decided.borrow().iter().any(accepted))
    }

    async fn decide(&self, drop: Dropped) -> Option<Verdict> {
        self.0.decided.borrow_mut().push(drop);
        Some(Verdict::Accepted)
    }

    async fn progress(&self) -> Option<Vec<Progress>> {
        Some(Vec::new())
    }

    async fn changed(&mut self) {
        // somebody commits something all the time
        sleep(Duration::from_millis(30)).await;
        self.1.borrow_and_update();
    }
}

async fn following(dir: &Path, site: Played, test: impl AsyncFnOnce()) {
    let drops = Drops::new(dir.to_owned(), Duration::from_secs(60), PACE);
    let (_sender, receiver) = watch::channel(0);
    LocalSet::new()
        .run_until(async {
            let task = spawn_local(follow(drops, PlayedDesk(site, receiver)));
            test().await;
            task.abort();
        })
        .await;
}

async fn until(what: &str, mut look: impl FnMut() -> bool) {
    let waiting = async {
        while !look() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(60), waiting).await.unwrap_or_else(|_| panic!("never: {what}"));
}

/// The four bytes that the sample rollout means.
fn artifact_digest() -> Digest {
    Digest::new(Sha256::digest("test").into())
}

#[tokio::test]
async fn what_is_written_beside_drops_does_not_wake_it_for_ever() {
    let (dir, site) = (TempDir::new().unwrap(), Played::default());
    let at = |name: &str| dir.path().join(name);
    fs::write(at("good.yaml"), gateway("gw-1", "{}")).unwrap();
    fs::write(at("bad.yaml"), "x: 1").unwrap();
    following(dir.path(), site.clone(), async || {
        until("both are decided", || at("good.status.json").exists() && at("rejected/bad.reason.txt").exists()).await;
        // nothing waits any more, and so what goes on at the site is of no interest but for the accepted drop's progress
        fs::remove_file(at("good.yaml")).unwrap();
        until("its result is gone", || !at("good.status.json").exists()).await;
        let mut rests = 0;
        let mut before = site.looks.get();
        for _ in 0..50 {
            sleep(Duration::from_millis(200)).await;
            rests = if site.looks.get() == before { rests + 1 } else { 0 };
            before = site.looks.get();
            if rests == 5 {
                return;
            }
        }
        panic!("it looked {before} times and still does");
    })
    .await;
    assert_eq!(site.decided.borrow().len(), 2);
}

#[tokio::test]
async fn a_file_of_any_name_with_the_size_and_digest_is_the_artifact_and_only_that() {
    let (dir, site) = (TempDir::new().unwrap(), Played::default());
    site.stuck.set(true);
    fs::write(dir.path().join("os-2.swu"), "tesT").unwrap();
    fs::write(dir.path().join("decoy.bin"), "abcd").unwrap();
    fs::write(dir.path().join("r.yaml"), rollout("r", "")).unwrap();
    following(dir.path(), site.clone(), async || {
        let result = || fs::read_to_string(dir.path().join("r.status.json")).unwrap_or_default();
        until("it waits", || result().contains("os-2.swu is here, but has another digest")).await;
        assert_eq!(*site.wanted.borrow(), []);
        fs::write(dir.path().join("x y.dat"), "test").unwrap();
        until("it is wanted", || !site.wanted.borrow().is_empty()).await;
        let wanted = site.wanted.borrow().clone();
        assert_eq!(wanted[0].key.digest, artifact_digest());
        assert_eq!(wanted[0].sources.iter().filter_map(|source| source.file_name()).collect::<Vec<_>>(), ["x y.dat"]);
        until("that is said", || result().contains("r: is here, and is being copied into the cache")).await;
        assert!(site.decided.borrow().is_empty(), "nothing is acted on before it is in the cache");
        site.cached.borrow_mut().insert(artifact_digest());
        until("it is handed on", || site.decided.borrow().len() == 1).await;
    })
    .await;
}

#[tokio::test]
async fn a_manifest_that_is_still_written_to_is_left_alone() {
    let (dir, site) = (TempDir::new().unwrap(), Played::default());
    let path = dir.path().join("g.yaml");
    let whole = gateway("gw-1", "{}") + "---\n" + &gateway("gw-2", "{}");
    following(dir.path(), site.clone(), async || {
        // the first half is a whole manifest too
        for end in (10..whole.len()).step_by(whole.len() / 12) {
            fs::write(&path, &whole[..end]).unwrap();
            sleep(Duration::from_millis(10)).await;
        }
        fs::write(&path, &whole).unwrap();
        until("it is handed on", || !site.decided.borrow().is_empty()).await;
    })
    .await;
    let decided = site.decided.borrow();
    assert_eq!(decided.last().unwrap().content.as_ref().unwrap().len(), 2);
}

/// If a link were followed at any moment, the bytes outside would be the right ones.
#[tokio::test]
async fn a_link_that_is_swapped_in_while_files_are_read_is_never_followed() {
    let (dir, outside, site) = (TempDir::new().unwrap(), TempDir::new().unwrap(), Played::default());
    let at = |name: &str| dir.path().join(name);
    site.stuck.set(true);
    fs::write(outside.path().join("os"), "test").unwrap();
    fs::write(outside.path().join("g.yaml"), gateway("outside", "{}")).unwrap();
    fs::write(at("r.yaml"), rollout("r", "")).unwrap();
    following(dir.path(), site.clone(), async || {
        until("it waits", || at("r.status.json").exists()).await;
        let looks = site.looks.get();
        let mut swaps = 0_u32;
        until("it looked often enough", || {
            swaps += 1;
            let (os, inside) = (at("os-2.swu"), if swaps.is_multiple_of(2) { "tesT" } else { "tESt" });
            fs::write(at(".new"), inside).unwrap();
            fs::rename(at(".new"), &os).unwrap();
            symlink(outside.path().join("os"), at(".link")).unwrap();
            fs::rename(at(".link"), &os).unwrap();
            symlink(outside.path().join("g.yaml"), at(".link")).unwrap();
            fs::rename(at(".link"), at("g.yaml")).unwrap();
            assert_eq!(*site.wanted.borrow(), []);
            site.looks.get() > looks + 20
        })
        .await;
    })
    .await;
    assert!(site.decided.borrow().iter().all(|drop| drop.content.is_err()), "{:?}", site.decided.borrow());
}
