//! Gates: asking the plant whether it may be touched, by a file or over HTTP.
//!
//! Owns the questions: each is asked once for all gateways that it concerns, one at a time, again every few seconds while
//! somebody waits for it, and not at all otherwise. It must never decide what an answer means for a gateway, ask for what
//! the site file does not allow, wait longer for an answer than its deadline, or write anything.

mod file;
mod http;
mod rounds;

use std::collections::BTreeSet;
use std::rc::Rc;

use tokio::sync::watch;

use crate::model::{Event, GateAllowance, GateKey, SiteTime};
use crate::names::Resolver;

/// Asks what is wanted and says what was answered, until nobody says any more what is wanted.
pub async fn follow(
    wanted: watch::Receiver<BTreeSet<GateKey>>,
    allowance: watch::Receiver<Rc<GateAllowance>>,
    now: impl Fn() -> SiteTime,
    say: impl AsyncFn(Event),
) {
    // kept for good: a look-up that hangs has a thread, and there are few
    let resolver = Resolver::new();
    tokio::join!(
        rounds::follow(wanted.clone(), is_file, file::EVERY, async |keys| {
            file::ask(keys, &allowance.borrow().clone(), &now, &say).await;
        }),
        rounds::follow(wanted, is_http, http::EVERY, async |keys| {
            http::ask(keys, &allowance.borrow().clone(), &resolver, &now, &say).await;
        }),
    );
}

fn is_file(key: &GateKey) -> bool {
    matches!(key, GateKey::File(_))
}

fn is_http(key: &GateKey) -> bool {
    matches!(key, GateKey::Http(_))
}
