//! The board: committed orders by controller id. It is replaced, gateway by gateway, only after a commit.

use std::collections::HashMap;
use std::rc::Rc;

use crate::model::{ActionId, ArtifactKey, Ask, ControllerId, SiteTime, Sums, TokenHash};

/// Everything that gateways may see.
#[derive(Debug, Default)]
pub struct Board {
    entries: HashMap<ControllerId, Entry>,
    ready: bool,
}

impl Board {
    /// What a gateway may see; `None` for one that nobody declared.
    pub fn get(&self, gateway: &str) -> Option<(&ControllerId, &Entry)> {
        self.entries.get_key_value(gateway)
    }

    /// Puts what was committed for a gateway.
    pub fn put(&mut self, gateway: ControllerId, entry: Entry) {
        self.entries.insert(gateway, entry);
    }

    /// Everything that was committed is on it.
    pub fn complete(&mut self) {
        self.ready = true;
    }

    /// Is it complete? Before that nobody can say that a gateway is unknown.
    pub fn is_ready(&self) -> bool {
        self.ready
    }

    /// Forgets everything: the store was lost, and every order with it.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

/// What one gateway may see.
#[derive(Debug, Clone, Default)]
pub struct Entry {
    /// The hash of its own token; without one it signs in by what the site offers to all.
    pub token: Option<TokenHash>,
    /// Should it report its attributes?
    pub ask: Ask,
    /// Its open order.
    pub offer: Option<Offer>,
    /// Tell the loop about the first poll from this time on.
    pub tell_poll_from: Option<SiteTime>,
}

/// An open order.
#[derive(Debug, Clone)]
pub struct Offer {
    /// Its id.
    pub action: ActionId,
    /// Is the link shown? Hidden for a while by pause or hold when the gateway idles half-way.
    pub link: bool,
    /// The gateway is told to drop it.
    pub cancel: bool,
    /// The gateway has fetched it: deploymentBase is answered at once, and the artifact may be downloaded.
    pub fetched: bool,
    /// The artifact was fully served to this gateway under this order, or it installs while it reads.
    pub served: bool,
    /// What to install.
    pub artifact: Rc<Artifact>,
}

/// A verified artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Name, version and digest.
    pub key: ArtifactKey,
    /// The file name that devices see.
    pub file_name: String,
    /// In bytes.
    pub size: u64,
    /// sha1 and md5.
    pub sums: Sums,
}
