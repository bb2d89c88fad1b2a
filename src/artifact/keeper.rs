//! Has every wanted artifact in the cache, one at a time, and says how it went.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until};

use super::copy::Stamp;
use super::{ArtifactError, Cache};
use crate::model::{ArtifactFact, ArtifactSpec, Digest, Event, Sums};

/// How long a failed artifact waits before it is tried again without anything having changed.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// After the first failure.
    pub first: Duration,
    /// It doubles up to this.
    pub longest: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { first: Duration::from_secs(5), longest: Duration::from_secs(300) }
    }
}

/// The executor of wanted artifacts; also what the device server asks before it serves one.
#[derive(Debug)]
pub struct Keeper {
    cache: Cache,
    patience: Patience,
    state: RefCell<State>,
    look_again: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Verified in this process.
    ready: BTreeMap<Digest, Ready>,
    failed: BTreeMap<Digest, Failure>,
}

#[derive(Debug)]
struct Ready {
    sums: Sums,
    /// Of the cached file when it was verified.
    stamp: Stamp,
    said: bool,
}

#[derive(Debug)]
struct Failure {
    again: Instant,
    wait: Duration,
    /// What was reported, so that it is reported once.
    said: Option<String>,
}

impl Keeper {
    /// Of this cache. It does nothing until it [runs](Self::run).
    pub fn new(cache: Cache, patience: Patience) -> Rc<Self> {
        Rc::new(Self { cache, patience, state: RefCell::default(), look_again: Notify::new() })
    }

    /// Was it verified in this process, and not found damaged since?
    pub fn ready(&self, digest: &Digest) -> bool {
        self.state.borrow().ready.contains_key(digest)
    }

    /// Opens a verified artifact for serving. One that cannot be opened, or was written to since it was verified, is
    /// verified and if need be fetched again.
    pub fn open(&self, digest: &Digest) -> io::Result<File> {
        let Some(stamp) = self.state.borrow().ready.get(digest).map(|ready| ready.stamp) else {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the artifact is not verified yet"));
        };
        let opened = self.cache.open_file(digest).and_then(|file| match Stamp::of(&file)? {
            now if now == stamp => Ok(file),
            _ => Err(io::Error::other("the artifact was written to since it was verified")),
        });
        opened.inspect_err(|error| {
            tracing::warn!(%digest, %error, "a cached artifact cannot be served: it is verified again");
            self.invalidate(digest);
        })
    }

    /// The cached file turned out to be gone or damaged: it is verified, and fetched again if need be.
    pub fn invalidate(&self, digest: &Digest) {
        self.state.borrow_mut().ready.remove(digest);
        self.look_again.notify_one();
    }

    /// Whoever listens lost its memory: every fact is reported again.
    pub fn report_again(&self) {
        let mut state = self.state.borrow_mut();
        state.ready.values_mut().for_each(|ready| ready.said = false);
        state.failed.clear();
        self.look_again.notify_one();
    }

    /// Converges on what is wanted until its sender is dropped. `files` counts up when something changed beside the
    /// manifests; then all that failed is tried again at once. One digest that is wanted twice is fetched once.
    pub async fn run(
        &self,
        mut wanted: watch::Receiver<Vec<ArtifactSpec>>,
        mut files: watch::Receiver<u64>,
        report: impl AsyncFn(Event),
    ) {
        let _stop = StopOnDrop(self.cache.clone());
        loop {
            self.report_ready(&wanted.borrow_and_update().clone(), &report).await;
            let (due, next) = self.due(&wanted.borrow());
            if let Some(spec) = due {
                self.fetch(spec, &report).await;
                continue;
            }
            tokio::select! {
                changed = wanted.changed() => if changed.is_err() { return },
                Ok(()) = files.changed() => self.retry_now(),
                () = self.look_again.notified() => {}
                () = until(next) => {}
            }
        }
    }

    async fn report_ready(&self, wanted: &[ArtifactSpec], report: &impl AsyncFn(Event)) {
        for spec in wanted {
            let digest = spec.key.digest;
            let sums = self.state.borrow_mut().ready.get_mut(&digest).filter(|ready| !ready.said).map(|ready| {
                ready.said = true;
                ready.sums.clone()
            });
            if let Some(sums) = sums {
                report(Event::Artifact(digest, ArtifactFact::Verified(sums))).await;
            }
        }
    }

    /// The first wanted artifact that is to be tried now; or when the next one is.
    fn due(&self, wanted: &[ArtifactSpec]) -> (Option<ArtifactSpec>, Option<Instant>) {
        let mut state = self.state.borrow_mut();
        state.failed.retain(|digest, _| wanted.iter().any(|spec| spec.key.digest == *digest));
        let now = Instant::now();
        let mut next: Option<Instant> = None;
        for spec in wanted.iter().filter(|spec| !state.ready.contains_key(&spec.key.digest)) {
            match state.failed.get(&spec.key.digest) {
                Some(failure) if failure.again > now => {
                    next = Some(next.map_or(failure.again, |at| at.min(failure.again)));
                }
                _ => return (Some(spec.clone()), None),
            }
        }
        (None, next)
    }

    async fn fetch(&self, spec: ArtifactSpec, report: &impl AsyncFn(Event)) {
        let digest = spec.key.digest;
        let cache = self.cache.clone();
        let result = tokio::task::spawn_blocking(move || have(&cache, &spec)).await;
        match result.unwrap_or(Err(ArtifactError::Stopped)) {
            Ok((sums, stamp)) => {
                let mut state = self.state.borrow_mut();
                state.failed.remove(&digest);
                state.ready.insert(digest, Ready { sums, stamp, said: false });
            }
            Err(error) => {
                if let Some(text) = self.failed(digest, &error) {
                    report(Event::Artifact(digest, ArtifactFact::Failed(text))).await;
                }
            }
        }
    }

    /// Notes a failure; the text of it unless it was reported already.
    fn failed(&self, digest: Digest, error: &ArtifactError) -> Option<String> {
        let text = error.to_string();
        let mut state = self.state.borrow_mut();
        let before = state.failed.remove(&digest);
        let wait = before.as_ref().map_or(self.patience.first, |failure| (failure.wait * 2).min(self.patience.longest));
        let news = before.and_then(|failure| failure.said).as_ref() != Some(&text);
        state.failed.insert(digest, Failure { again: Instant::now() + wait, wait, said: Some(text.clone()) });
        news.then_some(text)
    }

    fn retry_now(&self) {
        let now = Instant::now();
        for failure in self.state.borrow_mut().failed.values_mut() {
            failure.again = now;
            failure.wait = self.patience.first;
        }
    }
}

/// What is cached is verified; what is not, or is damaged, is copied.
fn have(cache: &Cache, spec: &ArtifactSpec) -> Result<(Sums, Stamp), ArtifactError> {
    let sums = match cache.verify(&spec.key.digest, spec.size) {
        Err(ArtifactError::NotCached { .. }) => cache.copy_in(spec),
        Err(damaged @ ArtifactError::Damaged { .. }) => {
            tracing::error!("{damaged}");
            cache.copy_in(spec)
        }
        result => result,
    }?;
    let digest = &spec.key.digest;
    let stamp = cache.open_file(digest).and_then(|file| Stamp::of(&file));
    Ok((sums, stamp.map_err(ArtifactError::io("cannot open", cache.path(digest)))?))
}

/// A copy that is under way would hold up the end of the process.
struct StopOnDrop(Cache);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

async fn until(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}
