//! Starting and stopping a site: opens what it needs in the right order, and lets the shell run.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::rc::Rc;

use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{JoinHandle, spawn_local};
use tracing::{info, warn};

use super::api::{self, ApiDesk};
use super::clock::Clock;
use super::control::{self, Control};
use super::core::Core;
use super::credentials::{self, Files, Notices};
use super::drops::DropDesk;
use super::endpoints::Endpoints;
use super::health::Health;
use super::open::{Open, RunError};
use super::services::ServiceDesk;
use super::shell::{Shell, action_base, settings};
use super::site_file::{self, Standing};
use super::tally::Tally;
use super::watchers::WatchersDesk;
use super::{wanted, watchers};
use crate::artifact::{Keeper, LeastSpeed, Patience, Uplink};
use crate::config::{SiteConfig, SiteFile};
use crate::device::{self, Attendance, Board, Caps, Context, Envelope, Opened, Sink, Strangers, ddi};
use crate::gate;
use crate::intake::drops::{self, Drops};
use crate::intake::{self, Manifests, Pace};
use crate::kube::Objects;
use crate::model::{Digest, Event, GateAllowance, GateKey, Listing, Verdict};

/// Events that may wait for the loop; whoever has more to say waits.
const EVENTS: usize = 256;
const QUERIES: usize = 8;

/// Runs a site with the configuration that its file has, until `stop` says so. Needs a `LocalSet` on a current-thread runtime.
pub async fn run(file: SiteFile, config: SiteConfig, mut stop: watch::Receiver<bool>) -> Result<(), RunError> {
    let config = Rc::new(config);
    // before anything is made: what a person wrote may be wrong
    let secret_files = Files::of(&config.devices);
    let loaded = secret_files.load();
    let print = loaded.print;
    let (tls, tokens) = loaded.whole()?;
    let Open { store, recalled, clock, cache, devices, bound, people, socket } = Open::new(&config).await?;

    let (events_in, events) = mpsc::channel::<Envelope>(EVENTS);
    let (queries_in, queries) = mpsc::channel(QUERIES);
    let (wanted, wanted_by_rollouts) = watch::channel(Vec::new());
    let (dropped, wanted_by_drops) = watch::channel(Vec::new());
    let (all_wanted, wanted_seen) = watch::channel(Vec::new());
    let (gates, gates_allowed) = ask_gates(&config, &clock, events_in.clone());
    let (committed, commits) = watch::channel(0);
    let shown_drops = Rc::default();
    let keeper = Keeper::new(cache, Patience::default(), uplink(&config));
    ask_before_collecting(&keeper, events_in.clone());
    let context = context(&config, tokens, &clock, &keeper, events_in.clone());
    let (manifests, manifests_seen) = watch::channel(site_file::manifests(&config));
    let (said, said_by_file) = watch::channel(None);
    let standing = Standing::new(&file.path, clock.site_now());
    context.prove_with(tls);
    let api = api::settings(&config).map(|settings| (settings, Objects::new()));
    let notices = Rc::new(Notices::default());
    let health = Rc::new(Health::new());
    let mut shell = Shell {
        core: Core::rebuild(Default::default(), settings(&config), action_base()),
        store,
        clock,
        board: context.board.clone(),
        presence: context.presence.clone(),
        keeper: keeper.clone(),
        wanted,
        gates,
        gates_allowed,
        services: ServiceDesk::start(&config, api.as_ref(), events_in.clone()),
        drops: Rc::clone(&shown_drops),
        committed,
        manifests,
        devices: context.clone(),
        notices: notices.clone(),
        next_due: None,
        next_change: None,
        saved_at: recalled.snapshot.time.site,
        trouble: None,
        config: config.clone(),
        site_file: standing,
        said_by_file,
        objects: api.as_ref().map(|(_, objects)| objects.clone()),
        health: health.clone(),
        tally: Tally::default(),
    };
    let mut endpoints = endpoints(&config, bound, &socket.0);
    // the first questions come while it starts
    let desk = WatchersDesk { health: health.clone(), queries: queries_in.clone() };
    watch_over(&config, desk, &mut endpoints).await;

    // the first step sees what the manifests say, so that an edit made while the site was down counts before any device
    let (files, files_seen) = watch::channel(0);
    let first = follow(manifests_seen, files, events_in.clone());
    let listing = tokio::select! {
        listing = first => listing.unwrap_or_default(),
        _ = stop.wait_for(|stop| *stop) => return Ok(()),
    };
    let opening = shell.rebuild(recalled, listing);
    shell.take(opening).await;

    spawn_local(site_file::follow(file, Pace::default(), said));
    spawn_local(wanted::unite(wanted_by_rollouts, wanted_by_drops, all_wanted));
    if let Some(dir) = config.drops.clone() {
        let drops_there = Drops::new(dir, drops::Pace::default());
        let desk = DropDesk {
            events: events_in.clone(),
            queries: queries_in.clone(),
            keeper: keeper.clone(),
            wanted: dropped,
            shown: shown_drops,
            committed: commits,
            devices: context.clone(),
        };
        spawn_local(drops::follow(drops_there, desk));
    }
    let desk = ApiDesk { events: events_in.clone(), queries: queries_in.clone(), devices: context.clone() };
    api::start(api, desk);
    spawn_local(control::serve(
        people,
        Control { queries: queries_in, manifests: shell.manifests.subscribe(), keeper: keeper.clone() },
    ));
    let reports = events_in.clone();
    spawn_local(async move {
        keeper.run(wanted_seen, files_seen, async |event| send(&reports, event).await).await;
    });
    spawn_local(credentials::follow(secret_files, print, context.clone(), notices));
    let server = serve_devices(devices, context, stop, health);
    announce(&config, &endpoints)?;

    // what is under way is decided to its end: the loop outlives the server
    let nothing_under_way = async {
        let _ = server.await;
    };
    shell.run(events, queries, nothing_under_way).await;
    // before the state directory is free: the next process makes its own
    drop(socket);
    shell.stop().await;
    Ok(())
}

