//! Between services and the loop: what is to be read and done for them, and what of that the site file allows.

use std::rc::Rc;

use tokio::sync::{mpsc, watch};
use tokio::task::spawn_local;

use super::run::send;
use crate::config::SiteConfig;
use crate::device::Envelope;
use crate::intake::Pace;
use crate::model::{ServiceAllowance, UnitJob, Watched};
use crate::services;

/// Says what should be.
pub(super) struct ServiceDesk {
    configs: watch::Sender<services::Wanted>,
    units: watch::Sender<Vec<UnitJob>>,
    allowed: watch::Sender<Rc<ServiceAllowance>>,
}

impl ServiceDesk {
    /// Begins to read and to do what is wanted, which at first is nothing.
    pub fn start(config: &SiteConfig, events: mpsc::Sender<Envelope>) -> Self {
        let (configs, wanted) = watch::channel(services::Wanted::default());
        let (units, jobs) = watch::channel(Vec::new());
        let (allowed, allowance) = watch::channel(Rc::new(config.services.allowance.clone()));
        let reports = events.clone();
        spawn_local(async move {
            services::observe(wanted, allowance, Pace::default(), async |event| send(&reports, event).await).await;
        });
        spawn_local(async move {
            services::restart(jobs, async |event| send(&events, event).await).await;
        });
        Self { configs, units, allowed }
    }

    /// Shows what is wanted now.
    pub fn show(&self, watched: Vec<Watched>, jobs: Vec<UnitJob>) {
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

    /// What was read is known to nobody any more.
    pub fn say_again(&self) {
        self.configs.send_modify(|configs| configs.again += 1);
    }

    /// What the site file says now.
    pub fn allow(&self, allowance: &ServiceAllowance) {
        self.allowed.send_replace(Rc::new(allowance.clone()));
    }
}
