//! Polls on connections that are reused, as many as the site can answer.

use std::path::Path;
use std::rc::Rc;
use std::time::Instant;

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Request, header};
use lamplighter::cli::simulate::client::Connection;

use crate::GATEWAYS;
use crate::site::{Site, name, poll, token};
use crate::table::{Table, quantile, told};
use crate::threads::in_one_thread;

const CONNECTIONS: usize = 16;
const POLLS: usize = 100_000;

pub fn measure(table: &mut Table, binary: &Path) {
    let site = Site::start(binary, GATEWAYS);
    assert!((0..GATEWAYS).all(|number| poll(site.devices, number)), "every gateway is known");
    site.settle();
    let (cpu, commits, start) = (site.process().cpu_seconds(), site.counter("commits"), Instant::now());
    let mut times = in_one_thread(poll_at_once(Rc::new(site), table, cpu, commits, start));
    times.sort_by(f64::total_cmp);
    for percent in [50, 99] {
        let what = format!("polls, {CONNECTIONS} reused connections: p{percent}");
        told(&what, quantile(&times, percent), "ms", if percent == 99 { "< 5" } else { "" });
    }
}

async fn poll_at_once(site: Rc<Site>, table: &mut Table, cpu: f64, commits: f64, start: Instant) -> Vec<f64> {
    let pollers: Vec<_> = (0..CONNECTIONS).map(|first| tokio::task::spawn_local(poller(site.clone(), first))).collect();
    let mut times = Vec::with_capacity(POLLS);
    for poller in pollers {
        times.extend(poller.await.unwrap());
    }
    let (wall, polls) = (start.elapsed().as_secs_f64(), times.len() as f64);
    let used = site.process().cpu_seconds() - cpu;
    told("polls per second of wall time, the client on the other core", polls / wall, "/s", "");
    told("polls per second of the site's processor time", polls / used, "/s", "≥ 6000");
    told("processor time per poll", used / polls * 1e6, "µs", "");
    table.bounded("commits while everybody polled", site.counter("commits") - commits, "", 0.0);
    times
}

/// Polls for one gateway after the other.
async fn poller(site: Rc<Site>, first: usize) -> Vec<f64> {
    let mut connection = Connection::tcp(site.devices, None).await.unwrap();
    let mut times = Vec::with_capacity(POLLS / CONNECTIONS);
    for number in (0..GATEWAYS).cycle().skip(first * GATEWAYS / CONNECTIONS).take(POLLS / CONNECTIONS) {
        let request = Request::get(format!("/DEFAULT/controller/v1/{}", name(number)))
            .header(header::HOST, "site")
            .header(header::AUTHORIZATION, format!("TargetToken {}", token(number)))
            .body(Full::new(Bytes::new()))
            .unwrap();
        let sent = Instant::now();
        let response = connection.send(request).await.unwrap();
        assert_eq!(response.status(), 200);
        response.into_body().all(4096).await.unwrap();
        times.push(sent.elapsed().as_secs_f64() * 1_000.0);
    }
    times
}
