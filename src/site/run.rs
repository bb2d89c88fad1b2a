//! Starting and stopping a site: opens what it needs in the right order, and lets the shell run.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;

use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::spawn_local;
use tracing::{info, warn};

use super::clock::Clock;
use super::control::{self, Control};
use super::core::Core;
use super::endpoints::Endpoints;
use super::shell::{Shell, action_base, settings};
use crate::artifact::{Cache, Keeper, LeastSpeed, Patience, Uplink};
use crate::config::SiteConfig;
use crate::device::{self, Board, Caps, Context, Envelope, Opened, Pacing, Presence, Sink, Strangers, ddi};
use crate::intake::{self, Manifests, Pace};
use crate::model::{Digest, Event, Listing};
use crate::store::{Handle, OpenError};

/// Events that may wait for the loop; whoever has more to say waits.
const EVENTS: usize = 256;
const QUERIES: usize = 8;

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
    /// The endpoints file.
    #[error("cannot write endpoints.json into {0}: {1}")]
    Endpoints(String, #[source] io::Error),
}

/// Runs a site until `stop` says so. Needs a `LocalSet` on a current-thread runtime.
pub async fn run(config: SiteConfig, mut stop: watch::Receiver<bool>) -> Result<(), RunError> {
    let config = Rc::new(config);
    let (store, recalled) = Handle::open_directory(&config.state).await?;
    let clock = Rc::new(Clock::resumed(&recalled.snapshot.time, config.devices.poll_interval));
    let cache = Cache::open(&config.state, config.disk_reserve)
        .map_err(|error| RunError::Cache(config.state.display().to_string(), error))?;
    let devices = TcpListener::bind(config.devices.listen)
        .await
        .map_err(|error| RunError::Listen(config.devices.listen, error))?;
    let bound = devices.local_addr().map_err(|error| RunError::Listen(config.devices.listen, error))?;
    let socket = Endpoints::control(&config.state);
    let socket_file = RemovedAtEnd(socket.clone());
    let people = control::bind(&socket, config.control_group.as_deref())
        .map_err(|error| RunError::Control(socket.display().to_string(), error))?;

    let (events_in, events) = mpsc::channel::<Envelope>(EVENTS);
    let (queries_in, queries) = mpsc::channel(QUERIES);
    let (wanted, wanted_seen) = watch::channel(Vec::new());
    let keeper = Keeper::new(cache, Patience::default(), uplink(&config));
    let context = context(&config, &clock, &keeper, events_in.clone());
    let manifests = Manifests::new(config.manifests.clone(), config.devices.poll_interval);
    let mut shell = Shell {
        core: Core::rebuild(Default::default(), settings(&config), action_base()),
        store,
        clock,
        board: context.board.clone(),
        presence: context.presence.clone(),
        keeper: keeper.clone(),
        wanted,
        manifests: manifests.clone(),
        devices: context.clone(),
        next_due: None,
        saved_at: recalled.snapshot.time.site,
        trouble: None,
        config: config.clone(),
    };

    // the first step sees what the manifests say, so that an edit made while the site was down counts before any device
    let (files, files_seen) = watch::channel(0);
    let first = follow(manifests, files, events_in.clone());
    let listing = tokio::select! {
        listing = first => listing.unwrap_or_default(),
        _ = stop.wait_for(|stop| *stop) => return Ok(()),
    };
    let opening = shell.rebuild(recalled, listing);
    shell.take(opening).await;

    spawn_local(control::serve(people, Control { queries: queries_in, events: events_in.clone() }));
    let reports = events_in.clone();
    spawn_local(async move {
        keeper.run(wanted_seen, files_seen, async |event| send(&reports, event).await).await;
    });
    let server = spawn_local(device::serve(devices, context, async move {
        // an error means that nobody can say stop any more
        let _ = stop.wait_for(|stop| *stop).await;
        info!("stopping");
    }));
    let endpoints = Endpoints { pid: std::process::id(), devices: format!("http://{bound}"), control: socket };
    endpoints.write(&config.state).map_err(|error| RunError::Endpoints(config.state.display().to_string(), error))?;
    info!(site = config.site, devices = %endpoints.devices, "running");
    warn!("devices are served over plain HTTP (devices.insecure), on this machine only");

    // what is under way is decided to its end: the loop outlives the server
    let nothing_under_way = async {
        let _ = server.await;
    };
    shell.run(events, queries, nothing_under_way).await;
    // before the state directory is free: the next process makes its own
    drop(socket_file);
    shell.stop().await;
    Ok(())
}

/// What fetching needs.
fn uplink(config: &SiteConfig) -> Uplink {
    let uplink = config.uplink.clone();
    Uplink {
        bytes_per_second: uplink.bytes_per_second,
        ca_files: uplink.ca_files,
        credentials: uplink.credentials,
        least_speed: LeastSpeed::default(),
    }
}

/// A file that is there while the site runs, however that ends.
struct RemovedAtEnd(PathBuf);

impl Drop for RemovedAtEnd {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// What the device server needs.
fn context(config: &SiteConfig, clock: &Rc<Clock>, keeper: &Rc<Keeper>, events: mpsc::Sender<Envelope>) -> Rc<Context> {
    let devices = &config.devices;
    let pacing = Pacing { told: devices.poll_interval, offline_after: devices.offline_after };
    let settings = ddi::Settings {
        tenants: devices.tenants.clone(),
        poll_interval: devices.poll_interval,
        url: devices.url.clone(),
    };
    let (clock, keeper) = (clock.clone(), keeper.clone());
    let open = move |digest: &Digest| match keeper.open(digest) {
        Ok(file) => Opened::Ready(file),
        Err(_) => Opened::NotReady,
    };
    let caps = Caps {
        connections: devices.load.connections,
        per_address: devices.load.per_address,
        bytes_per_second: devices.load.bytes_per_second,
        ..Caps::default()
    };
    let strangers = Strangers::new(devices.registration, devices.registration_labels.clone());
    let context = Context::new(
        Rc::new(RefCell::new(Board::default())),
        Rc::new(RefCell::new(Presence::new(pacing))),
        settings,
        Rc::new(move || clock.now().site),
        Rc::new(open),
        Sink::new(events),
        caps,
    );
    context.strangers.replace(strangers);
    Rc::new(context)
}

/// Follows the manifests; the first listing comes back here, later ones become events.
fn follow(
    manifests: Manifests,
    files: watch::Sender<u64>,
    events: mpsc::Sender<Envelope>,
) -> oneshot::Receiver<Listing> {
    let (first, listing) = oneshot::channel();
    let first = RefCell::new(Some(first));
    spawn_local(async move {
        let on = async |listing| {
            let waiting = first.borrow_mut().take();
            match waiting {
                Some(first) => _ = first.send(listing),
                None => send(&events, Event::Listed(listing)).await,
            }
        };
        intake::follow(manifests, Pace::default(), files, on).await;
    });
    listing
}

async fn send(events: &mpsc::Sender<Envelope>, event: Event) {
    // the loop is gone only when the site stops
    let _ = events.send((event, None)).await;
}
