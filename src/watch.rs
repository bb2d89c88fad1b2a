//! Hearing that something happened in a directory. Which event it was never matters: any means "look again".
//!
//! A leaf beside the rooms, as manifests, the site file and services' configuration are heard of by the same rule. Imports
//! nothing of ours.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};

/// How often and how soon the directories are read.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// So long nothing may happen before they are read: files are copied in pieces.
    pub quiet: Duration,
    /// Read them after this long even if something goes on happening, such as a large artifact being copied.
    pub longest: Duration,
    /// Read them so often although nothing was heard: network file systems are silent.
    pub rescan: Duration,
    /// Read them so often while one cannot be watched or is not there.
    pub poll: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            quiet: Duration::from_millis(200),
            longest: Duration::from_secs(5),
            rescan: Duration::from_secs(60),
            poll: Duration::from_secs(3),
        }
    }
}

/// One watch on each directory, renewed when a directory is replaced.
#[derive(Debug)]
pub struct Watch {
    heard: Heard,
    watcher: Option<RecommendedWatcher>,
    /// What is watched, and which directory it was: a path can come to mean another one.
    watched: BTreeMap<PathBuf, (u64, u64)>,
    warned: bool,
}

/// As many links as Linux follows.
const MOST_LINKS: usize = 40;

/// Where something happens when one of these files becomes another one: beside it, and, if it is a link, beside each that it
/// leads to in turn.
pub fn around<'p>(files: impl IntoIterator<Item = &'p Path>) -> Vec<PathBuf> {
    let mut dirs = BTreeSet::new();
    for file in files {
        let mut at = file.to_owned();
        for _ in 0..MOST_LINKS {
            let Some(dir) = at.parent().map(Path::to_owned) else { break };
            let next = std::fs::read_link(&at).map(|to| dir.join(to));
            dirs.insert(dir);
            let Ok(next) = next else { break };
            at = next;
        }
        // where links of directories lead
        let real = file.canonicalize().ok();
        dirs.extend(real.as_deref().and_then(Path::parent).map(Path::to_owned));
    }
    dirs.into_iter().collect()
}

/// How often something happened, and a way to wait for it.
#[derive(Debug, Clone, Default)]
pub struct Heard {
    count: Arc<AtomicU64>,
    wake: Arc<Notify>,
}

impl Heard {
    /// How often so far.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// Waits until it is more often than `count`.
    pub async fn more_than(&self, count: u64) {
        while self.count() == count {
            self.wake.notified().await;
        }
    }

    /// Waits until nothing has happened for a while: files are written in pieces.
    pub async fn settle(&self, pace: Pace) {
        let latest = Instant::now() + pace.longest;
        loop {
            let before = self.count();
            sleep(pace.quiet).await;
            if self.count() == before || Instant::now() >= latest {
                return;
            }
        }
    }

    /// Waits until something more happened and is over, or until it is time to look all the same: sooner where a directory
    /// could not be watched.
    pub async fn news(&self, count: u64, watched: bool, pace: Pace) {
        let patience = if watched { pace.rescan } else { pace.poll };
        if timeout(patience, self.more_than(count)).await.is_ok() {
            self.settle(pace).await;
        }
    }

    fn tell(&self) {
        self.count.fetch_add(1, Ordering::AcqRel);
        self.wake.notify_one();
    }
}

impl Default for Watch {
    fn default() -> Self {
        Self::new()
    }
}

impl Watch {
    /// Watches nothing yet.
    pub fn new() -> Self {
        Self { heard: Heard::default(), watcher: None, watched: BTreeMap::new(), warned: false }
    }

    /// What is heard from all directories together.
    pub fn heard(&self) -> Heard {
        self.heard.clone()
    }

