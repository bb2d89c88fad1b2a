//! HTTP/1.1 to the API server over few connections: one or two for requests, one for each watch.
//!
//! Every call has a deadline. What it costs in memory is bounded: buffers, bodies and lines have limits.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, USER_AGENT};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsConnector;

use super::access::Access;
use super::fault::Fault;
use super::requests::{Requests, WATCH, verb};
use super::settings::Patience;

/// A head and what is read of a body at a time.
const BUFFER: usize = 16 * 1024;
/// What TLS holds of what we send.
const TLS_BUFFER: usize = 16 * 1024;
/// A page of 50 objects is a few hundred kB.
const LARGEST_BODY: usize = 8 << 20;
/// An object has at most 1.5 MB.
const LONGEST_LINE: usize = 4 << 20;
/// Idle connections that are kept for the next request.
const IDLE: usize = 1;

/// The way to the API server. Dropped, its connections are closed.
pub(super) struct Api {
    access: Access,
    namespace: String,
    answers: Rc<Requests>,
    idle: RefCell<Vec<Connection>>,
}

/// A request: its method, the path with its query, and a body with its type.
pub(super) struct Ask<'a> {
    pub method: Method,
    pub path: &'a str,
    pub body: Option<(&'static str, Vec<u8>)>,
}

struct Connection {
    sender: SendRequest<Full<Bytes>>,
    driver: JoinHandle<()>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Api {
    pub fn new(access: Access, namespace: Option<String>, answers: Rc<Requests>) -> Self {
        let namespace = namespace.unwrap_or_else(|| access.namespace.clone());
        Self { access, namespace, answers, idle: RefCell::default() }
    }

    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    pub async fn get(&self, path: &str) -> Result<Bytes, Fault> {
        self.ask(&Ask { method: Method::GET, path, body: None }).await
    }

    /// Asks for something and reads the whole answer, in time. All that is asked this way may be asked twice.
    pub async fn ask(&self, ask: &Ask<'_>) -> Result<Bytes, Fault> {
        let status = Cell::new(None);
        let answer = timeout(Patience::ANSWER, self.exchange(ask, &status)).await.unwrap_or(Err(Fault::Silent));
        self.answers.count(verb(&ask.method), status.get());
        answer
    }

    async fn exchange(&self, ask: &Ask<'_>, said: &Cell<Option<u16>>) -> Result<Bytes, Fault> {
        let kept = self.idle.borrow_mut().pop().filter(|kept| !kept.sender.is_closed());
        let sent = match kept {
            // the server may have closed it just now, which says nothing
            Some(kept) => self.send(kept, ask).await.ok(),
            None => None,
        };
        let (connection, response) = match sent {
            Some(sent) => sent,
            None => self.send(self.connect().await?, ask).await?,
        };
        let status = response.status();
        said.set(Some(status.as_u16()));
        let body = whole(response.into_body()).await?;
        if !connection.sender.is_closed() {
            let mut idle = self.idle.borrow_mut();
            if idle.len() < IDLE {
                idle.push(connection);
            }
        }
        if status.is_success() { Ok(body) } else { Err(Fault::refused(status.as_u16(), &body)) }
    }

    /// Begins a watch, which ends at the latest at this moment.
    pub async fn lines(&self, path: &str, until: Instant) -> Result<Lines, Fault> {
        let ask = Ask { method: Method::GET, path, body: None };
        let begin = async { self.send(self.connect().await?, &ask).await };
        let answer = timeout(Patience::ANSWER, begin).await.unwrap_or(Err(Fault::Silent));
        self.answers.count(WATCH, answer.as_ref().ok().map(|(_, response)| response.status().as_u16()));
        let (connection, response) = answer?;
        let status = response.status();
        let body = response.into_body();
        if !status.is_success() {
            let body = timeout(Patience::ANSWER, whole(body)).await.unwrap_or(Err(Fault::Silent))?;
            return Err(Fault::refused(status.as_u16(), &body));
        }
        Ok(Lines { body, buffer: BytesMut::new(), scanned: 0, until, _connection: connection })
    }

    async fn send(&self, mut connection: Connection, ask: &Ask<'_>) -> Result<(Connection, Response<Incoming>), Fault> {
        let request = self.request(ask).await?;
        connection.sender.ready().await.map_err(Fault::unreachable)?;
        let response = connection.sender.send_request(request).await.map_err(Fault::unreachable)?;
        Ok((connection, response))
    }

    async fn request(&self, ask: &Ask<'_>) -> Result<Request<Full<Bytes>>, Fault> {
        let access = &self.access;
        let mut request = Request::builder()
            .method(ask.method.clone())
            .uri(format!("{}{}", access.prefix, ask.path))
            .header(HOST, format!("{}:{}", access.host, access.port))
            .header(USER_AGENT, concat!("lamplighter/", env!("CARGO_PKG_VERSION")));
        if let Some(authorization) = access.authorization().await? {
            request = request.header(AUTHORIZATION, authorization);
        }
        let body = match &ask.body {
            Some((kind, body)) => {
                request = request.header(CONTENT_TYPE, *kind);
                Bytes::from(body.clone())
            }
            None => Bytes::new(),
        };
        request.body(Full::new(body)).map_err(Fault::garbled)
    }

    async fn connect(&self) -> Result<Connection, Fault> {
        let access = &self.access;
        let connecting = async {
            let tcp = TcpStream::connect((access.host.as_str(), access.port)).await.map_err(Fault::unreachable)?;
            let _ = tcp.set_nodelay(true);
            match access.tls.clone() {
                None => handshake(tcp).await,
                Some((config, name)) => {
                    let connector = TlsConnector::from(config);
                    let connected = connector.connect_with(name, tcp, |tls| tls.set_buffer_limit(Some(TLS_BUFFER)));
                    handshake(connected.await.map_err(Fault::unreachable)?).await
                }
            }
        };
        timeout(Patience::CONNECT, connecting).await.unwrap_or(Err(Fault::Silent))
    }
}

async fn handshake<S>(stream: S) -> Result<Connection, Fault>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let builder = Builder::new().max_buf_size(BUFFER).handshake(TokioIo::new(stream));
    let (sender, connection) = builder.await.map_err(Fault::unreachable)?;
    let driver = tokio::task::spawn_local(async move {
        // how it ended is said to whoever waits for an answer
        let _ = connection.await;
    });
    Ok(Connection { sender, driver })
}

