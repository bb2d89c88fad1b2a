//! Following what services read: looked at whenever something happened there, and now and then although nothing was heard.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use super::content::{Known, Look, look};
use super::place::{Mounts, silent};
use crate::model::{
    Config, ConfigFact, ConfigMaps, ConfigSeen, ConfigSource, Digest, Event, ServiceAllowance, ServiceName,
    ServiceReason, ServiceSpec, Watched,
};
use crate::watch::{Heard, Pace, Watch};

/// A swap is several events; the first look need not meet the middle of it.
const BREATH: Duration = Duration::from_millis(10);
/// Under a storm of events at most this part of the time is spent on looking.
const SHARE: u32 = 4;

/// What is to be read.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// When it counts up all is said again: whoever heard it has lost it.
    pub again: u64,
    /// For whom.
    pub services: Vec<Watched>,
}

/// Says what is read for each service, at once and whenever it changed, until nobody says any more what is wanted.
pub async fn follow(
    mut wanted: watch::Receiver<Wanted>,
    mut allowance: watch::Receiver<Rc<ServiceAllowance>>,
    mut maps: watch::Receiver<ConfigMaps>,
    pace: Pace,
    say: impl AsyncFn(Event),
) {
    let (mut eye, mut again) = (Eye::default(), 0);
    // lists, not maps: they are short, and each map of other types is ten kilobytes of code
    let mut said: Vec<(ServiceName, Rc<ServiceSpec>, ConfigFact)> = Vec::new();
    let mut fresh = true;
    loop {
        let now = wanted.borrow_and_update().clone();
        let allowed = allowance.borrow_and_update().clone();
        if now.again != again {
            again = now.again;
            said.clear();
        }
        said.retain(|(name, by, _)| now.services.iter().any(|(other, spec)| other == name && by == spec));
        if now.services.is_empty() {
            // who has no services pays for no watch
            eye = Eye::default();
            if wanted.changed().await.is_err() {
                return;
            }
            continue;
        }
        let heard = eye.watch.heard();
        let (before, began) = (heard.count(), Instant::now());
        let task = Task {
            paths: now.services.iter().map(|(_, spec)| spec.config.clone()).collect(),
            allowance: Arc::new(ServiceAllowance::clone(&allowed)),
            maps: maps.borrow_and_update().clone(),
            fresh,
        };
        let looking = tokio::task::spawn_blocking(move || {
            let found = eye.look(&task);
            (eye, found)
        });
        // only a runtime that is shutting down drops the task
        let Ok((still, found)) = looking.await else { return };
        eye = still;
        for ((name, spec), found) in now.services.iter().zip(found) {
            // what the API server did not say yet
            let Some(fact) = found.map(Found::into_fact) else { continue };
            if !said.iter().any(|(other, _, is)| other == name && *is == fact) {
                said.retain(|(other, ..)| other != name);
                said.push((name.clone(), spec.clone(), fact.clone()));
                say(Event::Config(name.clone(), spec.clone(), fact)).await;
            }
        }
        let rest = began.elapsed() * SHARE;
        let changed = tokio::select! {
            changed = wanted.changed() => changed,
            _ = allowance.changed() => Ok(()),
            _ = maps.changed() => Ok(()),
            news = news(&heard, before, if eye.hears_all { pace.rescan } else { pace.poll }) => {
                fresh = !news;
                if news {
                    sleep(BREATH.max(rest)).await;
                }
                Ok(())
            }
        };
        if changed.is_err() {
            return;
        }
    }
}

/// Did something happen, or was it only time?
async fn news(heard: &Heard, before: u64, patience: Duration) -> bool {
    timeout(patience, heard.more_than(before)).await.is_ok()
}

struct Task {
    paths: Vec<Vec<ConfigSource>>,
    allowance: Arc<ServiceAllowance>,
    maps: ConfigMaps,
    /// Trust nothing that was read before.
    fresh: bool,
}

/// The watches, and what was read.
#[derive(Debug, Default)]
struct Eye {
    watch: Watch,
    known: Known,
    mounts: Mounts,
    hears_all: bool,
}

/// What was found for one service.
struct Found {
    config: Result<Config, (ServiceReason, String)>,
    changed: i64,
    degraded: Option<String>,
    fixed: Option<String>,
}

