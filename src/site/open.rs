//! What a site opens before anything of it runs, and why it may not get it.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;

use tokio::net::{TcpListener, UnixListener};

use super::clock::Clock;
use super::control;
use super::credentials::FileError;
use super::endpoints::Endpoints;
use crate::artifact::Cache;
use crate::config::SiteConfig;
use crate::store::{Handle, OpenError, Recalled};

/// Why a site does not start.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The store.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// The artifact cache.
    #[error("cannot open the artifact cache in {0}: {1}")]
    Cache(String, #[source] io::Error),
    /// The device address.
    #[error("cannot listen on {0}: {1}; is another process there? `devices.listen` in the site file says where")]
    Listen(SocketAddr, #[source] io::Error),
    /// The control socket.
    #[error("cannot make the control socket {0}: {1}")]
    Control(String, #[source] io::Error),
    /// A certificate, a key or a file with a token.
    #[error(transparent)]
    Credentials(#[from] FileError),
    /// The endpoints file.
    #[error("cannot write endpoints.json into {0}: {1}")]
    Endpoints(String, #[source] io::Error),
}

/// Everything that is open; dropped, it is free for the next process.
pub(super) struct Open {
    pub store: Handle,
    pub recalled: Recalled,
    pub clock: Rc<Clock>,
    pub cache: Cache,
    pub devices: TcpListener,
    /// Where gateways find it.
    pub bound: SocketAddr,
    pub people: UnixListener,
    pub socket: RemovedAtEnd,
}

impl Open {
    pub async fn new(config: &SiteConfig) -> Result<Self, RunError> {
        let (store, recalled) = Handle::open_directory(&config.state).await?;
        let clock = Rc::new(Clock::resumed(&recalled.snapshot.time, config.devices.poll_interval));
        let cache = Cache::open(&config.state, config.disk_reserve)
            .map_err(|error| RunError::Cache(config.state.display().to_string(), error))?;
        let listen = |error| RunError::Listen(config.devices.listen, error);
        let devices = TcpListener::bind(config.devices.listen).await.map_err(listen)?;
        let bound = devices.local_addr().map_err(listen)?;
        let socket = RemovedAtEnd(Endpoints::control(&config.state));
        let people = control::bind(&socket.0, config.control_group.as_deref())
            .map_err(|error| RunError::Control(socket.0.display().to_string(), error))?;
        Ok(Self { store, recalled, clock, cache, devices, bound, people, socket })
    }
}

/// A file that is there while the site runs, however that ends.
pub(super) struct RemovedAtEnd(pub PathBuf);

impl Drop for RemovedAtEnd {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
