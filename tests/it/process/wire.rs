//! One HTTP/1.1 exchange, byte by byte, so that a test may also read half an answer.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::time::Duration;

use serde_json::Value;

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    /// By lower-case name.
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

/// A request: method, target, headers, body.
pub struct Request<'r>(pub &'r str, pub &'r str, pub &'r [(&'r str, &'r str)], pub &'r [u8]);

/// How much of the answer's body is read before the connection is cut.
pub const ALL: u64 = u64::MAX;

/// Sends a request over a fresh connection and reads the answer's head and the first `limit` bytes of its body.
pub fn exchange(stream: impl Read + Write, request: &Request<'_>, limit: u64) -> io::Result<Answer> {
    let (mut answer, mut stream) = begin(stream, request)?;
    let length: u64 = answer.header("content-length").parse().expect("every answer says its length");
    let wanted = if request.0 == "HEAD" { 0 } else { length.min(limit) };
    answer.body.resize(usize::try_from(wanted).unwrap(), 0);
    stream.read_exact(&mut answer.body)?;
    Ok(answer)
}

/// Sends a request and reads the answer's head; its body is still to be read.
pub fn begin<S: Read + Write>(mut stream: S, request: &Request<'_>) -> io::Result<(Answer, BufReader<S>)> {
    let Request(method, target, headers, body) = request;
    let mut text = format!("{method} {target} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
    for (name, value) in *headers {
        text += &format!("{name}: {value}\r\n");
    }
    stream.write_all(&[(text + "\r\n").as_bytes(), body].concat())?;
    let mut stream = BufReader::new(stream);
    let status = line(&mut stream)?.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status line");
    let mut headers = BTreeMap::new();
    while let Some((name, value)) = line(&mut stream)?.split_once(':') {
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    Ok((Answer { status, headers, body: Vec::new() }, stream))
}

fn line(stream: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    match stream.read_line(&mut line)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(line.trim_end().to_owned()),
    }
}

/// Long enough for a loaded machine, short enough that a hanging answer fails its test.
pub const PATIENCE: Option<Duration> = Some(Duration::from_secs(35));
