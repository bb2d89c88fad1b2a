//! A gateway that takes an order and downloads, as fast or as slowly as it is told. Its own side costs as little as it can,
//! for it shares the machine with the site that is measured.

use std::fmt::Write as _;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use lamplighter::model::Digest;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::sleep;
use tokio_rustls::TlsConnector;

use crate::site::{name, token};
use crate::tls;

const READ: usize = 256 * 1024;

/// A connection, and a place for what comes over it.
pub struct Wire {
    stream: Box<dyn Stream>,
    buffer: Vec<u8>,
}

/// A socket, with or without TLS.
trait Stream: AsyncRead + AsyncWrite + Unpin {}

impl<T: AsyncRead + AsyncWrite + Unpin> Stream for T {}

/// An answer.
pub struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
    /// From the request to the first byte.
    pub first_byte: Duration,
    pub bytes: usize,
}

/// How an answer's body is taken.
#[derive(Clone, Copy, PartialEq)]
pub enum Take {
    Keep,
    Discard,
    /// Discarded, so many bytes a second.
    Slowly(usize),
}

impl Wire {
    pub async fn to(address: SocketAddr) -> io::Result<Self> {
        Self::by(address, None).await
    }

    /// After a handshake, if there is something to shake hands with.
    pub async fn by(address: SocketAddr, tls: Option<&TlsConnector>) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let stream: Box<dyn Stream> = match tls {
            None => Box::new(stream),
            Some(tls) => Box::new(tls.connect(tls::host(), stream).await?),
        };
        Ok(Self { stream, buffer: vec![0; READ] })
    }

    /// One request, `METHOD PATH` and more header lines if there are any, signed as a gateway's if it is one's, and its answer.
    pub async fn ask(&mut self, what: &str, signed: Option<usize>, body: &str, take: Take) -> io::Result<Answer> {
        let (line, more) = what.split_once('\n').unwrap_or((what, ""));
        let mut request = format!("{line} HTTP/1.1\r\nHost: site\r\n");
        more.lines().for_each(|line| _ = write!(request, "{line}\r\n"));
        if let Some(number) = signed {
            _ = write!(request, "Authorization: TargetToken {}\r\n", token(number));
        }
        if !body.is_empty() {
            _ = write!(request, "Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
        }
        _ = write!(request, "\r\n{body}");
        let sent = Instant::now();
        self.stream.write_all(request.as_bytes()).await?;
        let (mut have, mut first_byte) = (0, None);
        let end = loop {
            have += self.read(have, READ).await?;
            first_byte.get_or_insert_with(|| sent.elapsed());
            if let Some(at) = self.buffer[..have].windows(4).position(|window| window == b"\r\n\r\n") {
                break at + 4;
            }
        };
        let head = String::from_utf8_lossy(&self.buffer[..end]).to_lowercase();
        let length = head.split("content-length: ").nth(1).map_or("0", |rest| rest.split('\r').next().unwrap());
        let length: usize = length.parse().unwrap();
        let mut kept = if take == Take::Keep { self.buffer[end..have].to_vec() } else { Vec::new() };
        let mut came = have - end;
        while came < length {
            let most = if let Take::Slowly(rate) = take { rate / 10 } else { READ };
            let read = self.read(0, most.min(length - came)).await?;
            if take == Take::Keep {
                kept.extend_from_slice(&self.buffer[..read]);
            }
            came += read;
            if let Take::Slowly(_) = take {
                sleep(Duration::from_millis(100)).await;
            }
        }
        let status = head[9..12].parse().unwrap();
        Ok(Answer { status, body: kept, first_byte: first_byte.unwrap(), bytes: came })
    }

    async fn read(&mut self, from: usize, most: usize) -> io::Result<usize> {
        let to = (from + most).min(READ);
        match self.stream.read(&mut self.buffer[from..to]).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            read => Ok(read),
        }
    }
}

/// The path of a gateway's own.
pub fn root(number: usize) -> String {
    format!("/DEFAULT/controller/v1/{}", name(number))
}

/// The path of a link.
fn path(link: &str) -> &str {
    let rest = link.split_once("//").unwrap().1;
    &rest[rest.find('/').unwrap()..]
}

/// The path of the order, if it has one.
pub async fn order(wire: &mut Wire, number: usize) -> Option<String> {
    let answer = wire.ask(&format!("GET {}", root(number)), Some(number), "", Take::Keep).await.ok()?;
    let root: Value = serde_json::from_slice(&answer.body).ok()?;
    Some(path(root["_links"]["deploymentBase"]["href"].as_str()?).to_owned())
}

/// Takes an order: its id and the path of its artifact.
pub async fn fetch(wire: &mut Wire, number: usize, order: &str) -> Option<(String, String)> {
    let answer = wire.ask(&format!("GET {order}"), Some(number), "", Take::Keep).await.ok()?;
    let order: Value = serde_json::from_slice(&answer.body).ok().filter(|_| answer.status == 200)?;
    let link = &order["deployment"]["chunks"][0]["artifacts"][0]["_links"]["download-http"]["href"];
    Some((order["id"].as_str()?.to_owned(), path(link.as_str()?).to_owned()))
}

/// Polls until there is an order, and takes it.
pub async fn taken(wire: &mut Wire, number: usize) -> (String, String) {
    loop {
        if let Some(order) = order(wire, number).await
            && let Some(taken) = fetch(wire, number, &order).await
        {
            return taken;
        }
        sleep(Duration::from_millis(100)).await;
    }
}

/// A rollout of these bytes to all gateways at once.
pub fn rollout(version: &str, bytes: &[u8]) -> String {
    format!(
        "apiVersion: lamplighter.dev/v1alpha1
kind: OtaRollout
metadata: {{name: measured}}
spec:
  artifact: {{name: fw, version: \"{version}\", sources: [\"file:fw.bin\"], digest: sha256:{}, sizeBytes: {}}}
  selector: {{matchLabels: {{site: measured}}}}
  strategy: {{waves: [{{size: \"100%\", soak: 1s}}], maxInFlight: \"100%\", maxFailures: \"100%\"}}
",
        Digest::new(Sha256::digest(bytes).into()).hex(),
        bytes.len()
    )
}

/// Bytes that do not repeat.
pub fn firmware(seed: u64, size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    fastrand::Rng::with_seed(seed).fill(&mut bytes);
    bytes
}
