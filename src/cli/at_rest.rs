//! What a site that does not run left behind, read from a copy of its store.

use std::fs;
use std::io;
use std::panic;
use std::path::Path;
use std::time::SystemTime;

use anyhow::{anyhow, bail};
use serde::de::DeserializeOwned;

use super::complain;
use super::control::SiteArgs;
use crate::config::{Devices, Load, SiteConfig};
use crate::engine::{Settings, State};
use crate::model::{JournalEntry, SiteTime, Zone};
use crate::site::Core;
use crate::site::report::{self, JournalFilter, JournalRows};
use crate::store::{Db, OpenError, Recalled, Span, open_copy, store_file};

/// A site at rest.
pub(super) struct AtRest {
    /// What people call it, or where its state is if no site file says.
    pub name: String,
    core: Core,
    db: Db,
    /// When it wrote last, by its own clock.
    now: SiteTime,
    written: Option<SystemTime>,
}

impl AtRest {
    /// Reads it.
    pub fn open(site: &SiteArgs) -> anyhow::Result<Self> {
        let state = site.state()?;
        let written = written(&state);
        let Some((db, recalled)) = opened(&state)? else {
            bail!(
                "no site runs on {0}, and there is no store in it; is `--config` or `--state` the one of your site? `lamplighter run` starts it",
                state.display()
            );
        };
        let config = site.config();
        let settings = Settings {
            site: config.as_ref().map(|config| config.site.clone()).unwrap_or_default(),
            poll_interval: config.as_ref().map_or(Devices::POLL_INTERVAL, |config| config.devices.poll_interval),
            offline_after: config.as_ref().map_or(Devices::OFFLINE_AFTER, |config| config.devices.offline_after),
            download_slots: config.as_ref().map_or(Load::DOWNLOADS, |config| config.devices.load.downloads),
            max_in_flight: config.as_ref().map_or(SiteConfig::MAX_IN_FLIGHT, |config| config.max_in_flight),
            version_keys: config.as_ref().map(|config| config.devices.version_keys.clone()).unwrap_or_default(),
            node: config.as_ref().and_then(|config| config.services.node.clone()),
            services: config.as_ref().map(|config| config.services.allowance.clone()).unwrap_or_default().into(),
            time_zone: config.as_ref().map_or_else(Zone::utc, |config| config.time_zone.clone()),
        };
        let name = config.map_or_else(|| state.display().to_string(), |config| config.site);
        let now = recalled.snapshot.time.site;
        let wall = written.and_then(|at| jiff::Timestamp::try_from(at).ok()).map(jiff::Timestamp::as_millisecond);
        Ok(Self { name, core: Core::at_rest(recalled.snapshot, settings, wall), db, now, written })
    }

    /// Says on stderr that nobody runs, where the answer itself has no place for it.
    pub fn announce(self) -> Self {
        let when = self.saved_at().map(|at| format!(" as of {at}")).unwrap_or_default();
        complain(&format!("site {} does not run; this is what its store says{when}", self.name));
        self
    }

    /// What it knew.
    pub fn state(&self) -> &State {
        self.core.state()
    }

    /// When it wrote last, by its own clock.
    pub fn now(&self) -> SiteTime {
        self.now
    }

    /// When it wrote last: RFC 3339, whole seconds.
    pub fn saved_at(&self) -> Option<String> {
        let at = jiff::Timestamp::try_from(self.written?).ok()?;
        Some(format!("{at:.0}"))
    }

    /// A page of its journal.
    pub fn journal(&self, filter: &JournalFilter) -> anyhow::Result<JournalRows> {
        let page = self.db.journal_page(filter.span(), filter.limit, filter.keep(self.state()))?;
        Ok(report::journal(self.state(), page))
    }

    /// The newest rows of its journal, oldest first.
    pub fn newest(&self, limit: usize) -> anyhow::Result<Vec<JournalEntry>> {
        let page = self.db.journal_page(Span::Newest, limit, |_| true)?;
        Ok(page.rows.into_iter().map(|row| row.entry).collect())
    }
}

/// A site that may run or not, and what is known of it meanwhile.
pub(super) struct Visit<'a> {
    site: &'a SiteArgs,
    at_rest: Option<AtRest>,
}

impl<'a> Visit<'a> {
    pub fn new(site: &'a SiteArgs) -> Self {
        Self { site, at_rest: None }
    }

    /// What the site answers, or what is to be said of it from its store.
    pub fn get<T: DeserializeOwned>(
        &mut self,
        path: &str,
        from_store: impl FnOnce(&AtRest) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        if let Some(answer) = self.site.get_if_it_runs(path)? {
            self.at_rest = None;
            return Ok(answer);
        }
        let known = self.at_rest.take();
        let written = written(&self.site.state()?);
        let at_rest = match known {
            // a copy is not taken again each second while nobody writes
            Some(known) if known.written == written && written.is_some() => known,
            _ => AtRest::open(self.site)?,
        };
        from_store(self.at_rest.insert(at_rest))
    }
}

fn written(state: &Path) -> Option<SystemTime> {
    fs::metadata(store_file(state)).and_then(|metadata| metadata.modified()).ok()
}

fn opened(state: &Path) -> anyhow::Result<Option<(Db, Recalled)>> {
    // redb may panic on a garbled file, and a release build aborts then: whoever asked hears the reason all the same
    let before = panic::take_hook();
    panic::set_hook(Box::new(|panic| {
        complain(&format!("the store is damaged: {panic}; {DAMAGED}"));
        std::process::exit(1);
    }));
    let opened = open_copy(state);
    panic::set_hook(before);
    opened.map_err(|error| match error {
        OpenError::Damaged(why) => anyhow!("the store is damaged: {why}; {DAMAGED}"),
        OpenError::InUse(_) => anyhow!(
            "the store in {} is being written to, but no site answers there; try again, and look at the site's log",
            state.display()
        ),
        OpenError::Io(doing, why) if why.kind() == io::ErrorKind::PermissionDenied => {
            anyhow!("no site runs, and its store cannot be read: cannot {doing}: {why}; run this as root or as the site's user")
        }
        OpenError::Io(doing, why) => anyhow!("no site runs, and its store cannot be read: cannot {doing}: {why}"),
        other => other.into(),
    })
}

const DAMAGED: &str = "`lamplighter run` sets it aside, keeps its bytes and goes on";