impl Eye {
    fn look(&mut self, task: &Task) -> Vec<Option<Found>> {
        if task.fresh {
            self.known.forget();
            self.mounts = Mounts::now();
        }
        // before anything is read: what happens while it is read is heard
        let mut looks = self.read(task);
        let mut dirs: Vec<PathBuf> = looks.iter().flat_map(|(_, look)| look.dirs.iter().cloned()).collect();
        dirs.sort_unstable();
        dirs.dedup();
        let all = dirs.iter().all(|dir| self.watch.hears(dir));
        self.hears_all = self.watch.renew(&dirs);
        if !all {
            // what happened before the watch was there
            looks = self.read(task);
        }
        self.known.sweep();
        let degraded: Vec<(PathBuf, String)> =
            dirs.iter().filter_map(|dir| Some((dir.clone(), self.degraded(dir)?))).collect();
        self.hears_all &= degraded.is_empty();
        task.paths.iter().map(|paths| self.found(paths, &looks, &degraded)).collect()
    }

    fn read(&mut self, task: &Task) -> Vec<(ConfigSource, Look)> {
        let mut looks: Vec<(ConfigSource, Look)> = Vec::new();
        for source in task.paths.iter().flatten() {
            if looks.iter().any(|(known, _)| known == source) {
                continue;
            }
            let path = match source {
                ConfigSource::Path(path) => path,
                ConfigSource::ConfigMap(name) => {
                    looks.extend(Look::of(name, &task.maps).map(|look| (source.clone(), look)));
                    continue;
                }
            };
            let seen = match task.allowance.path(path) {
                Some(rule) => look(path, rule.base(), &mut self.known),
                None => {
                    let why = format!("{path} is not allowed by services.allowPaths of the site file");
                    Look { content: Err((ServiceReason::PathRefused, why)), dirs: Vec::new(), files: Vec::new() }
                }
            };
            looks.push((source.clone(), seen));
        }
        looks
    }

    fn degraded(&self, dir: &std::path::Path) -> Option<String> {
        if let Some(why) = silent(dir) {
            return Some(why);
        }
        let missing = !dir.is_dir();
        (!missing && !self.watch.hears(dir)).then(|| {
            format!(
                "{} cannot be watched, so it is read every few seconds; raise fs.inotify.max_user_instances and max_user_watches",
                dir.display()
            )
        })
    }

    /// None as long as one of its sources was not looked at.
    fn found(
        &self,
        paths: &[ConfigSource],
        looks: &[(ConfigSource, Look)],
        degraded: &[(PathBuf, String)],
    ) -> Option<Found> {
        let (mut hasher, mut keys) = (Sha256::new(), BTreeMap::new());
        let (mut trouble, mut changed, mut late, mut fixed) = (None, 0, None, None);
        for (index, path) in paths.iter().enumerate() {
            let (_, look) = looks.iter().find(|(known, _)| known == path)?;
            let is_late = |(dir, _): &&(PathBuf, String)| look.dirs.contains(dir);
            late = late.or_else(|| degraded.iter().find(is_late).map(|(_, why)| why.clone()));
            fixed = fixed.or_else(|| look.files.iter().find_map(|file| self.mounts.fixed(file)));
            match &look.content {
                Err(why) => trouble = trouble.or_else(|| Some(why.clone())),
                Ok(content) => {
                    changed = changed.max(content.changed);
                    hasher.update([0]);
                    for (name, hash) in &content.files {
                        hasher.update(format!("{}:{name}", name.len()));
                        hasher.update(hash);
                        let key = if paths.len() == 1 { name.clone() } else { format!("{}/{name}", index + 1) };
                        let [a, b, c, d, ..] = *hash;
                        if keys.len() < Config::MOST_KEYS {
                            keys.insert(key, u32::from_be_bytes([a, b, c, d]));
                        }
                    }
                }
            }
        }
        let config = trouble.map_or_else(|| Ok(Config { hash: Digest::new(hasher.finalize().into()), keys }), Err);
        Some(Found { config, changed, degraded: late, fixed })
    }
}

impl Found {
    fn into_fact(self) -> ConfigFact {
        match self.config {
            Err((reason, why)) => ConfigFact::Trouble(reason, why),
            Ok(config) => ConfigFact::Seen(ConfigSeen {
                config: Rc::new(config),
                changed: Some(self.changed).filter(|at| *at > 0),
                degraded: self.degraded,
                fixed: self.fixed,
            }),
        }
    }
}
