//! Between services and the loop: what is to be read and done for them, and what of that the site file allows.

use std::collections::BTreeSet;
use std::rc::Rc;

use tokio::sync::{mpsc, watch};
use tokio::task::spawn_local;

use super::run::send;
use crate::config::SiteConfig;
use crate::device::Envelope;
use crate::intake::Pace;
use crate::kube::{self, Objects, Settings};
use crate::model::{ConfigMaps, ConfigSource, ServiceAllowance, ServiceReason, UnitJob, Watched};
use crate::services;

/// Says what should be.
pub(super) struct ServiceDesk {
    configs: watch::Sender<services::Wanted>,
    units: watch::Sender<Vec<UnitJob>>,
    allowed: watch::Sender<Rc<ServiceAllowance>>,
    /// The ConfigMaps that are to be read in the API server, …
    maps: watch::Sender<Vec<Box<str>>>,
    /// … and what is there.
    maps_seen: watch::Sender<ConfigMaps>,
    follows_api: bool,
}

impl ServiceDesk {
    /// Begins to read and to do what is wanted, which at first is nothing.
    pub fn start(config: &SiteConfig, api: Option<&(Settings, Rc<Objects>)>, events: mpsc::Sender<Envelope>) -> Self {
        let (configs, wanted) = watch::channel(services::Wanted::default());
        let (units, jobs) = watch::channel(Vec::new());
        let (allowed, allowance) = watch::channel(Rc::new(config.services.allowance.clone()));
        let (maps, maps_wanted) = watch::channel(Vec::new());
        let (maps_seen, maps_there) = watch::channel(ConfigMaps::default());
        if let Some((_, objects)) = api {
            spawn_local(kube::config_maps(maps_wanted, objects.clone(), maps_seen.clone()));
        }
        let reports = events.clone();
        spawn_local(async move {
            let say = async |event| send(&reports, event).await;
            services::observe(wanted, allowance, maps_there, Pace::default(), say).await;
        });
        spawn_local(async move {
            services::restart(jobs, async |event| send(&events, event).await).await;
        });
        Self { configs, units, allowed, maps, maps_seen, follows_api: api.is_some() }
    }

    /// Shows what is wanted now.
    pub fn show(&self, watched: Vec<Watched>, jobs: Vec<UnitJob>) {
        self.show_maps(&watched);
        self.configs.send_if_modified(|before| {
            let changed = before.services != watched;
            before.services = watched;
            changed
        });
        self.units.send_if_modified(|before| {
            let changed = *before != jobs;
            *before = jobs;
            changed
        });
    }

    fn show_maps(&self, watched: &[Watched]) {
        let sources = watched.iter().flat_map(|(_, spec)| &spec.config);
        let maps = sources.filter_map(|source| match source {
            ConfigSource::ConfigMap(name) => Some(name.clone()),
            ConfigSource::Path(_) => None,
        });
        let names: BTreeSet<Box<str>> = maps.collect();
        let names: Vec<Box<str>> = names.into_iter().collect();
        let changed = self.maps.send_if_modified(|before| {
            let changed = *before != names;
            before.clone_from(&names);
            changed
        });
        if changed && !self.follows_api {
            let why = "no API server is followed that has it; see `kubernetes` in the site file";
            let unread = |name| (name, Err((ServiceReason::ConfigUnreadable, why.to_owned())));
            self.maps_seen.send_replace(names.into_iter().map(unread).collect::<Vec<_>>().into());
        }
    }

    /// What was read is known to nobody any more.
    pub fn say_again(&self) {
        self.configs.send_modify(|configs| configs.again += 1);
    }

    /// What the site file says now.
    pub fn allow(&self, allowance: &ServiceAllowance) {
        self.allowed.send_replace(Rc::new(allowance.clone()));
    }
}
