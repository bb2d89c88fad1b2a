//! Between the listener for health and figures and the loop. A site goes on without it.

use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;
use tracing::{info, warn};

use super::control::{Answer, Asked, Query};
use super::health::Health;
use crate::metrics::{self, Caps};

/// An address that was taken is tried again this often.
const AGAIN: Duration = Duration::from_secs(10);

/// Stands between the listener and the loop.
pub(super) struct WatchersDesk {
    pub health: Rc<Health>,
    pub queries: mpsc::Sender<Asked>,
}

impl metrics::Desk for WatchersDesk {
    fn ready(&self) -> Result<(), String> {
        self.health.ready()
    }

    async fn metrics(&self) -> Option<String> {
        let (reply, answer) = oneshot::channel();
        self.queries.send((Query::Metrics, reply)).await.ok()?;
        match answer.await.ok()? {
            Answer::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// The first try to listen, before anything is served; what is wrong goes into the log, and into `status`.
pub(super) async fn listen(address: SocketAddr, health: &Health) -> Option<TcpListener> {
    match TcpListener::bind(address).await {
        Ok(listener) => {
            health.deaf.replace(None);
            Some(listener)
        }
        Err(error) => {
            let why = format!(
                "health and metrics are not served: cannot listen on {address}: {error}; is another process there? \
                 `metrics.listen` in the site file says where; the site goes on, and tries again by itself"
            );
            if health.deaf.borrow().as_ref() != Some(&why) {
                warn!("{why}");
            }
            health.deaf.replace(Some(why));
            None
        }
    }
}

/// Serves until it is dropped, as soon as the address is free; `late` is told the address if it was not at once.
pub(super) async fn serve(
    address: SocketAddr,
    listener: Option<TcpListener>,
    desk: WatchersDesk,
    late: impl FnOnce(SocketAddr),
) {
    let listener = match listener {
        Some(listener) => listener,
        None => loop {
            sleep(AGAIN).await;
            if let Some(listener) = listen(address, &desk.health).await {
                info!(%address, "health and metrics are served now");
                late(listener.local_addr().unwrap_or(address));
                break listener;
            }
        },
    };
    metrics::serve(listener, Rc::new(desk), Caps::default()).await;
}