async fn whole(mut body: Incoming) -> Result<Bytes, Fault> {
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.map_err(Fault::unreachable)?.into_data() {
            if bytes.len() + data.len() > LARGEST_BODY {
                return Err(Fault::garbled("it is longer than 8 MiB"));
            }
            bytes.extend_from_slice(&data);
        }
    }
    Ok(bytes.freeze())
}

/// The lines of a watch.
pub(super) struct Lines {
    body: Incoming,
    buffer: BytesMut,
    /// There is no end of a line before this.
    scanned: usize,
    until: Instant,
    _connection: Connection,
}

impl Lines {
    /// The next line; none once the server ended the watch in order.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Fault> {
        loop {
            let fresh = self.buffer.get(self.scanned..).unwrap_or_default();
            if let Some(at) = fresh.iter().position(|byte| *byte == b'\n') {
                let line = self.buffer.split_to(self.scanned + at + 1).freeze();
                self.scanned = 0;
                if self.buffer.is_empty() {
                    // what a large object took is given back
                    self.buffer = BytesMut::new();
                }
                return Ok(Some(line));
            }
            self.scanned = self.buffer.len();
            match timeout_at(self.until, self.body.frame()).await {
                Err(_) => return Err(Fault::Silent),
                // half a line is none: it comes again
                Ok(None) => return Ok(None),
                Ok(Some(Err(error))) => return Err(Fault::unreachable(error)),
                Ok(Some(Ok(frame))) => {
                    let Ok(data) = frame.into_data() else { continue };
                    if self.buffer.len() + data.len() > LONGEST_LINE {
                        return Err(Fault::garbled("a line of a watch is longer than 4 MiB"));
                    }
                    self.buffer.extend_from_slice(&data);
                }
            }
        }
    }
}

/// When a watch that is to last so long is given up.
pub(super) fn given_up_after(seconds: u64) -> Instant {
    Instant::now() + Duration::from_secs(seconds) + Patience::WATCH_SLACK
}

/// Shared by whoever reads and whoever writes.
pub(super) type Shared = Rc<Api>;
