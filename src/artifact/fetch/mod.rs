//! Fetching an artifact over the network: one source, resumed wherever it can be, never a byte more than it has.

mod answer;
mod body;
mod client;
mod credential;
mod error;
mod oci;
mod pace;
mod request;
mod retry_after;
mod token;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use reqwest::StatusCode;
use tokio::time::{Instant, sleep};

use super::part::Part;
use super::{ArtifactError, Cache};
use crate::model::{ArtifactSpec, HttpUrl, Origin, Source, Sums};
use crate::names::Resolver;
use answer::Meaning;
use body::End;
use credential::Credentials;
use pace::Pace;
use request::Session;

pub use error::{CredentialError, RemoteError};
pub use pace::LeastSpeed;

/// An answer that brought so much is worth another request at once; one that brought less waits with the other failures.
const PROGRESS: u64 = 64 << 10;
/// Between an answer that broke off and the request for the rest.
const BREATH: Duration = Duration::from_secs(1);
/// So often the file may turn out to be another one before a fetch gives up.
const CHANGES: u32 = 3;

/// How the uplink may be used.
#[derive(Debug, Clone, Default)]
pub struct Uplink {
    /// All fetches together; none: as fast as it goes.
    pub bytes_per_second: Option<NonZeroU64>,
    /// PEM files of authorities that count beside the system's.
    pub ca_files: Vec<PathBuf>,
    /// Files with `USER:PASSWORD` or `Bearer TOKEN`, each for one host.
    pub credentials: BTreeMap<Origin, PathBuf>,
    /// When a fetch counts as stuck.
    pub least_speed: LeastSpeed,
}

/// Told how many bytes there are; says whether the artifact is still wanted.
pub(super) type Moved<'m> = &'m dyn Fn(u64) -> bool;

/// Fetches artifacts.
#[derive(Debug)]
pub(super) struct Fetcher {
    ca_files: RefCell<Vec<PathBuf>>,
    credentials: RefCell<Credentials>,
    least_speed: LeastSpeed,
    pace: Pace,
    resolver: Resolver,
    /// Sources that asked to be left alone, until when, and by which answer.
    left_alone: RefCell<BTreeMap<String, (Instant, StatusCode)>>,
    /// Bytes of artifacts that came.
    came: Cell<u64>,
}

/// One fetch on its way.
struct Fetch<'f> {
    spec: &'f ArtifactSpec,
    source: String,
    shown: String,
    /// `None` while it is with the disk.
    part: Option<Part>,
    /// The last answer was a page for people.
    html: bool,
    moved: Moved<'f>,
}

impl Fetcher {
    pub fn new(uplink: Uplink) -> Self {
        let Uplink { bytes_per_second, ca_files, credentials, least_speed } = uplink;
        let (credentials, pace) = (Credentials::new(credentials), Pace::new(bytes_per_second));
        let (ca_files, credentials) = (ca_files.into(), credentials.into());
        let (resolver, left_alone) = (Resolver::new(), RefCell::default());
        Self { ca_files, credentials, least_speed, pace, resolver, left_alone, came: Cell::default() }
    }

    /// Other authorities and passwords count from the next fetch on, another limit at once.
    pub fn configure(&self, uplink: Uplink) {
        self.pace.set_rate(uplink.bytes_per_second);
        self.ca_files.replace(uplink.ca_files);
        self.credentials.replace(Credentials::new(uplink.credentials));
    }

    /// Bytes of artifacts that came over the network, since the start.
    pub fn came(&self) -> u64 {
        self.came.get()
    }

