//! The site file while the site runs: followed, and what of it is in force.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use tokio::sync::watch;
use tracing::{info, warn};

use super::report::SiteFileLine;
use super::run::uplink;
use super::shell::{Shell, settings};
use crate::config::{Change, SiteConfig, SiteFile};
use crate::device::{Pacing, ddi};
use crate::intake::{Manifests, Pace, Watch, around};
use crate::model::{Event, SiteTime};

/// What the file says, or why it says nothing that could be in force. Nothing, until it was looked at.
pub(super) type Said = Option<Result<SiteConfig, String>>;

/// How the file stands to what is in force.
#[derive(Debug)]
pub(super) struct Standing {
    pub file: PathBuf,
    /// What it says is in force since then.
    pub since: SiteTime,
    /// Why what it says now is not, and since when.
    pub problem: Option<(String, SiteTime)>,
    /// What it says of these fields is in force from the next start on.
    pub waiting: Vec<&'static str>,
}

impl Standing {
    /// At the start, when what it says is in force.
    pub fn new(file: &Path, now: SiteTime) -> Self {
        Self { file: file.to_owned(), since: now, problem: None, waiting: Vec::new() }
    }

    pub fn line(&self, now: SiteTime) -> SiteFileLine {
        SiteFileLine {
            file: self.file.display().to_string(),
            in_force_seconds: now.since(self.since).as_secs(),
            problem: self.problem.as_ref().map(|(why, _)| why.clone()),
            problem_seconds: self.problem.as_ref().map(|(_, since)| now.since(*since).as_secs()),
            needs_restart: self.waiting.iter().map(|field| (*field).to_owned()).collect(),
        }
    }
}

/// Says what the file says whenever that changed, until it is dropped.
pub(super) async fn follow(file: SiteFile, pace: Pace, said: watch::Sender<Said>) {
    let mut watch = Watch::new();
    let heard = watch.heard();
    let mut last = None;
    loop {
        let before = heard.count();
        let (file, known) = (file.clone(), last.clone());
        let looking = tokio::task::spawn_blocking(move || {
            let watched = watch.renew(&around([file.path.as_path()]));
            let bytes = file.bytes().map_err(|error| error.to_string());
            let news = (known.as_ref() != Some(&bytes)).then(|| {
                let bytes = bytes.as_ref().map_err(String::clone)?;
                file.check(bytes).map_err(|error| error.to_string())
            });
            (watch, watched, bytes, news)
        });
        // only a runtime that is shutting down drops the task
        let Ok((still, watched, bytes, news)) = looking.await else { return };
        (watch, last) = (still, Some(bytes));
        if let Some(news) = news {
            said.send_replace(Some(news));
        }
        heard.news(before, watched, pace).await;
    }
}

impl Shell {
    /// Puts in force what can be of what the site file says now.
    pub async fn reload(&mut self, said: Result<SiteConfig, String>) {
        let now = self.clock.site_now();
        let new = match said {
            Ok(new) => new,
            Err(why) => {
                warn!(why, "the site file is not accepted; what it said before stays in force");
                self.site_file.problem = Some((why, now));
                return;
            }
        };
        let Change { config, changed, waiting } = self.config.change_to(new);
        if self.site_file.problem.take().is_some() && changed.is_empty() {
            info!("the site file is good again, and says what is in force");
        }
        if !waiting.is_empty() && waiting != self.site_file.waiting {
            warn!(fields = waiting.join(", "), "the site file says something else here, which needs a restart");
        }
        self.site_file.waiting = waiting;
        if !changed.is_empty() {
            self.site_file.since = now;
            self.configure(config);
            let detail = changed.join("; ");
            info!(changes = detail, "what the site file says now is in force");
            // in trouble the settings count all the same; that they changed is in the log only
            if self.trouble.is_none() {
                self.take(vec![(Event::Configured(settings(&self.config), detail), None)]).await;
            }
        }
    }

    /// Everybody beside the engine hears of it.
    fn configure(&mut self, config: SiteConfig) {
        let before = std::mem::replace(&mut self.config, config.into());
        let (config, devices) = (&self.config, &self.config.devices);
        // the files behind the tokens are followed by themselves
        let tokens = self.devices.settings.borrow().tokens.clone();
        self.devices.settings.replace(device_settings(config, tokens));
        self.presence.borrow_mut().set_pacing(pacing(config));
        self.devices.limit(devices.load.connections, devices.load.per_address, devices.load.bytes_per_second);
        let labels = devices.registration_labels.clone();
        self.devices.strangers.borrow_mut().configure(devices.registration, labels);
        self.clock.set_told(devices.poll_interval);
        if (config.disk_reserve, &config.uplink) != (before.disk_reserve, &before.uplink) {
            self.keeper.configure(config.disk_reserve, uplink(config));
        }
        if config.gates != before.gates {
            self.gates_allowed.send_replace(Rc::new(config.gates.clone()));
        }
        if config.services.allowance != before.services.allowance {
            self.services.allow(&config.services.allowance);
        }
        if (devices.poll_interval, &config.manifests) != (before.devices.poll_interval, &before.manifests) {
            self.manifests.send_replace(manifests(config));
        }
    }
}

/// What the device server needs to know of the site file, and the tokens that are in force.
pub(super) fn device_settings(config: &SiteConfig, tokens: ddi::Tokens) -> ddi::Settings {
    let devices = &config.devices;
    ddi::Settings {
        tenants: devices.tenants.clone(),
        poll_interval: devices.poll_interval,
        url: devices.url.clone(),
        tokens,
    }
}

/// When silence means something.
pub(super) fn pacing(config: &SiteConfig) -> Pacing {
    Pacing { told: config.devices.poll_interval, offline_after: config.devices.offline_after }
}

/// Where manifests are, and what deadlines they may have.
pub(super) fn manifests(config: &SiteConfig) -> Manifests {
    Manifests::new(config.manifests.clone(), config.devices.poll_interval)
}
