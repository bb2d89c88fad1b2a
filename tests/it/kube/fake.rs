//! A server that says what a script says, byte for byte.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::spawn_local;

/// A server.
pub struct Fake {
    pub address: SocketAddr,
    /// All requests so far, as `GET /path?query`.
    pub asked: Rc<RefCell<Vec<String>>>,
}

/// What was asked.
pub struct Request {
    /// Method, path and query.
    pub line: String,
    /// How often this very thing was asked before.
    pub before: usize,
}

impl Request {
    /// Is it for the uid of the namespace?
    pub fn is_namespace(&self) -> bool {
        self.line.starts_with("GET /api/v1/namespaces/hall")
    }

    pub fn is_list(&self, kind: &str) -> bool {
        self.line.starts_with("GET ") && self.line.contains(kind) && !self.line.contains("watch=1")
    }

    pub fn is_watch(&self, kind: &str) -> bool {
        self.line.starts_with("GET ") && self.line.contains(kind) && self.line.contains("watch=1")
    }
}

/// What is answered.
pub enum Reply {
    /// An object, with a status.
    Json(u16, Value),
    /// These bytes, and the end of the connection.
    Bytes(Vec<u8>),
    /// The head of a stream and these lines; the connection stays until the client hangs up.
    Lines(Vec<Value>),
    /// The same, and the stream ends in order.
    Ended(Vec<Value>),
    /// The same, and in the middle of a line the connection ends.
    Cut(Vec<Value>, &'static str),
}

impl Reply {
    /// What a server without objects says.
    pub fn usual(request: &Request) -> Self {
        if request.is_namespace() {
            return Self::Json(200, json!({"metadata": {"uid": "0b6f2d1e-00aa-4c51-9f00-0123456789ab"}}));
        }
        match request.line.split(' ').next() {
            Some("GET") if request.line.contains("watch=1") || request.line.contains("/watch/") => {
                Self::Lines(Vec::new())
            }
            Some("GET") => Self::Json(200, json!({"metadata": {"resourceVersion": "10"}, "items": []})),
            _ => Self::Json(200, json!({})),
        }
    }
}

/// A gateway, as the server has it.
pub fn gateway(name: &str, version: u32) -> Value {
    let uid = format!("00000000-0000-0000-0000-{:012}", name.bytes().map(u64::from).sum::<u64>());
    json!({
        "apiVersion": "lamplighter.dev/v1alpha1", "kind": "EdgeGateway", "spec": {},
        "metadata": {"name": name, "uid": uid, "generation": 1, "resourceVersion": version.to_string()},
    })
}

/// A line of a watch.
#[allow(clippy::needless_pass_by_value, reason = "it is made where it is handed over")]
pub fn line(what: &str, object: Value) -> Value {
    json!({"type": what, "object": object})
}

impl Fake {
    pub fn start(script: impl FnMut(&Request) -> Reply + 'static) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Rc::new(RefCell::new(Vec::new()));
        let (script, all) = (Rc::new(RefCell::new(script)), asked.clone());
        spawn_local(async move {
            let listener = TcpListener::from_std(listener).unwrap();
            while let Ok((stream, _)) = listener.accept().await {
                let (script, all) = (script.clone(), all.clone());
                spawn_local(async move {
                    let mut stream = stream;
                    while let Some(line) = read(&mut stream).await {
                        let before = all.borrow().iter().filter(|known: &&String| **known == line).count();
                        all.borrow_mut().push(line.clone());
                        let reply = (script.borrow_mut())(&Request { line, before });
                        if !write(&mut stream, reply).await {
                            return;
                        }
                    }
                });
            }
        });
        Self { address, asked }
    }

    /// How many requests had these words.
    pub fn count(&self, words: &str) -> usize {
        self.asked.borrow().iter().filter(|line| line.contains(words)).count()
    }
}

/// Method, path and query of a request; what it carries is passed over.
async fn read(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        let mut piece = [0; 4096];
        match stream.read(&mut piece).await {
            Ok(read @ 1..) => bytes.extend_from_slice(&piece[..read]),
            _ => return None,
        }
    };
    let text = String::from_utf8(bytes[..head].to_vec()).unwrap();
    let length = text.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let missing = length.unwrap_or(0_usize).saturating_sub(bytes.len() - head);
    stream.read_exact(&mut vec![0; missing]).await.ok()?;
    Some(text.lines().next().unwrap().trim_end_matches(" HTTP/1.1").to_owned())
}

/// Says whether the connection goes on.
async fn write(stream: &mut TcpStream, reply: Reply) -> bool {
    const STREAM: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
    let lines = |lines: &[Value]| lines.iter().map(|line| chunk(&format!("{line}\n"))).collect::<String>();
    let text = match reply {
        Reply::Json(status, body) => {
            let body = body.to_string();
            let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n", body.len());
            return stream.write_all((head + &body).as_bytes()).await.is_ok();
        }
        Reply::Bytes(bytes) => {
            let _ = stream.write_all(&bytes).await;
            return false;
        }
        Reply::Lines(all) => {
            let _ = stream.write_all((STREAM.to_owned() + &lines(&all)).as_bytes()).await;
            let _ = stream.read(&mut [0; 1]).await;
            return false;
        }
        Reply::Ended(all) => STREAM.to_owned() + &lines(&all) + "0\r\n\r\n",
        Reply::Cut(all, half) => STREAM.to_owned() + &lines(&all) + &chunk(half),
    };
    let _ = stream.write_all(text.as_bytes()).await;
    false
}
