//! Has every wanted artifact in the cache, and says how it went.
//!
//! Each has a job of its own, so that a fetch of hours over a thin link holds up nobody; one job at a time reads the disk, and
//! one uses the uplink.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::{Notify, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::clocks::Clocks;
use super::copy::Stamp;
use super::fetch::Fetcher;
use super::progress::{Job, Progress};
use super::room::MayGo;
use super::{ArtifactError, Cache, Uplink};
use crate::model::{ArtifactFact, ArtifactSpec, Digest, Event, Source, Sums};

/// How long a failed artifact waits before it is tried again without anything having changed.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// After the first failure.
    pub first: Duration,
    /// It doubles up to this.
    pub longest: Duration,
    /// After the whole artifact came over the uplink and was the wrong one: each try costs as much again.
    pub wrong: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { first: Duration::from_secs(5), longest: Duration::from_secs(300), wrong: Duration::from_secs(3_600) }
    }
}

/// So often the clock is looked at while a certificate waits for it.
const CLOCK: Duration = Duration::from_secs(5);

/// The executor of wanted artifacts; also what the device server asks before it serves one.
#[derive(Debug)]
pub struct Keeper {
    pub(super) cache: Cache,
    patience: Patience,
    pub(super) state: RefCell<State>,
    look_again: Notify,
    pub(super) fetcher: Fetcher,
    pub(super) disk: Semaphore,
    pub(super) uplink: Semaphore,
    pub(super) may_go: RefCell<Option<MayGo>>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    /// Verified in this process.
    pub ready: BTreeMap<Digest, Ready>,
    pub failed: BTreeMap<Digest, Failure>,
    pub wanted: BTreeSet<Digest>,
    /// Has a job.
    pub busy: BTreeMap<Digest, Job>,
    /// What jobs have to say while they run.
    news: Vec<(Digest, ArtifactFact)>,
}

#[derive(Debug)]
pub(super) struct Ready {
    sums: Sums,
    /// Of the cached file when it was verified.
    stamp: Stamp,
    said: bool,
}

#[derive(Debug)]
pub(super) struct Failure {
    again: Instant,
    wait: Duration,
    /// What was reported, so that it is reported once.
    said: Option<String>,
    /// What was tried: other sources are tried at once.
    sources: Vec<Source>,
    /// How much of it had come.
    bytes: u64,
    /// It waits for the clock to be set; since when.
    clock: Option<Clocks>,
}

/// What became of a job.
pub(super) struct Done {
    pub spec: ArtifactSpec,
    pub result: Result<(Sums, Stamp), ArtifactError>,
}

impl Keeper {
    /// Of this cache. It does nothing until it [runs](Self::run).
    pub fn new(cache: Cache, patience: Patience, uplink: Uplink) -> Rc<Self> {
        Rc::new(Self {
            cache,
            patience,
            state: RefCell::default(),
            look_again: Notify::new(),
            fetcher: Fetcher::new(uplink),
            disk: Semaphore::new(1),
            uplink: Semaphore::new(1),
            may_go: RefCell::default(),
        })
    }

    /// The site file says something else now: what could not be fetched is tried again at once.
    pub fn configure(&self, reserve: u64, uplink: Uplink) {
        self.cache.set_reserve(reserve);
        self.fetcher.configure(uplink);
        self.state.borrow_mut().failed.values_mut().for_each(|failure| failure.again = Instant::now());
        self.look_again.notify_one();
    }

    /// How many bytes of it are there, while it comes over the uplink.
    pub fn fetching(&self, digest: &Digest) -> Option<u64> {
        self.state.borrow().busy.get(digest)?.bytes()
    }

    /// Bytes of artifacts that came over the uplink since the start.
    pub fn fetched_bytes(&self) -> u64 {
        self.fetcher.came()
    }

    /// How far it is on its way into the cache, if it is.
    pub fn progress(&self, digest: &Digest) -> Option<Progress> {
        let state = self.state.borrow();
        let failure = state.failed.get(digest);
        let error = failure.and_then(|failure| failure.said.clone());
        match (state.busy.get(digest), failure) {
            (Some(job), _) => Some(Progress { error, ..job.progress() }),
            (None, Some(failure)) => {
                let next_try = Some(failure.again.saturating_duration_since(Instant::now()));
                Some(Progress { error, next_try, ..Progress::default() })
            }
            (None, None) => None,
        }
    }

    /// Was it verified in this process, and not found damaged since?
    pub fn ready(&self, digest: &Digest) -> bool {
        self.state.borrow().ready.contains_key(digest)
    }

    /// How many bytes it has, if it was verified in this process.
    pub fn ready_size(&self, digest: &Digest) -> Option<u64> {
        self.state.borrow().ready.get(digest).map(|ready| ready.stamp.length)
    }

