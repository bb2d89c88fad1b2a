//! The seam between gateways and the site: requests as the clients make them, answered by the device room itself.

use std::collections::BTreeMap;

use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, StatusCode};
use serde_json::{Value, json};

use super::site::Site;
use crate::device::Attendance;
use crate::device::ddi::{self, Download, Head, Pending, Response};
use crate::model::{
    ActionId, Ask as AskFor, Client, ControllerId, Digest, Event, Execution, Finished, SiteTime, TokenHash, Verdict,
};

/// A request of a gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// The root resource.
    Poll,
    /// deploymentBase.
    Order(ActionId),
    /// The artifact, from a byte on.
    Bytes(Order, u64),
    /// Some bytes of the artifact, the last one included.
    Part(Order, u64, u64),
    /// cancelAction.
    Cancelled(ActionId),
    /// Feedback on a cancellation.
    Drop(ActionId, Execution, Finished),
    /// Feedback.
    Say(ActionId, Execution, Finished),
    /// configData.
    Attributes(BTreeMap<String, String>),
}

/// What the gateway reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The root resource: the links of an order and of a cancelled one, and whether attributes are asked for.
    Base { order: Option<ActionId>, cancelled: Option<ActionId>, asks: bool },
    /// cancelAction: which order to drop.
    Drop(ActionId),
    /// deploymentBase.
    Order(Order),
    /// Bytes begin to arrive.
    Body,
    /// 416: it has all bytes.
    NoBytes,
    /// 200.
    Heard,
    /// 404.
    Gone,
    /// 429.
    Busy,
    /// No connection, or one that broke.
    Unreachable,
    /// What no client understands.
    Odd(String),
}

/// An order as a gateway reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    pub action: ActionId,
    pub digest: Digest,
    pub version: String,
    pub size: u64,
    path: String,
}

/// How a request is answered.
#[derive(Debug)]
pub enum Answer {
    Now(Reply),
    /// After the heart's verdict.
    Ask(Event, Pending),
    /// With bytes, after the heart's verdict.
    Send(Download),
}

fn token(id: &str) -> String {
    format!("token-of-{id}")
}

/// The hash of the token that a gateway of the world shows.
pub fn token_hash(id: &ControllerId) -> TokenHash {
    TokenHash::of(&token(id.as_str()))
}

/// Asks the device room. The events are to be told first.
pub(super) fn ask(
    site: &mut Site,
    now: SiteTime,
    (id, client): (&ControllerId, Client),
    ask: &Ask,
) -> (Vec<Event>, Answer) {
    let Site { board, presence, device: settings, .. } = site;
    // most polls are plain, and most of the time would go into their headers
    if let (Ask::Poll, Some((_, entry))) = (ask, board.get(id.as_str()))
        && entry.offer.is_none()
        && entry.ask == AskFor::No
    {
        let mut seen = presence.poll(id, now, entry.tell_poll_from);
        seen.extend(presence.runs(id, client, now).filter(|_| client != Client::Zephyr));
        return (seen, Answer::Now(Reply::Base { order: None, cancelled: None, asks: false }));
    }
    let (method, path, body) = request(id, ask);
    let headers = headers(id, client, ask);
    let head = Head {
        method: &method,
        path: &path,
        headers: &headers,
        local: "site:8080",
        peer: None,
        secure: false,
        certificate: None,
    };
    if let Err(refused) = ddi::admit(board, settings, &head) {
        return (Vec::new(), Answer::Now(read(ask, &refused)));
    }
    let reply = ddi::answer(board, presence, settings, now, &head, &body);
    let answer = match reply.answer {
        ddi::Answer::Now(response) => Answer::Now(read(ask, &response)),
        ddi::Answer::Ask(event, pending) => Answer::Ask(event, pending),
        ddi::Answer::Send(download) => Answer::Send(download),
    };
    (reply.seen, answer)
}

/// The reply to a request that waited for a verdict; none if the commit failed.
pub(super) fn reply(ask: &Ask, pending: Pending, presence: &mut Attendance, verdict: Option<Verdict>) -> Reply {
    read(ask, &pending.respond(presence, verdict))
}

/// The reply to a request for bytes.
pub(super) fn first_byte(ask: &Ask, download: &Download, presence: &mut Attendance, verdict: Option<Verdict>) -> Reply {
    match download.respond(presence, verdict) {
        Ok(head) => read(ask, &head),
        Err(refused) => read(ask, &refused),
    }
}

fn request(id: &ControllerId, ask: &Ask) -> (Method, String, Vec<u8>) {
    let root = format!("/DEFAULT/controller/v1/{id}");
    match ask {
        Ask::Poll => (Method::GET, root, Vec::new()),
        Ask::Order(action) => (Method::GET, format!("{root}/deploymentBase/{action}"), Vec::new()),
        Ask::Cancelled(action) => (Method::GET, format!("{root}/cancelAction/0{action}"), Vec::new()),
        Ask::Bytes(order, _) | Ask::Part(order, ..) => (Method::GET, order.path.clone(), Vec::new()),
        Ask::Say(action, execution, finished) => {
            (Method::POST, format!("{root}/deploymentBase/{action}/feedback"), word(*action, *execution, *finished))
        }
        Ask::Drop(action, execution, finished) => {
            (Method::POST, format!("{root}/cancelAction/0{action}/feedback"), word(*action, *execution, *finished))
        }
        Ask::Attributes(data) => {
            (Method::PUT, format!("{root}/configData"), json!({"data": data}).to_string().into_bytes())
        }
    }
}

