//! A site for one gateway, for the player's tests: it answers by the book, and breaks lines where it is told to.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::model::Digest;

/// What the fake does wrong, once each.
#[derive(Debug, Default)]
pub struct Mischief {
    /// Close the first artifact connection half-way.
    pub cut_artifact: bool,
    /// Change a byte of the artifact.
    pub garble: bool,
    /// Answer 429 to the first final feedback.
    pub busy: bool,
    /// Close the first connection without an answer.
    pub refuse_first: bool,
    /// Answer the first resumed request with the whole file.
    pub ignore_range: bool,
}

/// What happened so far.
#[derive(Debug, Default)]
pub struct Log {
    /// `METHOD path`, and the range if there is one.
    pub requests: Vec<String>,
    /// `execution finished`, of feedback that was answered 200.
    pub words: Vec<String>,
    /// The version last reported.
    pub version: Option<String>,
    mischief: Mischief,
}

/// A fake site.
#[derive(Clone)]
pub struct FakeSite {
    pub address: SocketAddr,
    pub firmware: Rc<Vec<u8>>,
    pub log: Rc<RefCell<Log>>,
}

struct Request {
    method: String,
    path: String,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

impl FakeSite {
    /// Serves on a port of its own until the `LocalSet` ends.
    pub async fn start(mischief: Mischief) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let site = Self {
            address: listener.local_addr().unwrap(),
            firmware: Rc::new((0..300_000u32).map(|n| n.to_be_bytes()[3]).collect()),
            log: Rc::new(RefCell::new(Log { mischief, ..Log::default() })),
        };
        let serving = site.clone();
        tokio::task::spawn_local(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::task::spawn_local(serving.clone().connection(stream));
            }
        });
        site
    }

    /// The firmware's sha256, in hex.
    pub fn sha256(&self) -> String {
        Digest::new(Sha256::digest(&*self.firmware).into()).hex()
    }

    /// Has the gateway said its last word?
    pub fn closed(&self) -> bool {
        self.log.borrow().words.iter().any(|word| word.starts_with("closed"))
    }

    async fn connection(self, stream: TcpStream) {
        let mut stream = BufReader::new(stream);
        if std::mem::take(&mut self.log.borrow_mut().mischief.refuse_first) {
            return;
        }
        while let Some(request) = read(&mut stream).await {
            let range = request.headers.get("range").map(|range| format!(" {range}")).unwrap_or_default();
            self.log.borrow_mut().requests.push(format!("{} {}{range}", request.method, request.path));
            let response = self.answer(&request);
            if stream.write_all(&response).await.is_err() || self.cuts(&request) {
                return;
            }
        }
    }

    /// Was the response just written a torn one?
    fn cuts(&self, request: &Request) -> bool {
        is_artifact(request) && std::mem::take(&mut self.log.borrow_mut().mischief.cut_artifact)
    }

    fn answer(&self, request: &Request) -> Vec<u8> {
        if !request.headers.get("authorization").is_some_and(|value| value.starts_with("TargetToken ")) {
            return respond("401 Unauthorized", "", b"");
        }
        match (request.method.as_str(), request.path.rsplit('/').next().unwrap_or_default()) {
            _ if is_artifact(request) => self.artifact(request),
            ("GET", "11?c=1") => json_of(&self.order()),
            ("POST", "feedback") => self.feedback(request),
            ("PUT", "configData") => {
                let body: Value = serde_json::from_slice(&request.body).unwrap();
                self.log.borrow_mut().version = body["data"]["gateway-os"].as_str().map(str::to_owned);
                respond("200 OK", "", b"")
            }
            ("GET", _) => json_of(&self.root(&request.path)),
            _ => respond("405 Method Not Allowed", "", b""),
        }
    }

    fn root(&self, path: &str) -> Value {
        let href = |rest: &str| json!({"href": format!("http://{}{path}/{rest}", self.address)});
        let mut links = serde_json::Map::new();
        if self.log.borrow().version.is_none() {
            links.insert("configData".into(), href("configData"));
        }
        if !self.closed() {
            links.insert("deploymentBase".into(), href("deploymentBase/11?c=1"));
        }
        json!({"config": {"polling": {"sleep": "00:00:01"}}, "_links": links})
    }

    fn order(&self) -> Value {
        let link = json!({"href": format!("http://{}/artifacts/firmware.bin", self.address)});
        json!({"id": "11", "deployment": {"download": "forced", "update": "forced", "chunks": [{
            "part": "bApp", "name": "gateway-os", "version": "2.0.0", "artifacts": [{
                "filename": "firmware.bin", "size": self.firmware.len(),
                "hashes": {"sha256": self.sha256(), "sha1": "", "md5": ""},
                "_links": {"download": link, "download-http": link}}]}]}})
    }

    fn feedback(&self, request: &Request) -> Vec<u8> {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let word = |value: &Value| value.as_str().unwrap().to_owned();
        let execution = word(&body["status"]["execution"]);
        let mut log = self.log.borrow_mut();
        if execution == "closed" && std::mem::take(&mut log.mischief.busy) {
            return respond("429 Too Many Requests", "", b"");
        }
        log.words.push(format!("{execution} {}", word(&body["status"]["result"]["finished"])));
        respond("200 OK", "", b"")
    }

    fn artifact(&self, request: &Request) -> Vec<u8> {
        let size = self.firmware.len();
        let mut log = self.log.borrow_mut();
        let from = request.headers.get("range").and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-'));
        let from = from.map(|from| from.parse::<usize>().unwrap());
        let from = from.filter(|_| !std::mem::take(&mut log.mischief.ignore_range));
        let mut body = self.firmware[from.unwrap_or(0)..].to_vec();
        if std::mem::take(&mut log.mischief.garble) {
            body[7] ^= 1;
        }
        let mut response = match from {
            Some(from) => {
                let range = format!("Content-Range: bytes {from}-{}/{size}\r\n", size - 1);
                respond("206 Partial Content", &range, &body)
            }
            None => respond("200 OK", "", &body),
        };
        match request.method.as_str() {
            "HEAD" => response.truncate(response.len() - body.len()),
            _ if log.mischief.cut_artifact => response.truncate(response.len() - body.len() / 2),
            _ => {}
        }
        response
    }
}

fn is_artifact(request: &Request) -> bool {
    request.path.starts_with("/artifacts/")
}

fn json_of(body: &Value) -> Vec<u8> {
    respond("200 OK", "Content-Type: application/json\r\n", body.to_string().as_bytes())
}

fn respond(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let mut response = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    response.extend_from_slice(body);
    response
}

async fn read(stream: &mut BufReader<TcpStream>) -> Option<Request> {
    let first = line(stream).await?;
    let (method, rest) = first.split_once(' ')?;
    let (path, _) = rest.split_once(' ')?;
    let mut headers = BTreeMap::new();
    while let Some((name, value)) = line(stream).await?.split_once(": ") {
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some(Request { method: method.into(), path: path.into(), headers, body })
}

async fn line(stream: &mut BufReader<TcpStream>) -> Option<String> {
    let mut line = String::new();
    let length = stream.read_line(&mut line).await.ok()?;
    (length > 0).then(|| line.trim_end().to_owned())
}