    /// Watches these directories and no others. False if one cannot be watched: then it must be polled.
    pub fn renew(&mut self, dirs: &[PathBuf]) -> bool {
        let mut all = true;
        let others: Vec<_> = self.watched.keys().filter(|dir| !dirs.contains(dir)).cloned().collect();
        for dir in &others {
            self.forget(dir);
        }
        for dir in dirs {
            let Ok(metadata) = std::fs::metadata(dir) else {
                self.forget(dir);
                all = false;
                continue;
            };
            let identity = (metadata.dev(), metadata.ino());
            if self.watched.get(dir) == Some(&identity) {
                continue;
            }
            self.forget(dir);
            match self.add(dir) {
                Ok(()) => drop(self.watched.insert(dir.clone(), identity)),
                Err(error) => {
                    self.warn(dir, &error);
                    all = false;
                }
            }
        }
        self.warned &= !all;
        all
    }

    /// Is it told when something happens in this directory?
    pub fn hears(&self, dir: &Path) -> bool {
        self.watched.contains_key(dir)
    }

    fn add(&mut self, dir: &Path) -> notify::Result<()> {
        let watcher = match self.watcher.take() {
            Some(watcher) => watcher,
            None => notify::recommended_watcher(listener(self.heard.clone()))?,
        };
        self.watcher.insert(watcher).watch(dir, RecursiveMode::NonRecursive)
    }

    fn forget(&mut self, dir: &Path) {
        if self.watched.remove(dir).is_some()
            && let Some(watcher) = &mut self.watcher
        {
            // The kernel drops the watch of a directory that is gone by itself: then there is nothing to remove.
            let _ = watcher.unwatch(dir);
        }
    }

    /// Once, until it works again: a node that is out of inotify instances stays so for long.
    fn warn(&mut self, dir: &Path, error: &notify::Error) {
        if !self.warned {
            self.warned = true;
            tracing::warn!(dir = %dir.display(), %error, "cannot watch the directory, so it is read every few seconds; raise fs.inotify.max_user_instances and max_user_watches");
        }
    }
}

fn listener(heard: Heard) -> impl Fn(notify::Result<notify::Event>) {
    move |event| {
        // Our own reading opens and closes files here, and must not wake us again.
        let own = matches!(
            event.as_ref().map(|event| event.kind),
            Ok(EventKind::Access(AccessKind::Open(_) | AccessKind::Read | AccessKind::Close(AccessMode::Read)))
        );
        if !own {
            heard.tell();
        }
    }
}

#[cfg(test)]
mod tests {
    use notify::Event;
    use notify::event::{CreateKind, Flag};

    use super::*;

    #[test]
    fn a_file_behind_links_is_watched_for_beside_each_of_them() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().canonicalize().unwrap().join(name);
        for made in ["etc", "volume/..1", "keys"] {
            std::fs::create_dir_all(path(made)).unwrap();
        }
        let link = |to: &str, from: &str| std::os::unix::fs::symlink(to, path(from)).unwrap();
        std::fs::write(path("volume/..1/tls.crt"), "").unwrap();
        std::fs::write(path("keys/tls.key"), "").unwrap();
        link("..1", "volume/..data");
        link("..data/tls.crt", "volume/tls.crt");
        link("../volume/tls.crt", "etc/tls.crt");
        link("loop", "etc/loop");
        let files = ["etc/tls.crt", "keys/tls.key", "keys/none"].map(path);
        let seen = around(files.iter().map(PathBuf::as_path));
        for dir in ["etc", "keys", "volume/..1"] {
            assert!(seen.contains(&path(dir)), "{dir} is missing in {seen:?}");
        }
        let volume = path("volume");
        assert!(seen.iter().any(|dir| dir.canonicalize().is_ok_and(|dir| dir == volume)), "{seen:?}");
        assert_eq!(around([path("etc/loop").as_path()]), [path("etc")]);
    }

    #[test]
    fn our_own_reading_is_not_heard_and_everything_else_is() {
        let heard = Heard::default();
        let listen = listener(heard.clone());
        for own in [AccessKind::Open(AccessMode::Any), AccessKind::Read, AccessKind::Close(AccessMode::Read)] {
            listen(Ok(Event::new(EventKind::Access(own))));
        }
        assert_eq!(heard.count(), 0);
        listen(Ok(Event::new(EventKind::Access(AccessKind::Close(AccessMode::Write)))));
        listen(Ok(Event::new(EventKind::Create(CreateKind::File))));
        listen(Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan)));
        listen(Err(notify::Error::generic("overflow")));
        assert_eq!(heard.count(), 4);
    }
}
