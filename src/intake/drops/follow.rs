//! Following the drop directory: looks, hands on what is complete, and writes what became of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use super::Desk;
use super::state::Drops;
use crate::model::{Dropped, Verdict};
use crate::watch::Watch;

/// Follows it until it is dropped. The directory is made if it is not there.
pub async fn follow(drops: Drops, mut desk: impl Desk) {
    let _stop = StopOnDrop(drops.stop());
    let pace = drops.pace;
    if let Err(error) = std::fs::create_dir_all(&drops.dir) {
        tracing::warn!(dir = %drops.dir.display(), %error, "cannot make the drop directory; it is looked for again");
    }
    let (mut drops, mut watch) = (drops, Watch::new());
    let heard = watch.heard();
    loop {
        let before = heard.count();
        let dirs = [drops.dir.clone()];
        let watching = on_disk(drops, move |_| {
            let watched = watch.renew(&dirs);
            (watch, watched)
        });
        // only a runtime that is shutting down drops the task
        let Some((still, (same, watched))) = watching.await else { return };
        watch = same;
        let Some((still, passed)) = pass(still, &desk).await else { return };
        drops = still;
        let earliest = Instant::now() + pace.least;
        let patience = if watched { pace.look.rescan } else { pace.look.poll };
        let patience = passed.again.map_or(patience, |again| patience.min(again));
        tokio::select! {
            () = heard.more_than(before) => heard.settle(pace.look).await,
            () = desk.changed(), if drops.is_waiting() || drops.has_accepted() => sleep_until(earliest).await,
            () = sleep(patience) => {}
        }
        if passed.wrote {
            sleep_until(earliest).await;
        }
    }
}

/// What is known after a pass.
struct Passed {
    /// A result was written.
    wrote: bool,
    /// When to pass again although nothing is heard.
    again: Option<Duration>,
}

/// Looks once, and does what there is to do; none when the process ends.
async fn pass(mut drops: Drops, desk: &impl Desk) -> Option<(Drops, Passed)> {
    drops.poll_interval = desk.poll_interval();
    let (mut drops, folder) = on_disk(drops, |drops| drops.scan(std::time::Instant::now())).await?;
    ask(&mut drops, desk).await;
    let standing: BTreeMap<_, _> =
        drops.needs().map(|artifact| (artifact.key.digest, desk.standing(artifact))).collect();
    let finding = on_disk(drops, move |drops| drops.find(&folder, &standing, std::time::Instant::now()));
    let (mut drops, found) = finding.await?;
    desk.want(found.wanted);
    let mut again = found.again;
    for name in found.ready.into_iter().chain(found.bad) {
        drops = decide(drops, desk, name.clone()).await?;
        if drops.is_undecided(&name) {
            again = Some(again.map_or(drops.pace.least, |again| again.min(drops.pace.least)));
        }
    }
    desk.show(drops.lines());
    let progress = if drops.has_accepted() { desk.progress().await } else { Some(Vec::new()) };
    let writing = on_disk(drops, move |drops| progress.is_some_and(|progress| drops.write(&progress)));
    let (drops, wrote) = writing.await?;
    Some((drops, Passed { wrote, again }))
}

/// A drop that was accepted earlier needs nothing: its stick may be long gone.
async fn ask(drops: &mut Drops, desk: &impl Desk) {
    for (name, digest) in drops.unasked() {
        match desk.is_accepted(digest).await {
            Some(true) => drops.accepted(&name),
            Some(false) => drops.waits(&name),
            None => {}
        }
    }
}

/// Hands a drop on and does what was decided; none when the process ends.
async fn decide(drops: Drops, desk: &impl Desk, name: String) -> Option<Drops> {
    let reading = name.clone();
    let (mut drops, drop) = on_disk(drops, move |drops| drops.drop(&reading)).await?;
    let Some(drop) = drop else { return Some(drops) };
    let refused = drops.wrong(&name);
    let objects = names(&drop);
    let why = match (desk.decide(drop).await, refused) {
        (None | Some(Verdict::NotYet), _) => return Some(drops),
        (Some(_), Some(why)) => why,
        (Some(Verdict::Contradicts(contradiction)), _) => {
            let object = usize::try_from(contradiction.object).ok().and_then(|at| objects.get(at));
            format!("{} {}", object.map_or("an object", String::as_str), contradiction.why)
        }
        (Some(_), None) => {
            drops.accepted(&name);
            return Some(drops);
        }
    };
    let (drops, ()) = on_disk(drops, move |drops| drops.refuse(&name, &why)).await?;
    Some(drops)
}

fn names(drop: &Dropped) -> Vec<String> {
    drop.content.iter().flatten().map(crate::model::Intent::name).collect()
}

/// Files are read, hashed and written where blocking is allowed; none when the process ends.
async fn on_disk<T: Send + 'static>(
    mut drops: Drops,
    work: impl FnOnce(&mut Drops) -> T + Send + 'static,
) -> Option<(Drops, T)> {
    let done = tokio::task::spawn_blocking(move || {
        let result = work(&mut drops);
        (drops, result)
    });
    done.await.ok()
}

/// A file that is being hashed would hold up the end of the process.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