/// Where the site can be reached, as far as that is known by now.
fn endpoints(config: &SiteConfig, bound: SocketAddr, control: &Path) -> Endpoints {
    let scheme = if config.devices.tls.is_some() { "https" } else { "http" };
    let (pid, devices) = (std::process::id(), format!("{scheme}://{bound}"));
    Endpoints { pid, devices, control: control.to_owned(), metrics: None }
}

/// Says where the site is.
fn announce(config: &SiteConfig, endpoints: &Endpoints) -> Result<(), RunError> {
    endpoints.write(&config.state).map_err(|error| RunError::Endpoints(config.state.display().to_string(), error))?;
    info!(site = config.site, devices = %endpoints.devices, "running");
    warn_if_insecure(config);
    Ok(())
}

/// Serves devices until the site is told to stop.
fn serve_devices(
    listener: TcpListener,
    context: Rc<Context>,
    mut stop: watch::Receiver<bool>,
    health: Rc<Health>,
) -> JoinHandle<()> {
    health.serves();
    spawn_local(device::serve(listener, context, async move {
        // an error means that nobody can say stop any more
        let _ = stop.wait_for(|stop| *stop).await;
        health.stops();
        info!("stopping");
    }))
}

/// Listens for those who ask how the site is, now or as soon as it can.
async fn watch_over(config: &SiteConfig, desk: WatchersDesk, endpoints: &mut Endpoints) {
    let Some(address) = config.metrics else { return };
    let listener = watchers::listen(address, &desk.health).await;
    let bound = listener.as_ref().and_then(|listener| listener.local_addr().ok());
    endpoints.metrics = bound.map(|bound| format!("http://{bound}"));
    let (endpoints, state) = (endpoints.clone(), config.state.clone());
    let late = move |bound| {
        let endpoints = Endpoints { metrics: Some(format!("http://{bound}")), ..endpoints };
        if let Err(error) = endpoints.write(&state) {
            warn!(%error, "endpoints.json does not say where metrics are");
        }
    };
    spawn_local(watchers::serve(address, listener, desk, late));
}

