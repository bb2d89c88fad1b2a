//! The link to the API server, with a counter of its bytes.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::spawn;

/// A link. Its threads end with the test.
pub struct Link {
    pub address: SocketAddr,
    bytes: Arc<AtomicU64>,
    connections: Arc<AtomicU64>,
}

impl Link {
    /// To a server on this machine.
    pub fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (bytes, connections) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let link = Self { address, bytes: bytes.clone(), connections: connections.clone() };
        spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                connections.fetch_add(1, Ordering::Relaxed);
                let Ok(server) = TcpStream::connect(server) else { continue };
                let (client_too, server_too) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                let (there, back) = (bytes.clone(), bytes.clone());
                spawn(move || carry(client, server, &there));
                spawn(move || carry(server_too, client_too, &back));
            }
        });
        link
    }

    /// All bytes so far, both ways, without what TCP adds.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// How often the site connected.
    pub fn connections(&self) -> u64 {
        self.connections.load(Ordering::Relaxed)
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, bytes: &AtomicU64) {
    let mut piece = [0; 16 * 1024];
    let mut once = || -> io::Result<usize> {
        let read = from.read(&mut piece)?;
        to.write_all(&piece[..read])?;
        Ok(read)
    };
    while let Ok(read @ 1..) = once() {
        bytes.fetch_add(read as u64, Ordering::Relaxed);
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
