//! The control socket: HTTP/1 JSON over `<state>/control.sock`, for the command line on the same machine.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::de::DeserializeOwned;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::time::timeout;
use tracing::{debug, warn};

use super::peer;
use super::report::{self, Acceptance, JournalFilter, Wanted};
use crate::artifact::Keeper;
use crate::intake::Manifests;
use crate::model::{Digest, Listing, ObjectName};
use crate::resources::Limits;

/// A question of a person, answered between two steps.
#[derive(Debug, Clone, PartialEq)]
pub enum Query {
    /// The site at a glance.
    Status,
    /// All gateways.
    Gateways,
    /// One gateway, by name or controller id.
    Why(String),
    /// One rollout, by name.
    WhyRollout(String),
    /// What rollouts would do: all, or the one of this name.
    Plan(Option<String>),
    /// What would be done were this declared.
    PlanWith(Listing),
    /// Rows of the journal.
    Journal(JournalFilter),
    /// The artifacts that are known.
    Artifacts,
    /// Gateways that nobody declared are let in; by whom.
    Accept(Acceptance, String),
    /// What a person says on the spot, and who it was.
    Order(Wanted, String),
    /// What is said in the API about one of its objects. Only what writes there asks.
    Object(ObjectName),
    /// All figures, for whoever watches over the site. Only the listener for metrics asks.
    Metrics,
    /// Was a drop with this content accepted at any time? Only the drop directory asks.
    IsDropAccepted(Digest),
}

/// What the loop says to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// A JSON document.
    Json(Vec<u8>),
    /// Plain text.
    Text(String),
    /// There is nothing of this name; what else was meant.
    Nobody(String),
    /// It cannot be done as it was asked; why.
    Refused(String),
    /// The disk does not give it; why.
    Unreadable(String),
    /// What is in memory is not on disk, so it is not shown; why.
    Trouble(String),
}

/// A question and where its answer goes.
pub type Asked = (Query, oneshot::Sender<Answer>);

/// So many people at once are plenty.
const MOST_CONNECTIONS: usize = 8;
/// The names of some hundred gateways.
const LARGEST_BODY: usize = 128 * 1024;
const HEADER_TIMEOUT: Duration = Duration::from_secs(5);

/// The ways into the loop.
#[derive(Debug, Clone)]
pub(super) struct Control {
    pub keeper: Rc<Keeper>,
    pub manifests: watch::Receiver<Manifests>,
    pub queries: mpsc::Sender<Asked>,
}

/// Binds the socket in the place of one that an earlier process left; the state directory's lock says that it is gone.
pub(super) fn bind(path: &Path, group: Option<&str>) -> io::Result<UnixListener> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o660))?;
    if let Some(group) = group {
        std::os::unix::fs::chown(path, None, Some(group_id(group)?))?;
    }
    Ok(listener)
}

fn group_id(name: &str) -> io::Result<u32> {
    let groups = fs::read_to_string("/etc/group")?;
    let found = groups.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next() == Some(name)).then(|| fields.nth(1)?.parse().ok()).flatten()
    });
    found.ok_or_else(|| io::Error::other(format!("control.group: there is no group {name:?} in /etc/group")))
}

/// Answers until it is dropped.
pub(super) async fn serve(listener: UnixListener, control: Control) {
    let permits = std::sync::Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let Ok(permit) = permits.clone().acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let control = control.clone();
                tokio::task::spawn_local(async move {
                    connection(stream, control).await;
                    drop(permit);
                });
            }
            Err(error) => {
                warn!(%error, "the control socket does not accept");
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
    }
}

async fn connection(stream: UnixStream, control: Control) {
    let uid = peer::uid(&stream);
    let service = service_fn(|request| {
        let control = control.clone();
        async move { Ok::<_, std::convert::Infallible>(answer(request, control, uid).await) }
    });
    let served = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(16 * 1024)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    if let Err(error) = served {
        debug!(%error, "a control connection ended early");
    }
}

fn no_such_path() -> Response<Full<Bytes>> {
    error(StatusCode::NOT_FOUND, "this site knows no such path; it may be older than this command")
}

