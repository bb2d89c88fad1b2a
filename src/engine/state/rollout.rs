//! A rollout, its frozen plan, and why it stopped by itself.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use super::Member;
use crate::engine::window::WindowsSaid;
use crate::model::{
    Amount, Approval, ArtifactSpec, ControllerId, DeclaredBy, Identity, RolloutSpec, Selector, SiteTime,
};

/// A rollout.
#[derive(Debug, Clone, PartialEq)]
pub struct Rollout {
    /// What it is called.
    pub identity: Identity,
    /// Newer intents have greater numbers.
    pub arrival: u64,
    /// What was declared.
    pub spec: Rc<RolloutSpec>,
    /// How it was declared last.
    pub origin: DeclaredBy,
    /// A drop declared it: what the object is called by which the API shows it, or is to show it.
    pub object: Option<Identity>,
    /// The last complete list of its origin showed it, or a drop declared it.
    pub listed: bool,
    /// Since when it is not.
    pub unlisted_at: Option<SiteTime>,
    /// An edit of the artifact made a newer rollout of this identity.
    pub replaced: bool,
    /// The frozen plan.
    pub frozen: Option<Frozen>,
    /// Too many members failed.
    pub tripped: Option<Tripped>,
    /// It was called off, for good.
    pub cancelled: bool,
    /// Its object in the API was deleted: it is forgotten once nothing of it is under way.
    pub deleted: bool,
    /// Waves that a person approved on the spot.
    pub approved: BTreeSet<String>,
    /// When its first wave opened, by the wall clock in Unix milliseconds, if that was known.
    pub began: Option<i64>,
    /// When it was done.
    pub ready_at: Option<SiteTime>,
    /// … by the wall clock, the same.
    pub ended: Option<i64>,
    /// Its members; before the freeze those that would be.
    pub members: BTreeMap<ControllerId, Member>,
    /// The files to which its members would go back, if it is rolled back; each once.
    pub backs: Vec<ArtifactSpec>,
    /// Since when it is rolled back.
    pub rolled_back_at: Option<SiteTime>,
    /// So many did not come back that nobody else is sent; derived.
    pub rollback_stalled: bool,
    /// The token with which it was declared last, and on which it acted.
    pub retried: Option<String>,
    /// Gateways were served another file of its name and version; derived.
    pub conflict: bool,
    /// When something is due in it; derived.
    pub next_due: Option<SiteTime>,
    /// What its windows say, if it has any; derived.
    pub windows_said: Option<WindowsSaid>,
}

/// The frozen plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frozen {
    /// How many members, joiners not counted.
    pub total: u32,
    /// The waves; never empty.
    pub waves: Vec<Wave>,
    /// Everybody's way back is known.
    pub rollback: bool,
}

/// A wave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wave {
    /// What it is called, unique in its rollout.
    pub name: String,
    /// How many members; zero only if its selector matches nobody, and then it cannot open.
    pub size: u32,
    /// What was asked for; not known of waves of before it was kept.
    pub asked: Option<Amount>,
    /// Only these.
    pub selector: Option<Selector>,
    /// Who opens it.
    pub approval: Approval,
    /// So many must be updated.
    pub min_updated: Amount,
    /// How long it soaks.
    pub soak: Duration,
    /// When it opened.
    pub opened_at: Option<SiteTime>,
    /// When it was proven.
    pub proven_at: Option<SiteTime>,
}

/// Why a rollout stopped by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tripped {
    /// When.
    pub at: SiteTime,
    /// In which wave, if it was a wave's limit.
    pub wave: Option<u16>,
    /// So many failures.
    pub failures: u32,
    /// So many were too many.
    pub limit: u32,
}

impl Rollout {
    /// The waves that opened and are not proven yet are being watched; this says whether a member's is.
    pub fn is_soaking(&self, member: &Member) -> bool {
        let wave = member.wave.zip(self.frozen.as_ref()).and_then(|(at, frozen)| frozen.waves.get(usize::from(at)));
        wave.is_some_and(|wave| wave.proven_at.is_none())
    }

    /// What its object in the API is called, if it has one there.
    pub fn object_name(&self) -> &Identity {
        self.object.as_ref().unwrap_or(&self.identity)
    }

    /// The members in the order in which they are offered.
    pub fn in_order(&self) -> Vec<(&ControllerId, &Member)> {
        let mut members: Vec<_> = self.members.iter().collect();
        members.sort_by_key(|(id, member)| (member.place(), *id));
        members
    }
}