    /// Why it could not be had lately.
    pub fn failure(&self, digest: &Digest) -> Option<String> {
        self.state.borrow().failed.get(digest)?.said.clone()
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

    /// Converges on what is wanted until its sender is dropped; needs a `LocalSet`. `files` counts up when something changed
    /// beside the manifests; then all that failed there is tried again at once. One digest that is wanted twice is fetched
    /// once.
    pub async fn run(
        self: &Rc<Self>,
        mut wanted: watch::Receiver<Vec<ArtifactSpec>>,
        mut files: watch::Receiver<u64>,
        report: impl AsyncFn(Event),
    ) {
        let _stop = StopOnDrop(self.cache.clone());
        let mut jobs = JoinSet::new();
        loop {
            let specs = wanted.borrow_and_update().clone();
            self.report_news(&report).await;
            self.report_ready(&specs, &report).await;
            let (due, next) = self.due(&specs);
            for spec in due {
                jobs.spawn_local(self.clone().job(spec));
            }
            tokio::select! {
                changed = wanted.changed() => if changed.is_err() { return },
                Ok(()) = files.changed() => self.retry_now(),
                () = self.look_again.notified() => {}
                Some(Ok(done)) = jobs.join_next() => self.note(done, &report).await,
                () = until(next) => {}
            }
        }
    }

    /// From a job that runs.
    pub(super) fn tell(&self, digest: Digest, fact: ArtifactFact) {
        self.state.borrow_mut().news.push((digest, fact));
        self.look_again.notify_one();
    }

    async fn report_news(&self, report: &impl AsyncFn(Event)) {
        let news = std::mem::take(&mut self.state.borrow_mut().news);
        for (digest, fact) in news {
            report(Event::Artifact(digest, fact)).await;
        }
    }

    /// Reports once more that a cached artifact is there.
    pub(super) fn say_again(&self, digest: &Digest) {
        if let Some(ready) = self.state.borrow_mut().ready.get_mut(digest) {
            ready.said = false;
        }
        self.look_again.notify_one();
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

    /// The wanted artifacts that are to be tried now, which have a job from now on; and when the next one is.
    fn due(&self, wanted: &[ArtifactSpec]) -> (Vec<ArtifactSpec>, Option<Instant>) {
        let state = &mut *self.state.borrow_mut();
        state.wanted = wanted.iter().map(|spec| spec.key.digest).collect();
        state.failed.retain(|digest, _| state.wanted.contains(digest));
        let now = Instant::now();
        let (mut due, mut next) = (Vec::new(), None::<Instant>);
        for spec in wanted {
            let digest = spec.key.digest;
            if state.ready.contains_key(&digest) || state.busy.contains_key(&digest) {
                continue;
            }
            match state.failed.get(&digest) {
                Some(failure) if !failure.is_due(now) && failure.sources == spec.sources => {
                    let look = failure.clock.map_or(failure.again, |_| failure.again.min(now + CLOCK));
                    next = Some(next.map_or(look, |at| at.min(look)));
                }
                _ => {
                    state.busy.insert(digest, Job::default());
                    due.push(spec.clone());
                }
            }
        }
        (due, next)
    }

    /// What a job came to; who was given up because nobody wants it any more is no failure.
    async fn note(&self, done: Done, report: &impl AsyncFn(Event)) {
        let digest = done.spec.key.digest;
        self.report_news(report).await;
        let job = self.state.borrow_mut().busy.remove(&digest);
        let bytes = job.and_then(|job| job.bytes()).unwrap_or(0);
        match done.result {
            Ok((sums, stamp)) => {
                let mut state = self.state.borrow_mut();
                state.failed.remove(&digest);
                state.ready.insert(digest, Ready { sums, stamp, said: false });
            }
            Err(ArtifactError::Stopped) => {}
            Err(error) => {
                if let Some(text) = self.failed(done.spec, &error, bytes) {
                    report(Event::Artifact(digest, ArtifactFact::Failed(text))).await;
                }
            }
        }
    }

    /// Notes a failure; the text of it unless it was reported already.
    fn failed(&self, spec: ArtifactSpec, error: &ArtifactError, bytes: u64) -> Option<String> {
        let (text, digest) = (error.to_string(), spec.key.digest);
        let mut state = self.state.borrow_mut();
        let before = state.failed.remove(&digest);
        let wait = match &before {
            _ if error.is_costly() => self.patience.wrong,
            // whoever brings a part each time is worth asking again soon
            Some(failure) if failure.bytes >= bytes => (failure.wait * 2).min(self.patience.longest),
            _ => self.patience.first,
        };
        let wait = wait.max(error.retry_after().unwrap_or_default());
        let news = before.and_then(|failure| failure.said).as_ref() != Some(&text);
        // sites that lost the same server do not come back to it all at once
        let again = Instant::now() + wait.mul_f64(1.0 + fastrand::f64() / 4.0);
        let clock = error.is_clock().then(Clocks::now);
        let failure = Failure { again, wait, said: Some(text.clone()), sources: spec.sources, bytes, clock };
        state.failed.insert(digest, failure);
        news.then_some(text)
    }

    /// Something changed beside the manifests, which says nothing about the network.
    fn retry_now(&self) {
        let now = Instant::now();
        let mut state = self.state.borrow_mut();
        let beside = |failure: &&mut Failure| failure.sources.iter().any(|source| !source.is_remote());
        for failure in state.failed.values_mut().filter(beside) {
            failure.again = now;
            failure.wait = self.patience.first;
        }
    }
}

impl Failure {
    fn is_due(&self, now: Instant) -> bool {
        self.again <= now || self.clock.is_some_and(Clocks::were_set)
    }
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
