//! Talking to a running site over its control socket.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::{Method, Request, header};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::config::{self, ConfigError, Flags, SiteConfig, SiteFile};
use crate::site::Endpoints;

/// Far longer than a site takes to answer; one that is stopped or cannot start would keep a person waiting for ever.
const PATIENCE: Duration = Duration::from_secs(30);

/// Which site a command is about.
#[derive(Debug, Clone, clap::Args)]
pub struct SiteArgs {
    /// The site file of the site
    #[arg(long, value_name = "FILE", default_value = super::SITE_FILE, global = true, help_heading = "Which site")]
    config: PathBuf,
    /// The state directory of the site, instead of the one in its file
    #[arg(long, value_name = "DIR", global = true, help_heading = "Which site")]
    state: Option<PathBuf>,
}

impl SiteArgs {
    /// The state directory.
    pub fn state(&self) -> anyhow::Result<PathBuf> {
        if let Some(state) = &self.state {
            return Ok(state.clone());
        }
        let file = SiteFile { path: self.config.clone(), flags: Flags::default() };
        let error = match file.load() {
            Ok(config) => return Ok(config.state),
            Err(error) => error,
        };
        // a site runs on what its file said before, and whoever broke that wants to see how it does
        let runs = |state: &PathBuf| std::os::unix::net::UnixStream::connect(Endpoints::control(state)).is_ok();
        file.state().filter(runs).ok_or_else(|| match error {
            ConfigError::Unreadable { file, why } => {
                let why = format!("{why}; `--config FILE` or `--state DIR` says which site is meant");
                ConfigError::Unreadable { file, why }.into()
            }
            wrong @ ConfigError::Wrong { .. } => wrong.into(),
        })
    }

    /// What its site file says, if there is one that is about this state directory.
    pub fn config(&self) -> Option<SiteConfig> {
        let config = config::load(&self.config).ok()?;
        let other = self.state.as_ref().is_some_and(|state| !is_same(state, &config.state));
        (!other).then_some(config)
    }

    /// What people call it, if its site file can be read; else where its state is.
    pub fn name(&self) -> String {
        let named = config::load(&self.config).ok().map(|config| config.site);
        named.unwrap_or_else(|| self.state.as_ref().map_or_else(String::new, |state| state.display().to_string()))
    }

    /// Asks the site and reads its answer.
    pub fn get<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        read(&self.call(Method::GET, path, Bytes::new())?)
    }

    /// The same; `None` if no site runs there.
    pub fn get_if_it_runs<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<Option<T>> {
        let answer = self.get(path);
        let nobody = |error: &anyhow::Error| error.downcast_ref::<Unreachable>().is_some_and(Unreachable::is_off);
        match answer {
            Err(error) if nobody(&error) => Ok(None),
            answer => answer.map(Some),
        }
    }

    /// Gives the site an order, and reads its answer; returns once it is on disk.
    pub fn post<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        read(&self.call(Method::POST, path, Bytes::new())?)
    }

    /// The same, with what is meant, and reads what became of it.
    pub fn post_json<T: DeserializeOwned>(&self, path: &str, what: &impl Serialize) -> anyhow::Result<T> {
        let body = self.call(Method::POST, path, serde_json::to_vec(what)?.into())?;
        serde_json::from_slice(&body).context("the site answered in another version's words: use its own binary")
    }

    /// Shows the site a text, and reads what it says of it.
    pub fn post_text<T: DeserializeOwned>(&self, path: &str, text: Vec<u8>) -> anyhow::Result<T> {
        read(&self.call(Method::POST, path, text.into())?)
    }

    fn call(&self, method: Method, path: &str, body: Bytes) -> anyhow::Result<Bytes> {
        let socket = Endpoints::control(&self.state()?);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let answer = timeout(PATIENCE, call(&socket, method, path, body)).await;
            answer.unwrap_or_else(|_| bail!("the site at {} does not answer; look at its log", socket.display()))
        })
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

fn read<T: DeserializeOwned>(body: &[u8]) -> anyhow::Result<T> {
    serde_json::from_slice(body).context("the site answered in another version's words: use its own binary")
}

/// One request over a site's control socket, and the body of its answer.
pub(super) async fn call(socket: &Path, method: Method, path: &str, body: Bytes) -> anyhow::Result<Bytes> {
    let stream = UnixStream::connect(socket).await.map_err(|error| Unreachable { socket: socket.to_owned(), error })?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(async move {
        let _ = connection.await;
    });
    let request =
        Request::builder().method(method).uri(path).header(header::HOST, "localhost").body(Full::new(body))?;
    let response = sender.send_request(request).await?;
    let status = response.status();
    let body = Limited::new(response.into_body(), 64 << 20).collect().await.map_err(|error| anyhow!("{error}"))?;
    let body = body.to_bytes();
    if status.is_success() {
        return Ok(body);
    }
    let said: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
    bail!("{}", said.get("error").and_then(|why| why.as_str()).unwrap_or("the site refused, without a reason"))
}

/// Nobody answers at the control socket.
#[derive(Debug, thiserror::Error)]
#[error("cannot reach the site at {}: {error}; {}", .socket.display(), self.hint())]
struct Unreachable {
    socket: PathBuf,
    error: io::Error,
}

impl Unreachable {
    /// There is no process that could answer.
    fn is_off(&self) -> bool {
        matches!(self.error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
    }

    fn hint(&self) -> &'static str {
        match self.error.kind() {
            io::ErrorKind::PermissionDenied => "run this as root or as a member of the site file's `control.group`",
            _ => "is `lamplighter run` running with this site file?",
        }
    }
}
