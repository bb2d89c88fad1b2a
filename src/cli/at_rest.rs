//! What a site that does not run left behind, read from a copy of its store.

use std::io;
use std::panic;
use std::path::Path;

use anyhow::{anyhow, bail};

use super::complain;
use crate::config::{Devices, Load};
use crate::engine::{Settings, State};
use crate::model::ActionId;
use crate::site::Core;
use crate::site::report::{self, JournalFilter, JournalRows};
use crate::store::{Db, OpenError, Recalled, open_copy};

/// A site at rest.
pub(super) struct AtRest {
    core: Core,
    db: Db,
}

impl AtRest {
    /// Reads it, and says on stderr that nobody runs.
    pub fn open(state: &Path) -> anyhow::Result<Self> {
        let Some((db, recalled)) = opened(state)? else {
            bail!(
                "no site runs on {0}, and there is no store in it; is `--config` or `--state` the one of your site? `lamplighter run` starts it",
                state.display()
            );
        };
        complain(&format!("the site does not run; this is what its store in {} says", state.display()));
        // nothing that is shown of a site at rest depends on its site file
        let settings = Settings {
            poll_interval: Devices::POLL_INTERVAL,
            download_slots: Load::DOWNLOADS,
            version_keys: Default::default(),
        };
        Ok(Self { core: Core::rebuild(recalled.snapshot, settings, ActionId::base(0)), db })
    }

    /// What it knew.
    pub fn state(&self) -> &State {
        self.core.state()
    }

    /// A page of its journal.
    pub fn journal(&self, filter: &JournalFilter) -> anyhow::Result<JournalRows> {
        let page = self.db.journal_page(filter.span(), filter.limit, filter.keep(self.state()))?;
        Ok(report::journal(self.state(), page))
    }
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