    /// Brings the artifact from a source in the network into the cache. What came stays when it fails. A source that asked
    /// to be left alone is not asked before.
    pub async fn fetch(
        &self,
        cache: &Cache,
        spec: &ArtifactSpec,
        source: &Source,
        moved: Moved<'_>,
    ) -> Result<Sums, ArtifactError> {
        let (name, shown) = names(source);
        let until = self.left_alone.borrow_mut().remove(&name);
        if let Some((until, status)) = until.filter(|(until, _)| *until > Instant::now()) {
            self.left_alone.borrow_mut().insert(name, (until, status));
            let wait = Some(until.saturating_duration_since(Instant::now()));
            return Err(ArtifactError::Remote { source_name: shown, why: RemoteError::Status { status, wait } });
        }
        let result = self.bring(cache, spec, source, moved).await;
        if let Err(ArtifactError::Remote { why: RemoteError::Status { status, wait: Some(wait) }, .. }) = &result {
            self.left_alone.borrow_mut().insert(name, (Instant::now() + *wait, *status));
        }
        result
    }

    async fn bring(
        &self,
        cache: &Cache,
        spec: &ArtifactSpec,
        source: &Source,
        moved: Moved<'_>,
    ) -> Result<Sums, ArtifactError> {
        let (name, shown) = names(source);
        let (cache, wanted) = (cache.clone(), spec.clone());
        let part = blocking(move || Part::open(&cache, &wanted)).await??;
        let mut fetch = Fetch { spec, source: name, shown, part: Some(part), html: false, moved };
        let session = self.session(source).await.map_err(|why| fetch.error(why))?;
        let mut address = None;
        let mut changes = 0;
        loop {
            (fetch.moved)(fetch.length()).then_some(()).ok_or(ArtifactError::Stopped)?;
            if fetch.length() == spec.size {
                match fetch.finish().await? {
                    Some(sums) => return Ok(sums),
                    // the seam between two answers did not fit: the whole file from one of them may
                    None => continue,
                }
            }
            let before = fetch.length();
            let url = match &address {
                Some(url) => url,
                None => address.insert(locate(&session, source, spec).await.map_err(|why| fetch.error(why))?),
            };
            let end = self.once(&session, url, &mut fetch).await?;
            let gained = fetch.length().saturating_sub(before);
            match end {
                Some(End::Whole) if fetch.length() == spec.size => {}
                None if changes < CHANGES => changes += 1,
                None => return Err(fetch.error(RemoteError::Changes)),
                Some(End::Whole | End::Broken(_)) if gained >= PROGRESS => {
                    tracing::info!(source = fetch.shown, bytes = fetch.length(), "the fetch broke off; it goes on");
                    sleep(BREATH).await;
                }
                Some(End::Broken(why)) => return Err(fetch.error(why)),
                Some(End::Whole) => {
                    let html = fetch.html;
                    let why = if html { RemoteError::Length { said: spec.size, html } } else { RemoteError::Cut };
                    return Err(fetch.error(why));
                }
            }
        }
    }

    /// One request, and as much of the file as its answer brings; `None` if it was about another file.
    async fn once(
        &self,
        session: &Session<'_>,
        url: &HttpUrl,
        fetch: &mut Fetch<'_>,
    ) -> Result<Option<End>, ArtifactError> {
        let (offset, size) = (fetch.length(), fetch.spec.size);
        let known = fetch.part.as_ref().and_then(|part| part.validators(&fetch.source)).cloned();
        let response = match session.get(url, &answer::ask(offset, known.as_ref())).await {
            Ok(response) => response,
            Err(why) if why.is_cut() => return Ok(Some(End::Broken(why))),
            Err(why) => return Err(fetch.error(why)),
        };
        let headers = response.headers();
        let meaning = answer::judge(response.status(), headers, (offset, size), known.as_ref());
        let meaning = meaning.map_err(|why| fetch.error(why))?;
        fetch.html = answer::is_html(headers);
        let (source, validators) = (fetch.source.clone(), answer::validators(headers));
        if meaning == Meaning::StartOver {
            fetch.on_disk(Part::restart).await?;
            return Ok(None);
        }
        let whole = meaning == Meaning::Whole;
        fetch
            .on_disk(move |part| {
                if whole {
                    part.restart()?;
                }
                part.continues(&source, validators)
            })
            .await?;
        let take = async |bytes: Vec<u8>| {
            self.came.set(self.came.get() + u64::try_from(bytes.len()).unwrap_or(u64::MAX));
            fetch.append(bytes).await
        };
        let end = body::pour(response, &self.pace, &self.least_speed, take).await?;
        Ok(Some(end))
    }

