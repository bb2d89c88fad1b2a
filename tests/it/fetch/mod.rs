//! Artifacts over the network: every way in which servers, links and registries misbehave.

mod bench;
mod busy;
mod clock;
mod full_disk;
mod hosts;
mod killed;
mod many;
mod names;
mod power;
mod process;
mod proxy;
mod registry;
mod server;
mod tls;
mod traps;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use lamplighter::artifact::{Cache, Keeper, LeastSpeed, Patience, Uplink};
use lamplighter::model::{ArtifactFact, ArtifactKey, ArtifactSpec, Digest, Event, Source, Sums};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, LocalSet, spawn_local};

/// Nothing is tried again by time alone.
const NEVER: Duration = Duration::from_secs(36_000);
const ONCE: Patience = Patience { first: NEVER, longest: NEVER, wrong: NEVER };
/// Everything is tried again at once.
const EAGER: Patience =
    Patience { first: Duration::from_millis(10), longest: Duration::from_millis(50), wrong: Duration::from_millis(50) };

fn firmware(size: usize) -> Vec<u8> {
    let mut dice = fastrand::Rng::with_seed(size as u64);
    std::iter::repeat_with(|| dice.u8(..)).take(size).collect()
}

fn spec(bytes: &[u8], sources: &[String]) -> ArtifactSpec {
    let digest = Digest::new(Sha256::digest(bytes).into());
    let source = |text: &String| match text.strip_prefix("oci://") {
        Some(image) => Source::Oci { image: image.parse().unwrap() },
        None => Source::Http { url: text.parse().unwrap() },
    };
    ArtifactSpec {
        key: ArtifactKey { name: "os".into(), version: "2".parse().unwrap(), digest },
        size: bytes.len() as u64,
        sources: sources.iter().map(source).collect(),
    }
}

/// A state directory, and how the uplink is used.
struct World {
    state: TempDir,
    uplink: Uplink,
    patience: Patience,
}

impl World {
    fn new() -> Self {
        Self { state: TempDir::new().unwrap(), uplink: Uplink::default(), patience: ONCE }
    }

    fn impatient() -> Self {
        let second = Duration::from_millis(300);
        let least_speed = LeastSpeed { silence: second, window: second, bytes: 10_000 };
        Self { uplink: Uplink { least_speed, ..Uplink::default() }, ..Self::new() }
    }

    fn eager() -> Self {
        Self { patience: EAGER, ..Self::new() }
    }

    /// A process that wants this.
    fn start(&self, spec: &ArtifactSpec) -> Running {
        let cache = Cache::open(self.state.path(), 0).unwrap();
        let keeper = Keeper::new(cache, self.patience, self.uplink.clone());
        let (wanted, wants) = watch::channel(vec![spec.clone()]);
        let (files, ticks) = watch::channel(0);
        let (sender, facts) = mpsc::unbounded_channel();
        let running = keeper.clone();
        let task = spawn_local(async move {
            let report = async |event| match event {
                Event::Artifact(_, fact) => _ = sender.send(fact),
                other => panic!("{other:?}"),
            };
            running.run(wants, ticks, report).await;
        });
        Running { keeper, wanted, facts, task: task.abort_handle(), _files: files }
    }

    async fn fetch(&self, spec: &ArtifactSpec) -> Result<Sums, String> {
        match self.start(spec).next().await {
            ArtifactFact::Verified(sums) => {
                let digest = Digest::new(Sha256::digest(std::fs::read(self.file(spec, "")).unwrap()).into());
                assert_eq!(digest, spec.key.digest, "a wrong byte was accepted");
                Ok(sums)
            }
            ArtifactFact::Failed(why) => Err(why),
            ArtifactFact::Fetching(_) => unreachable!(),
        }
    }

    async fn refused(&self, spec: &ArtifactSpec, words: &[&str]) -> String {
        let why = self.fetch(spec).await.unwrap_err();
        for word in words {
            assert!(why.contains(word), "{word:?} is not in {why:?}");
        }
        assert!(!self.file(spec, "").exists());
        why
    }

    fn file(&self, spec: &ArtifactSpec, extension: &str) -> PathBuf {
        self.state.path().join(format!("artifacts/sha256/{}{extension}", spec.key.digest.hex()))
    }

    /// Every name in the cache.
    fn cached(&self) -> Vec<String> {
        let dir = std::fs::read_dir(self.state.path().join("artifacts/sha256")).unwrap();
        let mut names: Vec<_> = dir.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn credentials(&mut self, host: &str, line: &str) {
        let file = self.state.path().join(format!("{}.secret", self.uplink.credentials.len()));
        std::fs::write(&file, format!("{line}\n")).unwrap();
        self.uplink.credentials.insert(host.parse().unwrap(), file);
    }
}

struct Running {
    keeper: Rc<Keeper>,
    wanted: watch::Sender<Vec<ArtifactSpec>>,
    facts: mpsc::UnboundedReceiver<ArtifactFact>,
    task: AbortHandle,
    _files: watch::Sender<u64>,
}

impl Running {
    async fn fact(&mut self) -> ArtifactFact {
        tokio::time::timeout(Duration::from_secs(120), self.facts.recv()).await.expect("no fact came").unwrap()
    }

    /// The next fact that is more than that it begins.
    async fn next(&mut self) -> ArtifactFact {
        loop {
            match self.fact().await {
                ArtifactFact::Fetching(_) => {}
                fact => return fact,
            }
        }
    }

    async fn verified(&mut self) {
        while !matches!(self.next().await, ArtifactFact::Verified(_)) {}
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn local(test: impl AsyncFnOnce()) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    LocalSet::new().run_until(test()).await;
}

fn json(pairs: &[(&str, serde_json::Value)]) -> Vec<u8> {
    let object: BTreeMap<_, _> = pairs.iter().cloned().collect();
    serde_json::to_vec(&object).unwrap()
}
