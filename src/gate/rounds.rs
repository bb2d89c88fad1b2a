//! When which question is asked: at once when it is wanted, and again after a while as long as it is.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::model::GateKey;

/// Asks in rounds, one round at a time, so no question is under way twice. Sleeps while nothing of its kind is wanted.
pub(super) async fn follow(
    mut wanted: watch::Receiver<BTreeSet<GateKey>>,
    kind: fn(&GateKey) -> bool,
    every: Duration,
    ask: impl AsyncFn(Vec<GateKey>),
) {
    let mut asked: BTreeMap<GateKey, Instant> = BTreeMap::new();
    loop {
        let mine: BTreeSet<_> = wanted.borrow_and_update().iter().filter(|key| kind(key)).cloned().collect();
        asked.retain(|key, _| mine.contains(key));
        let now = Instant::now();
        let due = |key: &&GateKey| asked.get(*key).is_none_or(|at| *at + every <= now);
        let due: Vec<_> = mine.iter().filter(due).cloned().collect();
        if due.is_empty() {
            let next = asked.values().min().map(|at| *at + every);
            let changed = match next {
                None => wanted.changed().await,
                Some(at) => tokio::select! {
                    changed = wanted.changed() => changed,
                    () = sleep_until(at) => Ok(()),
                },
            };
            if changed.is_err() {
                return;
            }
            continue;
        }
        ask(due.clone()).await;
        // a little apart, so that sites that started together do not ask together for ever
        let over = Instant::now() + every.mul_f32(fastrand::f32() / 10.0);
        asked.extend(due.into_iter().map(|key| (key, over)));
    }
}
