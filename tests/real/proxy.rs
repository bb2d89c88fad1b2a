//! Stands between a gateway and Lamplighter, kills Lamplighter around the requests that pass, and writes down what passed.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;
use tokio::time::Sleep;

use crate::fault::{Circumstances, Plan};
use crate::gateway;
use crate::site::Site;
use crate::transcript;

/// A running proxy; it ends with the test's runtime.
#[derive(Clone)]
pub struct Proxy {
    /// Where the gateway connects.
    pub address: SocketAddr,
    passage: Rc<Passage>,
}

/// The one way through: requests pass one after the other, so that each fault belongs to one request.
struct Passage {
    site: Rc<Mutex<Site>>,
    plan: RefCell<Plan>,
    /// The requests whose answer was lost, until they come again. Their bodies carry the time, so they don't count.
    lost: RefCell<BTreeSet<String>>,
    transcript: RefCell<Vec<Value>>,
    began: Instant,
}

impl Proxy {
    /// Starts one in front of a site.
    pub async fn start(site: Rc<Mutex<Site>>, plan: Plan) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let passage = Passage {
            site,
            plan: plan.into(),
            lost: RefCell::default(),
            transcript: RefCell::default(),
            began: Instant::now(),
        };
        let passage = Rc::new(passage);
        tokio::task::spawn_local(accept(listener, passage.clone()));
        Self { address, passage }
    }

    /// Writes what passed, one JSON object per request and line.
    pub fn save_transcript(&self, path: &Path) {
        let entries = self.passage.transcript.borrow();
        let lines: Vec<String> = entries.iter().map(Value::to_string).collect();
        std::fs::write(path, lines.join("\n") + "\n").unwrap();
    }

    /// The same without what differs from run to run; times in poll intervals.
    pub fn save_plain_transcript(&self, path: &Path, interval: Duration) {
        let mut before = None;
        let mut lines = Vec::new();
        for entry in self.passage.transcript.borrow().iter() {
            let text = |key: &str| entry[key].as_str().unwrap_or_default();
            let headers = |key: &str| -> Vec<(String, String)> { serde_json::from_value(entry[key].clone()).unwrap() };
            let status = u16::try_from(entry["status"].as_u64().unwrap()).unwrap();
            let mut plain = transcript::entry(
                (text("method"), text("target")),
                &headers("headers"),
                text("body"),
                status,
                &headers("answerHeaders"),
                entry["answer"].as_str(),
            );
            let at = entry["ms"].as_f64().unwrap();
            let after = (at - before.replace(at).unwrap_or(at)) / 1_000.0 / interval.as_secs_f64();
            plain["after"] = ((after * 100.0).round() / 100.0).into();
            lines.push(plain.to_string());
        }
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, lines.join("\n") + "\n").unwrap();
    }

    /// How often the gateway polled.
    pub fn polls(&self) -> usize {
        let poll = format!("/DEFAULT/controller/v1/{}", gateway::ID);
        self.passage.transcript.borrow().iter().filter(|entry| entry["target"] == poll).count()
    }

    /// The downloads: from which byte on, the status, and how many bytes came.
    pub fn downloads(&self) -> Vec<(u64, u64, u64)> {
        let download = |entry: &&Value| {
            entry["method"] == "GET" && entry["target"].as_str().unwrap_or_default().contains("/artifacts/")
        };
        let from = |entry: &Value| {
            let headers: Vec<(String, String)> = serde_json::from_value(entry["headers"].clone()).unwrap();
            let range = headers.iter().find(|(name, _)| name == "range").map(|(_, range)| range.as_str());
            range.map_or(0, |range| range.strip_prefix("bytes=").unwrap().strip_suffix('-').unwrap().parse().unwrap())
        };
        let number = |value: &Value| value.as_u64().unwrap();
        let entries = self.passage.transcript.borrow();
        let downloads = entries.iter().filter(download);
        downloads.map(|entry| (from(entry), number(&entry["status"]), number(&entry["answerBytes"]))).collect()
    }

    /// What passed, for people.
    pub fn summary(&self) -> String {
        let line = |entry: &Value| {
            let text = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
            let detail = if text("method") == "GET" { String::new() } else { text("body") };
            format!("{} {} {detail} -> {} {}", text("method"), text("target"), entry["status"], entry["faults"])
        };
        let entries = self.passage.transcript.borrow();
        entries.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

async fn accept(listener: TcpListener, passage: Rc<Passage>) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let (passage, requests) = (passage.clone(), Rc::new(Cell::new(0)));
        tokio::task::spawn_local(async move {
            let service = service_fn(move |request| {
                let (passage, reused) = (passage.clone(), requests.replace(requests.get() + 1) > 0);
                async move { passage.pass(request, reused).await }
            });
            let mut server = hyper::server::conn::http1::Builder::new();
            // An error is a lost request or answer: the connection ends, which is what the gateway shall see.
            let _ = server.preserve_header_case(true).serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

impl Passage {
    /// Takes a request through to Lamplighter and its answer back, with what the plan lets go wrong.
    async fn pass(&self, request: Request<Incoming>, reused: bool) -> Result<Response<Answer>, Lost> {
        let mut site = self.site.lock().await;
        let (parts, body) = request.into_parts();
        let body = body.collect().await.map_err(|_| Lost)?.to_bytes();
        let name = format!("{} {}", parts.method, parts.uri);
        let resent = self.lost.borrow_mut().remove(&name);
        let download = parts.method == "GET" && parts.uri.path().contains("/artifacts/");
        let faults = self.plan.borrow_mut().next(Circumstances { reused, resent, download });
        if faults.lose_answer {
            self.lost.borrow_mut().insert(name);
        }

        let mut entry = json!({
            "method": parts.method.as_str(), "target": parts.uri.to_string(), "headers": listed(&parts.headers),
            "body": String::from_utf8_lossy(&body), "faults": faults.names(),
            "ms": u64::try_from(self.began.elapsed().as_millis()).unwrap(),
        });
        if faults.before {
            site.kill_and_restart().await;
        }
        if faults.lose_request {
            self.transcript.borrow_mut().push(entry);
            return Err(Lost);
        }
        let request = Request::from_parts(parts, Full::new(body));
        let (head, whole, received) = forward(site.devices(), request, faults.during || faults.cut).await;
        if faults.during || faults.after {
            site.kill_and_restart().await;
        }
        entry["status"] = head.status.as_u16().into();
        entry["answerHeaders"] = listed(&head.headers);
        entry["answerBytes"] = received.len().into();
        if head.headers.get("content-type").is_some_and(|kind| kind.as_bytes().ends_with(b"json")) {
            entry["answer"] = String::from_utf8_lossy(&received).into();
        }
        self.transcript.borrow_mut().push(entry);
        if faults.lose_answer {
            return Err(Lost);
        }
        let breaks = (!whole).then(|| Box::pin(tokio::time::sleep(ON_ITS_WAY)));
        Ok(Response::from_parts(head, Answer { left: Some(received), breaks }))
    }
}

/// Sends a request over a connection of its own and reads the answer: all of it, or half of a long one. Tells whether it is
/// whole.
async fn forward(
    to: SocketAddr,
    request: Request<Full<Bytes>>,
    half: bool,
) -> (hyper::http::response::Parts, bool, Bytes) {
    let stream = TcpStream::connect(to).await.unwrap();
    let mut client = hyper::client::conn::http1::Builder::new();
    let (mut sender, connection) = client.preserve_header_case(true).handshake(TokioIo::new(stream)).await.unwrap();
    let connection = tokio::task::spawn_local(connection);
    let (head, mut body) = sender.send_request(request).await.unwrap().into_parts();
    let length = body.size_hint().exact().expect("every answer says its length");
    let enough = if half && length > 4096 { length / 2 } else { length };
    let mut received = Vec::new();
    while (received.len() as u64) < enough {
        let frame = body.frame().await.expect("an answer is as long as it says").unwrap();
        received.extend_from_slice(&frame.into_data().unwrap_or_default());
    }
    if enough < length {
        received.truncate(usize::try_from(enough).unwrap());
    }
    connection.abort();
    (head, received.len() as u64 == length, received.into())
}

/// Headers as they came, in order.
fn listed(headers: &HeaderMap) -> Value {
    headers.iter().map(|(name, value)| json!([name.as_str(), String::from_utf8_lossy(value.as_bytes())])).collect()
}

/// How long a half answer has before its connection breaks: what hyper did not write by then never arrives.
const ON_ITS_WAY: Duration = Duration::from_millis(300);

/// The body of an answer on its way to the gateway; one that is not whole ends in an error.
struct Answer {
    left: Option<Bytes>,
    breaks: Option<Pin<Box<Sleep>>>,
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Lost;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Lost>>> {
        if let Some(bytes) = self.left.take().filter(|bytes| !bytes.is_empty()) {
            return Poll::Ready(Some(Ok(Frame::data(bytes))));
        }
        match &mut self.breaks {
            None => Poll::Ready(None),
            Some(breaks) => breaks.as_mut().poll(context).map(|()| Some(Err(Lost))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.breaks.is_none() && self.left.as_ref().is_none_or(Bytes::is_empty)
    }
}

/// A request or an answer that does not arrive.
#[derive(Debug)]
struct Lost;

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("lost with Lamplighter")
    }
}

impl std::error::Error for Lost {}
