//! The device server: sockets, deadlines and bodies around the pure answers of `ddi`.
//!
//! One thread, one task per connection. Must never wait while it holds the board, nor keep a device waiting for a poll.

mod body;
mod caps;
mod connection;
mod counted;
mod direct;
mod download;
mod guesses;
mod pace;
mod patient;
mod plain;
mod share;
mod slots;
mod socket;
mod stats;
mod tls;

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::model::{Digest, SiteTime};

use super::ddi::Settings;
use super::{Attendance, Board, Sink, Strangers};
pub use caps::Caps;
pub use guesses::Guesser;
use guesses::Guesses;
use pace::Pace;
use share::Shares;
use slots::Slots;
pub use stats::{Counts, Stats};
use tls::Shown;
pub use tls::{Tls, TlsError};

/// What opening an artifact for a device leads to.
#[derive(Debug)]
pub enum Opened {
    /// The verified file.
    Ready(File),
    /// It is not there, or still being verified; to be asked for again.
    NotReady,
}

/// Where the server finds what it needs.
pub struct Context {
    /// What gateways may see.
    pub board: Rc<RefCell<Board>>,
    /// Who is there.
    pub presence: Rc<RefCell<Attendance>>,
    /// What the site file says; may be replaced while the server runs.
    pub settings: RefCell<Settings>,
    /// Who knocks without being declared.
    pub strangers: RefCell<Strangers>,
    /// Site time.
    pub clock: Rc<dyn Fn() -> SiteTime>,
    /// Opens a verified artifact.
    pub open: Rc<dyn Fn(&Digest) -> Opened>,
    /// To be told of an artifact whose file does not give its bytes.
    pub unreadable: Rc<dyn Fn(&Digest)>,
    /// The way to the heart.
    pub sink: Sink,
    /// What happened.
    pub stats: Stats,
    /// The limits. Those that the site file names are only what the server began with.
    pub caps: Caps,
    /// Connections at once, and of these from one address; may change while the server runs.
    connections: Cell<usize>,
    per_address: Cell<usize>,
    /// What it proves itself with; none: plain HTTP.
    tls: RefCell<Option<Tls>>,
    slots: Rc<Slots>,
    bodies: Arc<Semaphore>,
    shares: Rc<Shares>,
    pace: Pace,
    guesses: Guesses,
    waiting: Cell<usize>,
}

impl Context {
    /// With nothing counted yet, and without TLS.
    #[expect(clippy::too_many_arguments, reason = "each is another end of the process, named where it is made")]
    pub fn new(
        board: Rc<RefCell<Board>>,
        presence: Rc<RefCell<Attendance>>,
        settings: Settings,
        clock: Rc<dyn Fn() -> SiteTime>,
        open: Rc<dyn Fn(&Digest) -> Opened>,
        unreadable: Rc<dyn Fn(&Digest)>,
        sink: Sink,
        caps: Caps,
    ) -> Self {
        Self {
            board,
            presence,
            settings: RefCell::new(settings),
            strangers: RefCell::default(),
            clock,
            open,
            unreadable,
            sink,
            stats: Stats::default(),
            caps,
            connections: Cell::new(caps.connections),
            per_address: Cell::new(caps.per_address),
            tls: RefCell::default(),
            slots: Rc::default(),
            bodies: Arc::new(Semaphore::new(caps.bodies)),
            shares: Rc::new(Shares::new(caps.own_bodies)),
            pace: Pace::new(caps.bytes_per_second),
            guesses: Guesses::default(),
            waiting: Cell::new(0),
        }
    }

    /// What the site file says now of how much is taken on at once. Connections that are open stay open.
    pub fn limit(&self, connections: usize, per_address: usize, bytes_per_second: Option<NonZeroU64>) {
        self.connections.set(connections);
        self.per_address.set(per_address);
        self.pace.set(bytes_per_second);
        self.slots.bounds_changed();
    }

    /// What the server proves itself with, and whom it trusts, from the next handshake on; not to come or go while it runs.
    /// Ends the connections of devices whose certificates it does not trust any more.
    pub fn prove_with(&self, tls: Option<Tls>) {
        self.tls.replace(tls);
        let closed = self.slots.close_untrusted(|shown| self.trusts(shown));
        if closed > 0 {
            tracing::info!(connections = closed, "closed, as their certificates are not trusted any more");
        }
    }

    fn trusts(&self, shown: &Shown) -> bool {
        self.tls.borrow().as_ref().is_some_and(|tls| tls.trusts(shown))
    }

    /// The addresses that sent the most wrong tokens lately.
    pub fn guessers(&self, most: usize) -> Vec<Guesser> {
        self.guesses.worst(tokio::time::Instant::now(), most)
    }
}

/// Serves devices until `shutdown` is done; then answers what is under way, for at most [`Caps::farewell`], and closes.
///
/// Runs within a `LocalSet`.
pub async fn serve(listener: TcpListener, context: Rc<Context>, shutdown: impl Future<Output = ()>) {
    let accepting = accept(&listener, &context);
    tokio::select! {
        () = shutdown => {}
        () = accepting => {}
        () = keep_up(&context) => {}
    }
    drop(listener);
    context.slots.close(context.caps.farewell).await;
}

/// When the loop has ended there is nothing more to tell, and every question is answered 429 until the shutdown.
async fn keep_up(context: &Context) {
    context.sink.keep_up().await;
    std::future::pending::<()>().await;
}

/// Accepts always; makes room by closing the connection that has been without a request for longest.
async fn accept(listener: &TcpListener, context: &Rc<Context>) {
    loop {
        match listener.accept().await {
            Ok((stream, from)) => {
                if context.slots.room(&context.connections, context.caps.grace).await {
                    context.stats.count(|counts| counts.evicted += 1);
                }
                context.stats.count(|counts| counts.accepted += 1);
                connection::start(context, stream, from.ip());
            }
            Err(error) => recover(&context.slots, &error).await,
        }
    }
}

/// Out of file descriptors or memory: gives one back and waits, for the listener stays readable and would spin.
async fn recover(slots: &Slots, error: &io::Error) {
    if matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset) {
        return;
    }
    tracing::warn!(%error, open = slots.count(), "cannot accept devices, trying again");
    slots.evict();
    tokio::time::sleep(Duration::from_secs(1)).await;
}
