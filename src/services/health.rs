//! Whether a service is well: asked again and again until it is, or its time is over. It blocks.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::thread::sleep;
use std::time::{Duration, Instant};

use url::Url;

const STEP: Duration = Duration::from_millis(250);
const PATIENCE: Duration = Duration::from_secs(2);

/// Asks until the answer is yes, or says why it was not.
pub(super) fn until(timeout: Duration, mut ask: impl FnMut() -> Result<(), String>) -> Result<(), String> {
    let end = Instant::now() + timeout;
    loop {
        match ask() {
            Ok(()) => return Ok(()),
            Err(why) if Instant::now() >= end => {
                return Err(format!("within {} {why}", crate::model::format_duration(timeout)));
            }
            Err(_) => sleep(STEP),
        }
    }
}

pub(super) fn tcp(port: u16) -> Result<(), String> {
    let to = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    TcpStream::connect_timeout(&to, PATIENCE).map(drop).map_err(|error| format!("port {port} was not open: {error}"))
}

/// Only the status is read.
pub(super) fn http(url: &str) -> Result<(), String> {
    let status = status(url).map_err(|error| format!("{url} gave no answer: {error}"))?;
    if (200..300).contains(&status) { Ok(()) } else { Err(format!("{url} answered {status}")) }
}

fn status(url: &str) -> Result<u16, String> {
    let url = Url::parse(url).map_err(|error| error.to_string())?;
    let (host, port) = (url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or(80));
    let words = |error: std::io::Error| error.to_string();
    let to = (host.trim_matches(['[', ']']), port).to_socket_addrs().map_err(words)?;
    let to = to.into_iter().next().ok_or("it has no address")?;
    let mut stream = TcpStream::connect_timeout(&to, PATIENCE).map_err(words)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(words)?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(words)?;
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    let ask = format!("GET {}{query} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n", url.path());
    stream.write_all(ask.as_bytes()).map_err(words)?;
    // `HTTP/1.1 200`
    let mut line = [0; 12];
    stream.read_exact(&mut line).map_err(words)?;
    let code = line.strip_prefix(b"HTTP/1.").and_then(|rest| str::from_utf8(rest.get(2..)?).ok());
    code.and_then(|code| code.parse().ok()).ok_or_else(|| "that is no HTTP".into())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// Answers each connection with one of these, in turn.
    fn server(answers: &'static [&'static str]) -> u16 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                let _ = stream.read(&mut [0; 512]);
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        port
    }

    #[test]
    fn a_service_is_asked_until_it_is_well() {
        let port = server(&["HTTP/1.1 503 No\r\n\r\n", "nonsense, not HTTP", "HTTP/1.1 204 Fine\r\n\r\n"]);
        let url = format!("http://127.0.0.1:{port}/healthz");
        let mut asked = 0;
        let well = until(Duration::from_secs(60), || {
            asked += 1;
            http(&url)
        });
        assert_eq!((well, asked), (Ok(()), 3));
    }

    #[test]
    fn one_that_never_is_says_why() {
        let port = server(&[]);
        let why = until(Duration::ZERO, || tcp(port)).map(|()| http(&format!("http://127.0.0.1:{port}/")));
        assert!(matches!(&why, Ok(Err(_)) | Err(_)), "{why:?}");
        let port = server(&["HTTP/1.1 500 No\r\n\r\n"]);
        let why = until(Duration::ZERO, || http(&format!("http://127.0.0.1:{port}/"))).unwrap_err();
        assert!(why.contains("answered 500"), "{why}");
    }
}
