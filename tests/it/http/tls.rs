//! Handshakes that never end, and devices that stop reading behind TLS.

use std::sync::Arc;
use std::time::Duration;

use lamplighter::device::{Caps, Tls};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::{Site, run};
use crate::process::pki::{Ca, Client};

/// A site with TLS, and what a device of it needs.
async fn secured(bytes: usize, limits: Caps) -> (Site, TlsConnector) {
    secured_by(&Ca::new("plant"), bytes, limits).await
}

async fn secured_by(ca: &Ca, bytes: usize, limits: Caps) -> (Site, TlsConnector) {
    let site = Site::start(bytes, limits).await;
    let pair = ca.server();
    let tls = Tls::new(pair.certificate.as_bytes(), pair.key.as_bytes(), None).unwrap();
    site.context.prove_with(Some(tls));
    (site, TlsConnector::from(Arc::clone(&Client::new(&ca.pem, None).config)))
}

async fn shake(site: &Site, connector: &TlsConnector) -> TlsStream<TcpStream> {
    let stream = TcpStream::connect(site.at).await.unwrap();
    connector.connect(ServerName::try_from("site.test").unwrap(), stream).await.unwrap()
}

async fn get(device: &mut TlsStream<TcpStream>, path: &str) {
    get_from(device, path, 0).await;
}

/// Of an artifact from this byte on.
async fn get_from(device: &mut TlsStream<TcpStream>, path: &str, first: usize) {
    let proof = "Authorization: TargetToken s3cret";
    let range = if first == 0 { String::new() } else { format!("Range: bytes={first}-\r\n") };
    let request = format!("GET {path} HTTP/1.1\r\nHost: site.test\r\n{proof}\r\n{range}\r\n");
    device.write_all(request.as_bytes()).await.unwrap();
}

/// Reads the start of an answer.
async fn begin(device: &mut TlsStream<TcpStream>) -> String {
    let mut bytes = vec![0; 1024];
    let read = device.read(&mut bytes).await.unwrap();
    String::from_utf8_lossy(&bytes[..read]).into_owned()
}

#[test]
fn a_handshake_that_never_ends_is_cut_and_keeps_nobody_out() {
    run(async {
        // long enough for the good device, on whatever machine
        let (site, connector) = secured(10, Caps { handshake: Duration::from_secs(1), ..Caps::default() }).await;
        let (mut silent, mut begun) = (site.connect().await, site.connect().await);
        // the first bytes of a ClientHello, and then no more
        begun.raw(&[0x16, 0x03, 0x01, 0x02, 0x00, 0x01]).await;
        silent.is_cut().await;
        begun.is_cut().await;
        let mut plain = site.connect().await;
        plain.send("GET /DEFAULT/controller/v1/gw-1", b"").await;
        assert!(plain.hear().await.is_none(), "plain HTTP is not answered");
        assert_eq!(site.context.stats.now().handshakes_failed, 3);
        let mut good = shake(&site, &connector).await;
        get(&mut good, "/DEFAULT/controller/v1/gw-1").await;
        assert!(begin(&mut good).await.starts_with("HTTP/1.1 200"));
    });
}

#[test]
fn handshakes_that_are_not_begun_make_room_for_good_devices() {
    run(async {
        let (site, connector) = secured(10, Caps { connections: 4, ..Caps::default() }).await;
        for _ in 0..3 {
            let mut silent = Vec::new();
            for _ in 0..8 {
                silent.push(site.connect().await);
            }
            let mut good = shake(&site, &connector).await;
            get(&mut good, "/DEFAULT/controller/v1/gw-1").await;
            assert!(begin(&mut good).await.starts_with("HTTP/1.1 200"));
        }
    });
}

#[test]
fn a_device_that_stops_reading_behind_tls_is_cut() {
    run(async {
        let (site, connector) = secured(20_000_000, Caps { stall: Duration::from_millis(50), ..Caps::default() }).await;
        site.fetched();
        let mut device = shake(&site, &connector).await;
        get(&mut device, &site.artifact_path()).await;
        assert!(begin(&mut device).await.starts_with("HTTP/1.1 200"));
        while site.context.stats.now().open > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let mut rest = Vec::new();
        assert!(device.read_to_end(&mut rest).await.is_err(), "a cut body does not look like a whole one");
        assert!(rest.len() < 20_000_000);
    });
}

#[test]
fn an_artifact_arrives_whole_behind_tls() {
    run(async {
        let (site, connector) = secured(3_000_001, Caps::default()).await;
        site.fetched();
        let mut device = shake(&site, &connector).await;
        // the whole, and the rest of it, on one connection
        for first in [0, 1_234_567] {
            get_from(&mut device, &site.artifact_path(), first).await;
            let mut all = Vec::new();
            while !all.windows(4).any(|window| window == b"\r\n\r\n") {
                device.read_buf(&mut all).await.unwrap();
            }
            let head = all.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
            let body = &site.bytes[first..];
            while all.len() < head + body.len() {
                assert!(device.read_buf(&mut all).await.unwrap() > 0, "the body ended early");
            }
            assert!(all[head..] == *body, "byte for byte");
        }
    });
}

/// A site that takes certificates of an authority, and devices: with one of `gw-1`, and without.
async fn certified(ca: &Ca, bytes: usize) -> (Site, TlsConnector, TlsConnector) {
    let (site, without) = secured_by(ca, bytes, Caps::default()).await;
    site.context.prove_with(Some(trusting(ca, &ca.pem)));
    let own = ca.client("gw-1");
    let with = TlsConnector::from(Arc::clone(&Client::new(&ca.pem, Some(&own)).config));
    (site, with, without)
}

fn trusting(ca: &Ca, authorities: &str) -> Tls {
    let pair = ca.server();
    Tls::new(pair.certificate.as_bytes(), pair.key.as_bytes(), Some(authorities.as_bytes())).unwrap()
}

#[test]
fn replacing_the_authorities_ends_the_connections_that_they_let_in_and_no_others() {
    run(async {
        let (ca, other) = (Ca::new("plant"), Ca::new("another"));
        let (site, with, without) = certified(&ca, 20_000_000).await;
        site.fetched();
        let (mut idle, mut loading) = (shake(&site, &with).await, shake(&site, &with).await);
        let mut stays = shake(&site, &without).await;
        for device in [&mut idle, &mut stays] {
            get(device, "/DEFAULT/controller/v1/gw-1").await;
            assert!(begin(device).await.starts_with("HTTP/1.1 200"));
        }
        get(&mut loading, &site.artifact_path()).await;
        assert!(begin(&mut loading).await.starts_with("HTTP/1.1 200"));

        // the new authority beside the old one: nobody notices
        site.context.prove_with(Some(trusting(&ca, &(ca.pem.clone() + &other.pem))));
        get(&mut idle, "/DEFAULT/controller/v1/gw-1").await;
        assert!(begin(&mut idle).await.starts_with("HTTP/1.1 200"));

        // a device that shakes hands meanwhile is judged by what is trusted then
        site.context.prove_with(Some(trusting(&ca, &other.pem)));
        let mut rest = Vec::new();
        assert!(loading.read_to_end(&mut rest).await.is_err(), "a download is cut");
        assert!(rest.len() < 20_000_000);
        let mut nothing = Vec::new();
        _ = idle.read_to_end(&mut nothing).await;
        assert!(nothing.is_empty());
        get(&mut stays, "/DEFAULT/controller/v1/gw-1").await;
        assert!(begin(&mut stays).await.starts_with("HTTP/1.1 200"), "it has a token, and no certificate");
    });
}
