//! Crowds: many sockets from one address, and what they cost the others.

use std::net::Ipv4Addr;
use std::time::Duration;

use lamplighter::device::Caps;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::{TcpSocket, TcpStream};

use super::{Device, Site, run};

const POLL: &str = "GET /DEFAULT/controller/v1/gw-1";

/// A socket from an address of this machine's own.
pub(super) async fn from(site: &Site, address: Ipv4Addr) -> Device {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((address, 0).into()).unwrap();
    Device::over(socket.connect(site.at).await.unwrap())
}

const FLOOR: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const FLOOD: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);

async fn polls_well(site: &Site, address: Ipv4Addr) {
    let mut device = from(site, address).await;
    device.send(POLL, b"").await;
    assert_eq!(device.hear().await.expect("an answer").status, 200);
}

/// As many sockets as this machine lets a process have, both ends counted, and at most so many.
fn sockets(wanted: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    let most = getrlimit(Resource::Nofile).current.map_or(usize::MAX, |most| usize::try_from(most).unwrap());
    let sockets = wanted.min(most.saturating_sub(1_000));
    assert!(sockets >= 2_000, "this machine allows {most} open files; raise `ulimit -n`");
    sockets
}

#[test]
fn thousands_of_silent_sockets_of_one_address_do_not_stop_a_good_device() {
    run(async {
        let site = Site::bounded(10, Caps::default()).await;
        let count = sockets(5_000);
        let mut silent = Vec::with_capacity(count);
        for n in 0..count {
            silent.push(from(&site, FLOOD).await);
            if n % 500 == 0 {
                polls_well(&site, FLOOR).await;
            }
        }
        polls_well(&site, FLOOR).await;
        while site.context.stats.now().accepted < count as u64 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let counts = site.context.stats.now();
        // closed for a newcomer of all, or for one of its own address
        let closed = counts.evicted + counts.held_back;
        assert!(counts.open <= 48 && closed > 9 * count as u64 / 10, "{counts:?}");
        polls_well(&site, FLOOR).await;
    });
}

#[test]
fn one_address_has_its_share_of_connections_and_the_next_closes_its_oldest_without_a_request() {
    run(async {
        let site = Site::bounded(10, Caps { per_address: 2, ..Caps::default() }).await;
        let mut neighbour = from(&site, FLOOR).await;
        neighbour.send(POLL, b"").await;
        assert_eq!(neighbour.hear().await.unwrap().status, 200);
        let (mut first, mut second) = (from(&site, FLOOD).await, from(&site, FLOOD).await);
        for device in [&mut first, &mut second] {
            device.send(POLL, b"").await;
            assert_eq!(device.hear().await.unwrap().status, 200);
        }
        polls_well(&site, FLOOD).await;
        first.is_cut().await;
        second.send(POLL, b"").await;
        assert_eq!(second.hear().await.unwrap().status, 200, "the younger one was left open");
        neighbour.send(POLL, b"").await;
        assert_eq!(neighbour.hear().await.unwrap().status, 200, "and so was the neighbour's");
        assert_eq!(site.context.stats.now().held_back, 1);
    });
}

#[test]
fn an_address_whose_share_is_busy_waits_and_the_others_do_not() {
    run(async {
        let site = Site::bounded(20_000_000, Caps { per_address: 2, ..Caps::default() }).await;
        site.fetched();
        let mut downloads = Vec::new();
        for _ in 0..2 {
            let mut device = from(&site, FLOOD).await;
            device.send(&format!("GET {}", site.artifact_path()), b"").await;
            device.read_to(1_000).await;
            downloads.push(device);
        }
        let mut waiting = from(&site, FLOOD).await;
        waiting.send(POLL, b"").await;
        for _ in 0..5 {
            polls_well(&site, FLOOR).await;
        }
        assert!(tokio::time::timeout(Duration::from_millis(100), waiting.read_to(1)).await.is_err());
        downloads.pop();
        assert_eq!(waiting.hear().await.expect("its turn").status, 200);
    });
}

#[test]
fn a_full_house_closes_those_of_the_address_that_has_most() {
    run(async {
        let site = Site::bounded(10, Caps { connections: 6, per_address: 6, ..Caps::default() }).await;
        let mut quiet = Vec::new();
        for n in 10..12 {
            let mut device = from(&site, Ipv4Addr::new(127, 0, 0, n)).await;
            device.send(POLL, b"").await;
            assert_eq!(device.hear().await.unwrap().status, 200);
            quiet.push(device);
        }
        let mut crowd = Vec::new();
        for _ in 0..20 {
            crowd.push(from(&site, FLOOD).await);
        }
        polls_well(&site, FLOOR).await;
        for device in &mut quiet {
            device.send(POLL, b"").await;
            assert_eq!(device.hear().await.expect("it is still open").status, 200);
        }
        drop(crowd);
    });
}

#[test]
fn where_all_come_from_one_address_all_connections_are_its_share() {
    run(async {
        let site = Site::bounded(10, Caps { per_address: 48, ..Caps::default() }).await;
        let mut devices = Vec::new();
        for _ in 0..48 {
            let mut device = Device::over(TcpStream::connect(site.at).await.unwrap());
            device.send(POLL, b"").await;
            assert_eq!(device.hear().await.unwrap().status, 200);
            devices.push(device);
        }
        let counts = site.context.stats.now();
        assert_eq!((counts.open, counts.evicted, counts.held_back), (48, 0, 0));
    });
}
