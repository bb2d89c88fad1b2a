//! Artifacts on their way into the cache.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use lamplighter::artifact::{ArtifactError, Cache, Keeper, Patience, Uplink};
use lamplighter::model::{ArtifactFact, ArtifactKey, ArtifactSpec, Digest, Event, Source, Sums};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use tokio::sync::{mpsc, watch};
use tokio::task::LocalSet;

struct World {
    state: TempDir,
    source: TempDir,
}

impl World {
    fn new() -> Self {
        Self { state: TempDir::new().unwrap(), source: TempDir::new().unwrap() }
    }

    fn cache(&self) -> Cache {
        Cache::open(self.state.path(), 0).unwrap()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.source.path().join(name)
    }

    /// What a manifest says of these bytes, whatever lies there.
    fn spec(&self, bytes: &[u8]) -> ArtifactSpec {
        let digest = Digest::new(Sha256::digest(bytes).into());
        ArtifactSpec {
            key: ArtifactKey { name: "os".into(), version: "2".parse().unwrap(), digest },
            size: bytes.len() as u64,
            sources: vec![self.source("os.swu")],
        }
    }

    fn source(&self, name: &str) -> Source {
        Source::File { dir: self.source.path().to_owned(), name: name.into() }
    }

    /// Every name in the cache.
    fn cached(&self) -> Vec<String> {
        let dir = self.state.path().join("artifacts/sha256");
        let mut names: Vec<_> =
            std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// Copies the spec's first source, which is a file.
fn copy_in(cache: &Cache, spec: &ArtifactSpec) -> Result<Sums, ArtifactError> {
    let Source::File { dir, name } = &spec.sources[0] else { panic!() };
    cache.copy_in(spec, dir, name)
}

fn firmware(size: usize) -> Vec<u8> {
    (0..=250_u8).cycle().take(size).collect()
}

#[test]
fn a_file_beside_the_manifest_is_copied_with_all_three_hashes() {
    let world = World::new();
    std::fs::write(world.file("os.swu"), "test").unwrap();
    let (cache, spec) = (world.cache(), world.spec(b"test"));
    let sums = copy_in(&cache, &spec).unwrap();
    assert_eq!(sums.sha1, "a94a8fe5ccb19ba61c4c0873d391e987982fbbd3");
    assert_eq!(sums.md5, "098f6bcd4621d373cade4e832627b4f6");
    assert_eq!(world.cached(), [spec.key.digest.hex()]);
    let mut text = String::new();
    cache.open_file(&spec.key.digest).unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "test");
    assert_eq!(cache.verify(&spec.key.digest, 4).unwrap(), sums);
}

#[test]
fn a_file_larger_than_the_buffer_and_an_odd_length_is_copied_whole() {
    let world = World::new();
    let bytes = firmware(1_000_003);
    std::fs::write(world.file("os.swu"), &bytes).unwrap();
    let (cache, spec) = (world.cache(), world.spec(&bytes));
    copy_in(&cache, &spec).unwrap();
    assert_eq!(std::fs::read(cache.path(&spec.key.digest)).unwrap(), bytes);
}

/// Copies `os.swu`, which must fail and leave nothing.
fn fails(world: &World, spec: &ArtifactSpec) -> ArtifactError {
    let error = copy_in(&world.cache(), spec).unwrap_err();
    assert_eq!(world.cached(), Vec::<String>::new(), "{error}");
    error
}

#[test]
fn a_wrong_digest_is_refused() {
    let world = World::new();
    std::fs::write(world.file("os.swu"), "tesd").unwrap();
    let error = fails(&world, &world.spec(b"test"));
    assert!(matches!(error, ArtifactError::WrongDigest { .. }), "{error}");
    assert!(error.to_string().contains("os.swu") && error.to_string().contains("spec.artifact.digest"), "{error}");
}

#[test]
fn a_truncated_file_may_still_be_copying() {
    let world = World::new();
    std::fs::write(world.file("os.swu"), "tes").unwrap();
    let error = fails(&world, &world.spec(b"test"));
    assert!(matches!(error, ArtifactError::Truncated { got: 3, said: 4, .. }), "{error}");
    assert!(error.to_string().contains("may still be copying"), "{error}");
}

#[test]
fn a_file_longer_than_said_is_refused_without_reading_it() {
    let world = World::new();
    // A terabyte of nothing: reading it would not end.
    std::fs::File::create(world.file("os.swu")).unwrap().set_len(1 << 40).unwrap();
    let error = fails(&world, &world.spec(b"test"));
    assert!(matches!(error, ArtifactError::TooLong { said: 4, .. }), "{error}");
}

#[test]
fn a_file_that_changes_while_it_is_read_is_never_accepted() {
    let world = World::new();
    let bytes = firmware(16 << 20);
    std::fs::write(world.file("os.swu"), &bytes).unwrap();
    let spec = world.spec(&bytes);
    let (path, stop) = (world.file("os.swu"), std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false)));
    let writing = stop.clone();
    // The bytes are always the right ones; only the file's times tell that somebody writes.
    let writer = std::thread::spawn(move || {
        let mut file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
        while !writing.load(std::sync::atomic::Ordering::Relaxed) {
            std::io::Seek::rewind(&mut file).unwrap();
            file.write_all(&[0]).unwrap();
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    let error = copy_in(&world.cache(), &spec);
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    writer.join().unwrap();
    assert!(matches!(error, Err(ArtifactError::Changed { .. })), "{error:?}");
    assert_eq!(world.cached(), Vec::<String>::new());
}

#[test]
fn a_missing_file_a_link_out_and_a_pipe_are_refused() {
    let world = World::new();
    let spec = world.spec(b"test");
    assert!(fails(&world, &spec).to_string().contains("os.swu does not exist"));
    std::os::unix::fs::symlink("/dev/zero", world.file("os.swu")).unwrap();
    assert!(fails(&world, &spec).to_string().contains("leads out"));
    std::fs::remove_file(world.file("os.swu")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(world.file("os.swu")).status().unwrap().success());
    assert!(fails(&world, &spec).to_string().contains("a pipe"));
}

/// Names such as these are refused when the manifest is read; should one come through, it still leads nowhere.
#[test]
fn a_source_outside_the_directory_is_refused_by_the_cache_too() {
    let (world, outside) = (World::new(), TempDir::new().unwrap());
    std::fs::write(outside.path().join("os.swu"), "test").unwrap();
    let absolute = outside.path().join("os.swu").to_str().unwrap().to_owned();
    let dotted = format!("../{}/os.swu", outside.path().file_name().unwrap().to_str().unwrap());
    for name in [absolute, dotted] {
        let spec = ArtifactSpec { sources: vec![world.source(&name)], ..world.spec(b"test") };
        assert!(fails(&world, &spec).to_string().contains("leads out"));
    }
}

#[tokio::test]
async fn sources_are_tried_in_order_and_all_are_named_when_none_has_it() {
    let world = World::new();
    let both = vec![world.source("a.swu"), world.source("b.swu")];
    let spec = ArtifactSpec { sources: both, ..world.spec(b"test") };
    keeping(world.cache(), NEVER, async |mut kept| {
        kept.wanted.send_replace(vec![spec.clone()]);
        let ArtifactFact::Failed(why) = kept.next().await else { panic!() };
        assert!(why.contains("a.swu") && why.contains("b.swu"), "{why}");
        std::fs::write(world.file("b.swu"), "test").unwrap();
        kept.tick();
        assert!(matches!(kept.next().await, ArtifactFact::Verified(_)));
    })
    .await;
}

#[tokio::test]
async fn other_sources_are_tried_at_once() {
    let world = World::new();
    std::fs::write(world.file("b.swu"), "test").unwrap();
    keeping(world.cache(), NEVER, async |mut kept| {
        kept.wanted.send_replace(vec![world.spec(b"test")]);
        assert!(matches!(kept.next().await, ArtifactFact::Failed(_)));
        kept.wanted.send_replace(vec![ArtifactSpec { sources: vec![world.source("b.swu")], ..world.spec(b"test") }]);
        assert!(matches!(kept.next().await, ArtifactFact::Verified(_)));
    })
    .await;
}

#[test]
fn a_disk_without_room_for_the_reserve_is_not_filled() {
    let world = World::new();
    std::fs::write(world.file("os.swu"), "test").unwrap();
    let cache = Cache::open(world.state.path(), u64::MAX / 2).unwrap();
    let error = copy_in(&cache, &world.spec(b"test")).unwrap_err();
    assert!(error.to_string().contains("limits.diskReserve"), "{error}");
    assert_eq!(world.cached(), Vec::<String>::new());
}

#[test]
fn half_copies_of_an_earlier_run_are_removed_at_start() {
    let world = World::new();
    world.cache();
    let dir = world.state.path().join("artifacts/sha256");
    for name in ["aa.part", "bb", "cc.damaged-1"] {
        std::fs::write(dir.join(name), "x").unwrap();
    }
    world.cache();
    assert_eq!(world.cached(), ["bb", "cc.damaged-1"]);
}

#[test]
fn a_damaged_cached_file_is_set_aside_with_its_bytes() {
    let world = World::new();
    std::fs::write(world.file("os.swu"), "test").unwrap();
    let (cache, spec) = (world.cache(), world.spec(b"test"));
    let digest = spec.key.digest;
    for (n, damage) in ["tesd", "te", "tests"].into_iter().enumerate() {
        copy_in(&cache, &spec).unwrap();
        std::fs::write(cache.path(&digest), damage).unwrap();
        let error = cache.verify(&digest, 4).unwrap_err();
        assert!(matches!(error, ArtifactError::Damaged { .. }), "{error}");
        let aside = world.state.path().join(format!("artifacts/sha256/{}.damaged-{}", digest.hex(), n + 1));
        assert_eq!(std::fs::read_to_string(aside).unwrap(), damage);
        assert!(matches!(cache.verify(&digest, 4), Err(ArtifactError::NotCached { .. })));
    }
}

#[test]
fn a_wrong_size_in_a_manifest_does_not_condemn_a_good_file() {
    let world = World::new();
    std::fs::write(world.file("os.swu"), "test").unwrap();
    let (cache, spec) = (world.cache(), world.spec(b"test"));
    copy_in(&cache, &spec).unwrap();
    assert!(matches!(cache.verify(&spec.key.digest, 5), Err(ArtifactError::Truncated { .. })));
    assert!(matches!(cache.verify(&spec.key.digest, 3), Err(ArtifactError::TooLong { .. })));
    assert!(cache.verify(&spec.key.digest, 4).is_ok());
}

struct Kept {
    keeper: Rc<Keeper>,
    wanted: watch::Sender<Vec<ArtifactSpec>>,
    files: watch::Sender<u64>,
    facts: mpsc::UnboundedReceiver<(Digest, ArtifactFact)>,
}

impl Kept {
    async fn next(&mut self) -> ArtifactFact {
        tokio::time::timeout(Duration::from_secs(60), self.facts.recv()).await.expect("no fact came").unwrap().1
    }

    /// It is said before it comes again, so that nobody is offered it meanwhile.
    async fn is_damaged(&mut self) {
        let ArtifactFact::Failed(why) = self.next().await else { panic!() };
        assert!(why.contains("is damaged and was set aside"), "{why}");
    }

    fn tick(&self) {
        self.files.send_modify(|count| *count += 1);
    }
}

/// Nothing is tried again by time alone.
const NEVER: Patience = Patience {
    first: Duration::from_secs(36_000),
    longest: Duration::from_secs(36_000),
    wrong: Duration::from_secs(36_000),
};

async fn keeping(cache: Cache, patience: Patience, test: impl AsyncFnOnce(Kept)) {
    LocalSet::new()
        .run_until(async {
            let keeper = Keeper::new(cache, patience, Uplink::default());
            let (wanted, wants) = watch::channel(vec![]);
            let (files, ticks) = watch::channel(0);
            let (sender, facts) = mpsc::unbounded_channel();
            let running = keeper.clone();
            let task = tokio::task::spawn_local(async move {
                let report = async |event| match event {
                    Event::Artifact(digest, fact) => sender.send((digest, fact)).unwrap(),
                    other => panic!("{other:?}"),
                };
                running.run(wants, ticks, report).await;
            });
            test(Kept { keeper, wanted, files, facts }).await;
            task.abort();
        })
        .await;
}

#[tokio::test]
async fn a_wanted_artifact_is_copied_once_and_ready_before_it_is_reported() {
    let world = World::new();
    std::fs::write(world.file("os.swu"), "test").unwrap();
    keeping(world.cache(), NEVER, async |mut kept| {
        let spec = world.spec(b"test");
        let digest = spec.key.digest;
        assert!(!kept.keeper.ready(&digest));
        assert!(kept.keeper.open(&digest).is_err());
        kept.wanted.send_replace(vec![spec.clone(), spec.clone()]);
        assert!(matches!(kept.next().await, ArtifactFact::Verified(_)));
        assert!(kept.keeper.ready(&digest) && kept.keeper.open(&digest).is_ok());
        std::fs::remove_file(world.file("os.swu")).unwrap();
        kept.wanted.send_replace(vec![spec]);
        kept.tick();
        kept.keeper.report_again();
        assert!(matches!(kept.next().await, ArtifactFact::Verified(_)));
        assert!(kept.facts.try_recv().is_err());
    })
    .await;
}

#[tokio::test]
async fn after_a_restart_a_cached_artifact_is_verified_without_its_source() {
    let world = World::new();
    std::fs::write(world.file("os.swu"), "test").unwrap();
    copy_in(&world.cache(), &world.spec(b"test")).unwrap();
    std::fs::remove_file(world.file("os.swu")).unwrap();
    keeping(world.cache(), NEVER, async |mut kept| {
        kept.wanted.send_replace(vec![world.spec(b"test")]);
        assert!(matches!(kept.next().await, ArtifactFact::Verified(_)));
    })
    .await;
}

#[tokio::test]
async fn a_failed_artifact_is_tried_again_when_a_file_changed_and_the_same_failure_is_said_once() {
    let world = World::new();
    keeping(world.cache(), NEVER, async |mut kept| {
        kept.wanted.send_replace(vec![world.spec(b"test")]);
        let ArtifactFact::Failed(why) = kept.next().await else { panic!() };
        assert!(why.contains("does not exist"), "{why}");
        kept.tick();
        std::fs::write(world.file("os.swu"), "te").unwrap();
        kept.tick();
        let ArtifactFact::Failed(why) = kept.next().await else { panic!() };
        assert!(why.contains("may still be copying"), "{why}");
        std::fs::write(world.file("os.swu"), "tes").unwrap();
        kept.tick();
        std::fs::write(world.file("os.swu"), "test").unwrap();
        kept.tick();
        assert!(matches!(kept.next().await, ArtifactFact::Verified(_)));
    })
    .await;
}

#[tokio::test]
async fn a_failed_artifact_is_tried_again_by_itself() {
    let world = World::new();
    let quick = Patience { first: Duration::from_millis(5), longest: Duration::from_millis(20), ..NEVER };
    keeping(world.cache(), quick, async |mut kept| {
        kept.wanted.send_replace(vec![world.spec(b"test")]);
        assert!(matches!(kept.next().await, ArtifactFact::Failed(_)));
        std::fs::write(world.file("os.swu"), "test").unwrap();
        while !matches!(kept.next().await, ArtifactFact::Verified(_)) {}
    })
    .await;
}

#[tokio::test]
async fn one_bad_artifact_does_not_hold_up_the_next() {
    let world = World::new();
    std::fs::write(world.file("good.swu"), "good").unwrap();
    keeping(world.cache(), NEVER, async |mut kept| {
        let good = ArtifactSpec { sources: vec![world.source("good.swu")], ..world.spec(b"good") };
        kept.wanted.send_replace(vec![world.spec(b"test"), good.clone()]);
        assert!(matches!(kept.next().await, ArtifactFact::Failed(_)));
        assert!(matches!(kept.next().await, ArtifactFact::Verified(_)));
        assert!(kept.keeper.ready(&good.key.digest));
    })
    .await;
}

#[tokio::test]
async fn a_cached_file_that_is_cut_written_to_or_removed_with_its_directory_is_not_served_and_comes_back() {
    let world = World::new();
    std::fs::write(world.file("os.swu"), "test").unwrap();
    keeping(world.cache(), NEVER, async |mut kept| {
        let spec = world.spec(b"test");
        let digest = spec.key.digest;
        kept.wanted.send_replace(vec![spec]);
        kept.next().await;
        let path = world.cache().path(&digest);
        let damages: [fn(&Path); 3] = [
            |path| std::fs::write(path, "te").unwrap(),
            |path| std::fs::write(path, "tesd").unwrap(),
            |path| std::fs::remove_dir_all(path.parent().unwrap().parent().unwrap()).unwrap(),
        ];
        for damage in damages {
            assert!(kept.keeper.open(&digest).is_ok());
            damage(&path);
            assert!(kept.keeper.open(&digest).is_err(), "it is not what was verified");
            if path.exists() {
                kept.is_damaged().await;
            }
            assert!(matches!(kept.next().await, ArtifactFact::Verified(_)));
            assert_eq!(std::fs::read_to_string(&path).unwrap(), "test");
        }
    })
    .await;
}

#[tokio::test]
async fn an_artifact_found_damaged_while_serving_is_fetched_again() {
    let world = World::new();
    std::fs::write(world.file("os.swu"), "test").unwrap();
    keeping(world.cache(), NEVER, async |mut kept| {
        let spec = world.spec(b"test");
        let digest = spec.key.digest;
        kept.wanted.send_replace(vec![spec]);
        kept.next().await;
        let path = world.cache().path(&digest);
        std::fs::write(&path, "tesd").unwrap();
        kept.keeper.invalidate(&digest);
        assert!(!kept.keeper.ready(&digest));
        kept.is_damaged().await;
        assert!(matches!(kept.next().await, ArtifactFact::Verified(_)));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "test");
        std::fs::remove_file(&path).unwrap();
        assert!(kept.keeper.open(&digest).is_err());
        assert!(matches!(kept.next().await, ArtifactFact::Verified(_)));
        assert!(Path::new(&path).exists());
    })
    .await;
}

/// Opening works, and the first byte is an input/output error, as on a disk with a bad sector.
#[tokio::test]
async fn a_cached_file_that_the_disk_does_not_give_is_set_aside_and_comes_again() {
    let world = World::new();
    std::fs::write(world.file("os.swu"), "test").unwrap();
    keeping(world.cache(), NEVER, async |mut kept| {
        let spec = world.spec(b"test");
        let digest = spec.key.digest;
        kept.wanted.send_replace(vec![spec]);
        kept.next().await;
        let path = world.cache().path(&digest);
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/proc/self/mem", &path).unwrap();
        kept.keeper.invalidate(&digest);
        kept.is_damaged().await;
        assert!(matches!(kept.next().await, ArtifactFact::Verified(_)));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "test");
        assert_eq!(world.cached(), [digest.hex(), format!("{}.damaged-1", digest.hex())]);
    })
    .await;
}
