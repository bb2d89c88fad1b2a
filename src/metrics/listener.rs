//! The listener: a few connections, one question each, and not long.
//!
//! Whoever reaches it may ask as often as it likes and read as slowly as it likes: that costs a bounded piece of memory.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{AbortHandle, spawn_local};
use tokio::time::{sleep, timeout};

/// Where answers come from.
pub trait Desk {
    /// Is the site ready? If not, why.
    fn ready(&self) -> Result<(), String>;
    /// All figures as text; none if the site stops.
    fn metrics(&self) -> impl Future<Output = Option<String>>;
}

/// The limits; the defaults are the ones in force, tests shorten them.
#[derive(Debug, Clone, Copy)]
pub struct Caps {
    /// Connections at once; a further one takes the place of the oldest. Each may hold 8 KiB of a head.
    pub connections: usize,
    /// Of these, so many are given figures at once; others wait. A text has some 20 kB, and some 300 where a site has rollouts
    /// by the hundred.
    pub scrapes: usize,
    /// For a question's head.
    pub header: Duration,
    /// From accepting a connection until its answer was taken.
    pub whole: Duration,
}

impl Default for Caps {
    fn default() -> Self {
        Self { connections: 8, scrapes: 2, header: Duration::from_secs(5), whole: Duration::from_secs(10) }
    }
}

/// hyper's smallest.
const BUFFER: usize = 8 * 1024;
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

/// Serves until it is dropped. Runs within a `LocalSet`.
pub async fn serve(listener: TcpListener, desk: Rc<impl Desk + 'static>, caps: Caps) {
    let scrapes = Arc::new(Semaphore::new(caps.scrapes));
    let mut open: VecDeque<AbortHandle> = VecDeque::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                open.retain(|connection| !connection.is_finished());
                if open.len() >= caps.connections
                    && let Some(oldest) = open.pop_front()
                {
                    oldest.abort();
                }
                let connection = spawn_local(connection(stream, Rc::clone(&desk), Arc::clone(&scrapes), caps));
                open.push_back(connection.abort_handle());
            }
            Err(error) => {
                tracing::debug!(%error, "the metrics listener does not accept");
                // out of file descriptors the listener stays readable, and would spin
                sleep(Duration::from_secs(1)).await;
            }
        }
    }
}

async fn connection(stream: TcpStream, desk: Rc<impl Desk>, scrapes: Arc<Semaphore>, caps: Caps) {
    // held until the answer was taken
    let scrape = RefCell::new(None);
    let service = service_fn(|request| {
        let (desk, scrapes, scrape) = (&desk, &scrapes, &scrape);
        async move { Ok::<_, Infallible>(answer(&request, &**desk, scrapes, scrape).await) }
    });
    let served = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(caps.header)
        .keep_alive(false)
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(stream), service);
    // how it ended is nobody's concern
    let _ = timeout(caps.whole, served).await;
}

async fn answer(
    request: &Request<Incoming>,
    desk: &impl Desk,
    scrapes: &Arc<Semaphore>,
    scrape: &RefCell<Option<OwnedSemaphorePermit>>,
) -> Response<Full<Bytes>> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut refusal = said(StatusCode::METHOD_NOT_ALLOWED, TEXT, "only GET and HEAD\n".into());
        refusal.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return refusal;
    }
    match request.uri().path() {
        "/live" => said(StatusCode::OK, TEXT, "live\n".into()),
        "/ready" => match desk.ready() {
            Ok(()) => said(StatusCode::OK, TEXT, "ready\n".into()),
            Err(why) => said(StatusCode::SERVICE_UNAVAILABLE, TEXT, format!("not ready: {why}\n")),
        },
        "/metrics" => {
            let Ok(turn) = Arc::clone(scrapes).acquire_owned().await else { return stopping() };
            scrape.replace(Some(turn));
            match desk.metrics().await {
                Some(text) => said(StatusCode::OK, OPEN_METRICS, text),
                None => stopping(),
            }
        }
        _ => said(StatusCode::NOT_FOUND, TEXT, "there are /live, /ready and /metrics\n".into()),
    }
}

fn stopping() -> Response<Full<Bytes>> {
    said(StatusCode::SERVICE_UNAVAILABLE, TEXT, "the site is stopping\n".into())
}

fn said(status: StatusCode, kind: &'static str, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
