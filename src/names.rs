//! Names to addresses, each look-up on a thread of its own.
//!
//! `getaddrinfo` may hang for half a minute, or for good; on the blocking pool two such look-ups would hold up every file
//! read, and on one thread they would hold up each other.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::{Semaphore, oneshot};

/// A C library's resolver needs more than the smallest stack, be it musl's or glibc's; untouched pages cost nothing.
const STACK: usize = 256 << 10;
/// So many look-ups at once: who hangs keeps its thread.
const MOST: usize = 4;

type LookUp = fn(&str) -> io::Result<Vec<SocketAddr>>;

/// Looks names up.
#[derive(Debug, Clone)]
pub(crate) struct Resolver {
    threads: Arc<Semaphore>,
    look_up: LookUp,
}

impl Resolver {
    pub fn new() -> Self {
        Self::with(|name| (name, 0).to_socket_addrs().map(Iterator::collect))
    }

    fn with(look_up: LookUp) -> Self {
        Self { threads: Arc::new(Semaphore::new(MOST)), look_up }
    }

    /// Who asks gives up by a deadline of its own.
    async fn ask(self, name: String) -> io::Result<Vec<SocketAddr>> {
        let thread = self.threads.acquire_owned().await.map_err(io::Error::other)?;
        let (answer, answered) = oneshot::channel();
        std::thread::Builder::new().name("dns".into()).stack_size(STACK).spawn(move || {
            let _ = answer.send((self.look_up)(&name));
            drop(thread);
        })?;
        answered.await.map_err(io::Error::other)?
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let asked = self.clone().ask(name.as_str().to_owned());
        Box::pin(async move { Ok(Box::new(asked.await?.into_iter()) as Addrs) })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn a_look_up_that_never_ends_holds_up_no_other() {
        let resolver = Resolver::with(|name| match name {
            "hangs" => loop {
                std::thread::park();
            },
            _ => Ok(vec![([127, 0, 0, 1], 0).into()]),
        });
        let ask = |name: &str| timeout(Duration::from_millis(50), resolver.clone().ask(name.into()));
        for _ in 1..MOST {
            assert!(ask("hangs").await.is_err());
        }
        let found = timeout(Duration::from_secs(60), resolver.clone().ask("fine".into())).await;
        assert_eq!(found.unwrap().unwrap(), [([127, 0, 0, 1], 0).into()]);
        assert!(ask("hangs").await.is_err());
        assert!(ask("fine").await.is_err(), "threads that hang are not piled up for ever");
    }
}
