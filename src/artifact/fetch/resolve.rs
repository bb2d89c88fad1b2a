//! Names to addresses, on a thread of its own.
//!
//! `getaddrinfo` may hang for half a minute; on the blocking pool two such look-ups would hold up every file read.

use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::mpsc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::oneshot;

/// A C library's resolver needs more than the smallest stack, be it musl's or glibc's; untouched pages cost nothing.
const STACK: usize = 256 << 10;

/// Whoever waits, and what for.
type Question = (Name, oneshot::Sender<std::io::Result<Vec<SocketAddr>>>);

/// Asks the one thread; it ends with the last of these.
#[derive(Debug, Clone)]
pub(super) struct Resolver(mpsc::Sender<Question>);

impl Resolver {
    /// Starts the thread.
    pub fn start() -> std::io::Result<Self> {
        let (sender, questions) = mpsc::channel::<Question>();
        std::thread::Builder::new().name("dns".into()).stack_size(STACK).spawn(move || {
            while let Ok((name, answer)) = questions.recv() {
                // who gave up while an earlier look-up hung does not cost another one
                if !answer.is_closed() {
                    let _ = answer.send((name.as_str(), 0).to_socket_addrs().map(Iterator::collect));
                }
            }
        })?;
        Ok(Self(sender))
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (answer, answered) = oneshot::channel();
        let asked = self.0.send((name, answer)).is_ok();
        Box::pin(async move {
            let addresses = match answered.await {
                Ok(addresses) if asked => addresses?,
                _ => return Err("the thread that looks up names is gone".into()),
            };
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}