    async fn session<'s>(&'s self, source: &'s Source) -> Result<Session<'s>, RemoteError> {
        let (ca_files, resolver) = (self.ca_files.borrow().clone(), self.resolver.clone());
        let made = tokio::task::spawn_blocking(move || client::client(&ca_files, &resolver)).await;
        let client = made.unwrap_or_else(|stopped| Err(RemoteError::Client(stopped.to_string())))?;
        let image = match source {
            Source::Oci { image } => Some(image),
            Source::File { .. } | Source::Http { .. } => None,
        };
        Ok(Session { client, credentials: self.credentials.borrow().clone(), image, token: None.into() })
    }
}

impl Fetch<'_> {
    fn length(&self) -> u64 {
        self.part.as_ref().map_or(0, Part::length)
    }

    fn error(&self, why: RemoteError) -> ArtifactError {
        ArtifactError::Remote { source_name: self.shown.clone(), why }
    }

    /// Writes and hashes where that is allowed to take its time; gives the buffer back, empty.
    async fn append(&mut self, mut bytes: Vec<u8>) -> Result<Vec<u8>, ArtifactError> {
        let (fits, bytes) = self
            .on_disk(move |part| {
                let fits = part.append(&bytes)?;
                if !fits {
                    part.discard()?;
                }
                bytes.clear();
                Ok((fits, bytes))
            })
            .await?;
        if !fits {
            return Err(self.error(RemoteError::Length { said: self.spec.size, html: self.html }));
        }
        if (self.moved)(self.length()) { Ok(bytes) } else { Err(ArtifactError::Stopped) }
    }

    /// All bytes are there: the sums, or nothing if it has to be fetched again in one piece.
    async fn finish(&mut self) -> Result<Option<Sums>, ArtifactError> {
        let said = self.spec.key.digest;
        let (pass, mixed) = self
            .on_disk(move |part| {
                let (pass, mixed) = (part.finish()?, part.is_mixed());
                if pass.digest != said {
                    if mixed { part.restart()? } else { part.discard()? }
                }
                Ok((pass, mixed))
            })
            .await?;
        if pass.digest == said {
            return Ok(Some(pass.sums));
        }
        if mixed {
            tracing::warn!(source = self.shown, "the parts of the file do not fit together; it is fetched again whole");
            return Ok(None);
        }
        Err(self.error(RemoteError::WrongDigest { got: pass.digest, said, html: self.html }))
    }

    async fn on_disk<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut Part) -> Result<T, ArtifactError> + Send + 'static,
    ) -> Result<T, ArtifactError> {
        let Some(mut part) = self.part.take() else { return Err(ArtifactError::Stopped) };
        let (part, result) = blocking(move || {
            let result = work(&mut part);
            (part, result)
        })
        .await?;
        self.part = Some(part);
        result
    }
}

/// The address of the file itself.
async fn locate(session: &Session<'_>, source: &Source, spec: &ArtifactSpec) -> Result<HttpUrl, RemoteError> {
    match source {
        Source::Http { url } => Ok(url.clone()),
        Source::Oci { image } => oci::layer(session, image, spec).await,
        Source::File { .. } => Err(RemoteError::Client("it is a file".into())),
    }
}

/// What a source is called, for people: without passwords or signatures.
pub(super) fn name_of(source: &Source) -> String {
    names(source).1
}

/// What a source is called in the resume record, and for people.
fn names(source: &Source) -> (String, String) {
    match source {
        Source::Http { url } => (url.to_string(), url.shown()),
        Source::Oci { image } => (format!("oci://{image}"), format!("oci://{image}")),
        Source::File { name, .. } => (name.clone(), name.clone()),
    }
}

/// Off the thread that decides.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ArtifactError> {
    // it fails only when the process stops
    tokio::task::spawn_blocking(work).await.map_err(|_| ArtifactError::Stopped)
}
