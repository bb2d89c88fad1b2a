//! A small web server that does as it is told: for each request, in order, the next line of its script.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::spawn_local;
use tokio_rustls::TlsAcceptor;

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Request {
    pub path: String,
    pub headers: BTreeMap<String, String>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// `Range: bytes=N-` gives N.
    pub fn offset(&self) -> Option<usize> {
        self.header("range")?.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok()
    }
}

/// An answer: the bytes as they go over the wire, and how it ends.
pub struct Answer {
    pub head: String,
    pub body: Vec<u8>,
    /// Cut after so many bytes of the body.
    pub cut: Option<usize>,
    /// One piece of so many bytes, then so long nothing.
    pub slow: Option<(usize, Duration)>,
    /// Keep the connection open for good after the body.
    pub hang: bool,
    /// The body comes so many times.
    pub repeat: usize,
    /// Never more than so many bytes ahead of this file's length: else a busy machine's kernel would hold megabytes.
    pub ahead: Option<(PathBuf, u64)>,
}

impl Answer {
    /// With a `Content-Length`, and more headers.
    pub fn new(status: &str, headers: &[(&str, &str)], body: &[u8]) -> Self {
        let mut answer = Self::bare(status, headers, body);
        answer.head += &format!("Content-Length: {}\r\n", body.len());
        answer
    }

    /// Without any header that says how long it is.
    pub fn bare(status: &str, headers: &[(&str, &str)], body: &[u8]) -> Self {
        let mut head = format!("HTTP/1.1 {status}\r\nConnection: close\r\n");
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        Self { head, body: body.to_vec(), cut: None, slow: None, hang: false, repeat: 1, ahead: None }
    }

    pub fn cut(mut self, after: usize) -> Self {
        self.cut = Some(after);
        self
    }

    pub fn slow(mut self, piece: usize, pause: Duration) -> Self {
        self.slow = Some((piece, pause));
        self
    }

    pub fn ahead(mut self, file: PathBuf, bytes: u64) -> Self {
        self.ahead = Some((file, bytes));
        self
    }

    pub fn hang(mut self) -> Self {
        self.hang = true;
        self
    }
}

/// The whole file, or the rest of it, as a good server gives it.
pub fn serve(request: &Request, bytes: &[u8], etag: &str) -> Answer {
    let headers = [("ETag", etag)];
    let same = request.header("if-range").is_none_or(|validator| validator == etag);
    match request.offset().filter(|_| same) {
        None => Answer::new("200 OK", &headers, bytes),
        Some(from) if from >= bytes.len() => Answer::new("416 Range Not Satisfiable", &headers, b""),
        Some(from) => {
            let range = format!("bytes {from}-{}/{}", bytes.len() - 1, bytes.len());
            Answer::new("206 Partial Content", &[headers[0], ("Content-Range", &range)], &bytes[from..])
        }
    }
}

/// Everything that was asked and sent.
#[derive(Default)]
pub struct Seen {
    pub requests: Vec<Request>,
    /// Bytes of bodies that left.
    pub sent: usize,
}

pub struct Server {
    pub address: std::net::SocketAddr,
    pub seen: Rc<RefCell<Seen>>,
}

impl Server {
    /// Answers with what `script` says for the how-manieth request.
    pub async fn start(script: impl Fn(usize, &Request) -> Answer + 'static) -> Self {
        Self::start_with(script, |_| None).await
    }

    /// The same over TLS, with this certificate for the how-manieth connection.
    pub async fn start_tls(
        script: impl Fn(usize, &Request) -> Answer + 'static,
        certificate: impl Fn(usize) -> &'static str + 'static,
    ) -> Self {
        Self::start_with(script, move |n| Some(super::tls::acceptor(certificate(n)))).await
    }

    async fn start_with(
        script: impl Fn(usize, &Request) -> Answer + 'static,
        tls: impl Fn(usize) -> Option<TlsAcceptor> + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Rc::<RefCell<Seen>>::default();
        let (script, noted) = (Rc::new(script), seen.clone());
        spawn_local(async move {
            let mut connections = 0;
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, script, noted) = (tls(connections), script.clone(), noted.clone());
                connections += 1;
                spawn_local(async move {
                    match acceptor {
                        None => answer(stream, script, noted).await,
                        Some(acceptor) => {
                            let Ok(stream) = acceptor.accept(stream).await else { return };
                            answer(stream, script, noted).await;
                        }
                    }
                });
            }
        });
        Self { address, seen }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn requests(&self) -> Vec<Request> {
        self.seen.borrow().requests.clone()
    }

    pub fn sent(&self) -> usize {
        self.seen.borrow().sent
    }
}

async fn answer(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    script: Rc<impl Fn(usize, &Request) -> Answer>,
    seen: Rc<RefCell<Seen>>,
) {
    let Some(request) = read(&mut stream).await else { return };
    let number = seen.borrow().requests.len();
    seen.borrow_mut().requests.push(request.clone());
    let answer = script(number, &request);
    let body = &answer.body[..answer.cut.unwrap_or(answer.body.len()).min(answer.body.len())];
    let (piece, pause) = answer.slow.unwrap_or((16 << 10, Duration::ZERO));
    if stream.write_all(format!("{}\r\n", answer.head).as_bytes()).await.is_err() {
        return;
    }
    let mut position = request.offset().unwrap_or(0) as u64;
    for piece in std::iter::repeat_n(body, answer.repeat).flat_map(|body| body.chunks(piece)) {
        while let Some((file, ahead)) = &answer.ahead {
            let there = std::fs::metadata(file).map_or(u64::MAX, |file| file.len());
            if position == 0 || position <= there.saturating_add(*ahead) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        if stream.write_all(piece).await.is_err() {
            return;
        }
        position += piece.len() as u64;
        seen.borrow_mut().sent += piece.len();
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
    }
    if answer.hang {
        std::future::pending::<()>().await;
    }
    let _ = stream.shutdown().await;
}

pub async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Option<Request> {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        bytes.push(stream.read_u8().await.ok()?);
    }
    let text = String::from_utf8(bytes).unwrap();
    let mut lines = text.lines();
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let header = |line: &str| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()));
    Some(Request { path, headers: lines.filter_map(header).collect() })
}
