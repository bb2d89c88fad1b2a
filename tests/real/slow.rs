//! A slow link between a gateway and Lamplighter.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::spawn_local;

use crate::sleep;

/// Small, so that what left Lamplighter is about what arrived.
const BUFFER: u32 = 8 << 10;
/// So many bytes at a time toward the gateway, ten times a second.
const PIECE: usize = 20 << 10;
/// An artifact that takes the better part of a minute, whatever the kernel buffers.
pub const LONG: usize = 8 << 20;

/// Starts a link to a site; it ends with the test's runtime.
pub async fn link(site: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    spawn_local(async move {
        loop {
            let (gateway, _) = listener.accept().await.unwrap();
            spawn_local(relay(gateway, site));
        }
    });
    address
}

async fn relay(gateway: TcpStream, site: SocketAddr) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(BUFFER).unwrap();
    let Ok(site) = socket.connect(site).await else { return };
    let ((mut from_site, mut to_site), (mut from_gateway, mut to_gateway)) = (site.into_split(), gateway.into_split());
    let asks = spawn_local(async move { _ = copy(&mut from_gateway, &mut to_site).await });
    let mut piece = vec![0; PIECE];
    while let Ok(read @ 1..) = from_site.read(&mut piece).await {
        if to_gateway.write_all(&piece[..read]).await.is_err() {
            break;
        }
        sleep(Duration::from_millis(100)).await;
    }
    asks.abort();
}