/// Asks gates what the first of these wants, as far as the second allows.
fn ask_gates(
    config: &SiteConfig,
    clock: &Rc<Clock>,
    events: mpsc::Sender<Envelope>,
) -> (watch::Sender<BTreeSet<GateKey>>, watch::Sender<Rc<GateAllowance>>) {
    let (wanted, questions) = watch::channel(BTreeSet::new());
    let (allowed, allowance) = watch::channel(Rc::new(config.gates.clone()));
    let clock = clock.clone();
    spawn_local(async move {
        let now = move || clock.site_now();
        gate::follow(questions, allowance, now, async |event| send(&events, event).await).await;
    });
    (wanted, allowed)
}

/// An artifact goes only once it is committed that nobody needs it.
fn ask_before_collecting(keeper: &Keeper, events: mpsc::Sender<Envelope>) {
    keeper.ask_before_collecting(move |digest, bytes, why| {
        let events = events.clone();
        Box::pin(async move {
            let (reply, verdict) = oneshot::channel();
            let sent = events.send((Event::Collect(digest, bytes, why), Some(reply))).await;
            sent.is_ok() && verdict.await == Ok(Verdict::Accepted)
        })
    });
}

fn warn_if_insecure(config: &SiteConfig) {
    if config.devices.is_open() {
        warn!(
            "devices are served over plain HTTP to whoever can reach them (devices.insecure): anybody on the way can read \
             their tokens and change firmware"
        );
    } else if config.devices.tls.is_none() {
        warn!("devices are served over plain HTTP (devices.insecure), on this machine only");
    }
}

/// What fetching needs.
pub(super) fn uplink(config: &SiteConfig) -> Uplink {
    let uplink = config.uplink.clone();
    Uplink {
        bytes_per_second: uplink.bytes_per_second,
        ca_files: uplink.ca_files,
        credentials: uplink.credentials,
        least_speed: LeastSpeed::default(),
    }
}

/// What the device server needs.
fn context(
    config: &SiteConfig,
    tokens: ddi::Tokens,
    clock: &Rc<Clock>,
    keeper: &Rc<Keeper>,
    events: mpsc::Sender<Envelope>,
) -> Rc<Context> {
    let (clock, keeper, damaged) = (clock.clone(), keeper.clone(), keeper.clone());
    let open = move |digest: &Digest| match keeper.open(digest) {
        Ok(file) => Opened::Ready(file),
        Err(_) => Opened::NotReady,
    };
    let devices = &config.devices;
    let caps = Caps {
        connections: devices.load.connections,
        per_address: devices.load.per_address,
        bytes_per_second: devices.load.bytes_per_second,
        ..Caps::default()
    };
    let strangers = Strangers::new(devices.registration, devices.registration_labels.clone());
    let context = Context::new(
        Rc::new(RefCell::new(Board::default())),
        Rc::new(RefCell::new(Attendance::new(site_file::pacing(config)))),
        site_file::device_settings(config, tokens),
        Rc::new(move || clock.site_now()),
        Rc::new(open),
        Rc::new(move |digest| damaged.invalidate(digest)),
        Sink::new(events),
        caps,
    );
    context.strangers.replace(strangers);
    Rc::new(context)
}

/// Follows the manifests; the first listing comes back here, later ones become events.
fn follow(
    manifests: watch::Receiver<Manifests>,
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

pub(super) async fn send(events: &mpsc::Sender<Envelope>, event: Event) {
    // the loop is gone only when the site stops
    let _ = events.send((event, None)).await;
}