fn word(action: ActionId, execution: Execution, finished: Finished) -> Vec<u8> {
    let (execution, finished) = (lower(&execution), lower(&finished));
    let status = json!({"execution": execution, "result": {"finished": finished}, "details": ["said"]});
    json!({"id": action.to_string(), "status": status}).to_string().into_bytes()
}

fn lower(word: &impl std::fmt::Debug) -> String {
    format!("{word:?}").to_lowercase()
}

fn headers(id: &ControllerId, client: Client, ask: &Ask) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let mut set = |name: HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    };
    set(header::HOST, "site:8080");
    set(header::AUTHORIZATION, &format!("TargetToken {}", token(id.as_str())));
    match client {
        Client::Rauc => set(header::USER_AGENT, "rauc-hawkbit-c-agent/1.4"),
        Client::SwUpdate => {
            set(header::USER_AGENT, "libcurl-agent/1.0");
            set(HeaderName::from_static("charsets"), "utf-8");
        }
        Client::Zephyr | Client::Generic => {}
    }
    if !matches!(ask, Ask::Bytes(..) | Ask::Part(..)) {
        set(header::ACCEPT, "application/json");
        set(header::CONTENT_TYPE, "application/json");
    }
    if let Ask::Bytes(_, from @ 1..) = ask {
        set(header::RANGE, &format!("bytes={from}-"));
    }
    if let Ask::Part(_, from, to) = ask {
        set(header::RANGE, &format!("bytes={from}-{to}"));
    }
    headers
}

fn read(ask: &Ask, response: &Response) -> Reply {
    match (response.status, ask) {
        (StatusCode::TOO_MANY_REQUESTS, _) => Reply::Busy,
        (StatusCode::NOT_FOUND, _) => Reply::Gone,
        (StatusCode::RANGE_NOT_SATISFIABLE, Ask::Bytes(..)) => Reply::NoBytes,
        (StatusCode::OK, Ask::Bytes(_, 0)) | (StatusCode::PARTIAL_CONTENT, Ask::Bytes(_, 1..) | Ask::Part(..)) => {
            Reply::Body
        }
        (StatusCode::OK, Ask::Cancelled(_)) => understood(response, stop),
        (StatusCode::OK, Ask::Poll) => understood(response, base),
        (StatusCode::OK, Ask::Order(_)) => understood(response, |body| order(body).map(Reply::Order)),
        (StatusCode::OK, Ask::Say(..) | Ask::Drop(..) | Ask::Attributes(_)) => Reply::Heard,
        // before its first outlook the board is empty
        (StatusCode::UNAUTHORIZED, _) => Reply::Unreachable,
        (status, ask) => Reply::Odd(format!("{status} for {ask:?}")),
    }
}

/// What a client makes of a body, if it can.
fn understood(response: &Response, read: impl Fn(&Value) -> Option<Reply>) -> Reply {
    let body = serde_json::from_slice(&response.body).ok();
    body.as_ref().and_then(read).unwrap_or_else(|| {
        Reply::Odd(format!("an answer that no client understands: {}", String::from_utf8_lossy(&response.body)))
    })
}

fn base(body: &Value) -> Option<Reply> {
    let href = |link: &str| body.pointer(&format!("/_links/{link}/href")).and_then(Value::as_str);
    let action = |href: &str| {
        let (path, _) = href.split_once('?').unwrap_or((href, ""));
        path.rsplit('/').next().and_then(|id| id.parse().ok())
    };
    let (order, cancelled) = (href("deploymentBase"), href("cancelAction"));
    // one active link at most (b.2), and each names an order
    let sound = [order, cancelled].into_iter().flatten().all(|href| action(href).is_some());
    (sound && (order.is_none() || cancelled.is_none())).then(|| Reply::Base {
        order: order.and_then(action),
        cancelled: cancelled.and_then(action),
        asks: href("configData").is_some(),
    })
}

fn stop(body: &Value) -> Option<Reply> {
    let id = body.get("id").filter(|id| Some(*id) == body.pointer("/cancelAction/stopId"))?;
    Some(Reply::Drop(id.as_str()?.parse().ok()?))
}

fn order(body: &Value) -> Option<Order> {
    let text = |at: &str| body.pointer(at).and_then(Value::as_str);
    let artifact = "/deployment/chunks/0/artifacts/0";
    let href = text(&format!("{artifact}/_links/download-http/href"))?;
    Some(Order {
        action: text("/id")?.parse().ok()?,
        digest: format!("sha256:{}", text(&format!("{artifact}/hashes/sha256"))?).parse().ok()?,
        version: text("/deployment/chunks/0/version")?.into(),
        size: body.pointer(&format!("{artifact}/size"))?.as_u64()?,
        // links say where the gateway asked
        path: href.strip_prefix("http://site:8080")?.into(),
    })
}
