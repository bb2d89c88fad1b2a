//! A small HTTP/1 client connection over TCP or TLS, kept alive for as long as its owner keeps it.
//!
//! It knows nothing of devices, so benchmarks use it too. It needs a tokio runtime, not a `LocalSet`.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::rt::{Read, Write};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::trust::Trust;

/// Longer than the 30 s that a site may hold an artifact request while it repairs the artifact.
const PATIENCE: Duration = Duration::from_secs(40);
/// Fits a core's second-level cache, so that bytes are hashed while they are warm.
const READ_BUFFER: usize = 256 * 1024;

/// There was no connection, or it broke, or nothing came for too long.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Cut(String);

impl Cut {
    fn new(what: &str, error: impl std::fmt::Display) -> Self {
        Self(format!("{what}: {error}"))
    }
}

/// One connection to one server. Dropping it closes it at once.
#[derive(Debug)]
pub struct Connection {
    sender: http1::SendRequest<Full<Bytes>>,
    driver: JoinHandle<()>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Connection {
    /// Connects to `to`, from the local address `from` if the system allows that.
    pub async fn tcp(to: SocketAddr, from: Option<Ipv4Addr>) -> Result<Self, Cut> {
        Self::over(TokioIo::new(connected(to, from).await?)).await
    }

    /// The same with TLS.
    pub(super) async fn tls(to: SocketAddr, from: Option<Ipv4Addr>, trust: &Trust) -> Result<Self, Cut> {
        let stream = connected(to, from).await?;
        let secured = within(PATIENCE, trust.connect(to.ip(), stream)).await?;
        Self::over(TokioIo::new(secured.map_err(|error| Cut::new("no handshake", error))?)).await
    }

    async fn over<T>(io: T) -> Result<Self, Cut>
    where
        T: Read + Write + Unpin + Send + 'static,
    {
        let (sender, connection) = http1::Builder::new()
            .max_buf_size(READ_BUFFER)
            .handshake(io)
            .await
            .map_err(|error| Cut::new("cannot connect", error))?;
        // its error reaches whoever waits for the response
        let driver = tokio::spawn(async move {
            let _ = connection.await;
        });
        Ok(Self { sender, driver })
    }

    /// Sends one request and waits for the head of its response. The body of the response before must have been read.
    pub async fn send(&mut self, request: Request<Full<Bytes>>) -> Result<Response<Body>, Cut> {
        let response = within(PATIENCE, async {
            self.sender.ready().await?;
            self.sender.send_request(request).await
        });
        let response = response.await?.map_err(|error| Cut::new("no response", error))?;
        Ok(response.map(Body))
    }
}

/// The body of a response, as it comes.
#[derive(Debug)]
pub struct Body(Incoming);

impl Body {
    /// The next bytes; `None` at the clean end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, Cut> {
        loop {
            match within(PATIENCE, self.0.frame()).await? {
                None => return Ok(None),
                Some(Err(error)) => return Err(Cut::new("the response broke off", error)),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
            }
        }
    }

    /// All of it, if it is at most `limit` bytes.
    pub async fn all(mut self, limit: usize) -> Result<Bytes, Cut> {
        let mut whole = BytesMut::new();
        while let Some(chunk) = self.chunk().await? {
            if whole.len() + chunk.len() > limit {
                return Err(Cut(format!("the response is longer than {limit} bytes")));
            }
            whole.extend_from_slice(&chunk);
        }
        Ok(whole.freeze())
    }
}

async fn connected(to: SocketAddr, from: Option<Ipv4Addr>) -> Result<TcpStream, Cut> {
    let connect = |error| Cut::new("cannot connect", error);
    let socket = if to.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }.map_err(connect)?;
    if let Some(from) = from {
        // all of 127/8 is local on Linux; elsewhere the default address must do
        let _ = socket.bind(SocketAddr::from((from, 0)));
    }
    let stream = within(PATIENCE, socket.connect(to)).await?.map_err(connect)?;
    let _ = stream.set_nodelay(true);
    Ok(stream)
}

async fn within<T>(patience: Duration, what: impl Future<Output = T>) -> Result<T, Cut> {
    timeout(patience, what).await.map_err(|_| Cut(format!("nothing came for {patience:?}")))
}
