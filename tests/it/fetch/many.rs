//! However many gateways want an artifact, it comes over the uplink once: counted at the server.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use lamplighter::site::Endpoints;

use super::process::{Process, until, write_site};
use super::server::{Server, serve};
use super::{World, firmware, local, spec};
use crate::process::site::{TOKEN, gateway};
use crate::process::wire::{ALL, Answer, PATIENCE, Request, exchange};

const GATEWAYS: usize = 500;
/// As many people stand at the gateways.
const HANDS: usize = 8;

/// A busy site may cut a connection: a gateway comes again.
fn get(site: SocketAddr, target: &str) -> io::Result<Answer> {
    let stream = TcpStream::connect(site)?;
    stream.set_read_timeout(PATIENCE)?;
    let (host, token) = (site.to_string(), format!("TargetToken {TOKEN}"));
    let target = target.strip_prefix(&format!("http://{host}")).unwrap_or(target);
    exchange(stream, &Request("GET", target, &[("Host", &host), ("Authorization", &token)], b""), ALL)
}

/// Polls once; the artifact, if there is an order.
fn download(site: SocketAddr, gateway: usize) -> Option<Vec<u8>> {
    let poll = get(site, &format!("/DEFAULT/controller/v1/ctl-gw-{gateway}")).ok()?;
    let order = get(site, poll.json()["_links"]["deploymentBase"]["href"].as_str()?).ok()?;
    if order.status != 200 {
        return None;
    }
    let artifact = &order.json()["deployment"]["chunks"][0]["artifacts"][0];
    let bytes = get(site, artifact["_links"]["download-http"]["href"].as_str().unwrap()).ok()?;
    (bytes.status == 200).then_some(bytes.body)
}

#[tokio::test]
async fn five_hundred_gateways_cost_the_uplink_one_artifact() {
    local(async || {
        let (world, bytes) = (World::new(), firmware(1 << 18));
        let (dir, file) = (world.state.path(), bytes.clone());
        let server = Server::start(move |n, request| {
            let answer = serve(request, &file, "\"a\"");
            if n == 0 { answer.cut(1 << 17) } else { answer }
        })
        .await;
        let (spec, url) = (spec(&bytes, &[]), server.url("/os"));
        write_site(dir, "", "0", &[(&spec, &url)]);
        let manifest = dir.join("manifests/all.yaml");
        let all = std::fs::read_to_string(&manifest).unwrap().replace("line: a", "line: \"3\"");
        let waves = "\n  strategy: {waves: [{size: \"100%\"}], maxInFlight: \"100%\"}\n";
        std::fs::write(&manifest, all.trim_end().to_owned() + waves).unwrap();
        let gateways: Vec<_> = (0..GATEWAYS).map(|at| gateway(&format!("gw-{at}"), "")).collect();
        std::fs::write(dir.join("manifests/gateways.yaml"), gateways.join("---\n")).unwrap();
        let _process = Process::start(dir);
        until(dir, "its address", || Endpoints::read(dir).is_ok()).await;
        let site = Endpoints::read(dir).unwrap().devices.trim_start_matches("http://").parse().unwrap();
        let (done, bytes) = (Arc::new(AtomicUsize::new(0)), Arc::new(bytes));
        let hand = |first: usize| {
            let (done, bytes) = (done.clone(), bytes.clone());
            thread::spawn(move || {
                let mut left: Vec<_> = (first..GATEWAYS).step_by(HANDS).collect();
                while !left.is_empty() {
                    left.retain(|gateway| match download(site, *gateway) {
                        Some(got) => {
                            assert!(got == *bytes, "a wrong byte");
                            done.fetch_add(1, Ordering::Relaxed);
                            false
                        }
                        None => true,
                    });
                }
            })
        };
        let hands: Vec<_> = (0..HANDS).map(hand).collect();
        until(dir, "all downloads", || hands.iter().all(thread::JoinHandle::is_finished)).await;
        assert_eq!(done.load(Ordering::Relaxed), GATEWAYS);
        assert_eq!(server.sent(), bytes.len(), "with a cut in the middle");
    })
    .await;
}
