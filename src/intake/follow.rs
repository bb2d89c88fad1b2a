//! Following the directories: read at start, and again whenever something happened in them.

use tokio::sync::watch;
use tokio::time::timeout;

use super::directory::Fingerprint;
use super::listing::Manifests;

use crate::model::Listing;
use crate::watch::{Pace, Watch};

/// Delivers what the directories say, at once and whenever it changed, until it is dropped; they may become others. `files`
/// counts up whenever any file there changed, so that an artifact that was copied again is tried again.
pub async fn follow(
    mut manifests: watch::Receiver<Manifests>,
    pace: Pace,
    files: watch::Sender<u64>,
    on: impl AsyncFn(Listing),
) {
    let mut watch = Watch::new();
    let heard = watch.heard();
    let (mut last, mut again) = (None, false);
    loop {
        let before = heard.count();
        let current = manifests.borrow_and_update().clone();
        let looking = tokio::task::spawn_blocking(move || {
            let watched = watch.renew(current.dirs());
            let look = look(&current, last.filter(|_| !again));
            (watch, watched, look)
        });
        // Only a runtime that is shutting down drops the task.
        let Ok((still, watched, look)) = looking.await else { return };
        watch = still;
        if last.is_some_and(|last: Fingerprint| last.files != look.fingerprint.files) {
            files.send_modify(|count| *count += 1);
        }
        last = Some(look.fingerprint);
        if let Some(listing) = look.listing {
            on(listing).await;
        }
        again = false;
        let patience = if watched { pace.rescan } else { pace.poll };
        tokio::select! {
            // the same bytes may mean something else now
            Ok(()) = manifests.changed() => again = true,
            heard_more = timeout(patience, heard.more_than(before)) => if heard_more.is_ok() {
                heard.settle(pace).await;
            },
        }
    }
}

struct Look {
    fingerprint: Fingerprint,
    /// Only if it can be another one than before.
    listing: Option<Listing>,
}

/// The bytes are compared first: a listing of 500 gateways is not built to find that nothing changed.
fn look(manifests: &Manifests, last: Option<Fingerprint>) -> Look {
    let fingerprint = manifests.fingerprint();
    let same = last.is_some_and(|last| last.manifests == fingerprint.manifests);
    Look { fingerprint, listing: (!same).then(|| manifests.list()) }
}