async fn answer(request: Request<Incoming>, control: Control, uid: Option<u32>) -> Response<Full<Bytes>> {
    let path = request.uri().path();
    let query = match (request.method(), path) {
        (&Method::GET, "/v1/status") => Query::Status,
        (&Method::GET, "/v1/gateways") => Query::Gateways,
        (&Method::GET, "/v1/artifacts") => Query::Artifacts,
        (&Method::GET, "/v1/journal") => match JournalFilter::from_query(request.uri().query().unwrap_or("")) {
            Ok(filter) => Query::Journal(filter),
            Err(why) => return error(StatusCode::BAD_REQUEST, &why),
        },
        (&Method::POST, "/v1/accept") => match body(request).await {
            Ok(wanted) => Query::Accept(wanted, peer::name(uid).await),
            Err(why) => return error(StatusCode::BAD_REQUEST, &why),
        },
        (&Method::POST, "/v1/artifacts/prune") => return prune(&control, peer::name(uid).await).await,
        (&Method::POST, "/v1/orders") => match body(request).await {
            Ok(wanted) => Query::Order(wanted, peer::name(uid).await),
            Err(why) => return error(StatusCode::BAD_REQUEST, &why),
        },
        // how it was said before there were other orders
        (&Method::POST, "/v1/resume") => Query::Order(Wanted::Resume { rollout: None }, peer::name(uid).await),
        (&Method::POST, "/v1/plan") => match text(request).await {
            Ok(text) => Query::PlanWith(read(&control.manifests, text).await),
            Err(why) => return error(StatusCode::BAD_REQUEST, &why),
        },
        (&Method::GET, "/v1/plan") => Query::Plan(None),
        (&Method::GET, _) => match named(path) {
            Some(query) => query,
            None => return no_such_path(),
        },
        _ => return no_such_path(),
    };
    let (reply, answer) = oneshot::channel();
    if control.queries.send((query, reply)).await.is_err() {
        return error(StatusCode::SERVICE_UNAVAILABLE, "the site is stopping");
    }
    match answer.await {
        Ok(Answer::Json(json)) => json_response(StatusCode::OK, json),
        // nothing is asked here that would be answered so
        Ok(Answer::Text(text)) => error(StatusCode::INTERNAL_SERVER_ERROR, &text),
        Ok(Answer::Nobody(why)) => error(StatusCode::NOT_FOUND, &why),
        Ok(Answer::Refused(why)) => error(StatusCode::BAD_REQUEST, &why),
        Ok(Answer::Unreadable(why)) => {
            error(StatusCode::SERVICE_UNAVAILABLE, &format!("{why}; look at the log and the disk, then ask again"))
        }
        Ok(Answer::Trouble(why)) => {
            let why = format!(
                "the site cannot write its store, so nothing moves: {why}; free space or repair the disk, it goes on by itself"
            );
            error(StatusCode::SERVICE_UNAVAILABLE, &why)
        }
        Err(_) => error(StatusCode::SERVICE_UNAVAILABLE, "the site is stopping"),
    }
}

/// Questions about one thing, whose name ends the path.
fn named(path: &str) -> Option<Query> {
    let (question, name) = path.rsplit_once('/')?;
    let name = percent_encoding::percent_decode_str(name).decode_utf8_lossy().into_owned();
    match question {
        "/v1/why" => Some(Query::Why(name)),
        "/v1/why-rollout" => Some(Query::WhyRollout(name)),
        "/v1/plan" => Some(Query::Plan(Some(name))),
        _ => None,
    }
}

/// A manifest's text.
async fn text(request: Request<Incoming>) -> Result<Bytes, String> {
    let most = usize::try_from(Limits::FILE_BYTES).unwrap_or(usize::MAX);
    let read = Limited::new(request.into_body(), most).collect();
    let body = timeout(HEADER_TIMEOUT, read).await.map_err(|_| "the manifest did not arrive".to_owned())?;
    Ok(body.map_err(|error| format!("the manifest cannot be taken: {error}"))?.to_bytes())
}

/// What a manifest would say in the first of the site's directories.
async fn read(manifests: &watch::Receiver<Manifests>, text: Bytes) -> Listing {
    let manifests = manifests.borrow().clone();
    tokio::task::spawn_blocking(move || manifests.would_say(&text)).await.unwrap_or_default()
}

/// What a request says in JSON.
async fn body<T: DeserializeOwned>(request: Request<Incoming>) -> Result<T, String> {
    let read = Limited::new(request.into_body(), LARGEST_BODY).collect();
    let body = timeout(HEADER_TIMEOUT, read).await.map_err(|_| "the body did not arrive".to_owned())?;
    let body = body.map_err(|error| error.to_string())?.to_bytes();
    serde_json::from_slice(&body).map_err(|error| format!("the body is not what this version reads: {error}"))
}

/// What went is answered once it is on disk that it went.
async fn prune(control: &Control, who: String) -> Response<Full<Bytes>> {
    match control.keeper.prune(&who).await {
        Ok(freed) => match serde_json::to_vec(&report::freed(freed)) {
            Ok(json) => json_response(StatusCode::OK, json),
            Err(why) => error(StatusCode::INTERNAL_SERVER_ERROR, &why.to_string()),
        },
        Err(why) => error(StatusCode::SERVICE_UNAVAILABLE, &format!("{why}; what went before that is in the log")),
    }
}

fn error(status: StatusCode, why: &str) -> Response<Full<Bytes>> {
    json_response(status, serde_json::json!({ "error": why }).to_string().into_bytes())
}

fn json_response(status: StatusCode, json: Vec<u8>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(json)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
