//! The brakes: why a member may not be offered its update, or not yet. Nothing else decides this.

use std::cell::{Cell, OnceCell};

use super::guard::Guard;
use super::state::{Gateway, Member, Rollout, State, Step};
use super::{approval, rollback};
use crate::model::{Digest, Presence, RolloutId, SiteTime, WaitingReason};

/// How much is under way.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Load {
    /// Members of the rollout between offer and end.
    pub in_flight: u32,
    /// Members of all rollouts between offer and end.
    pub site: u32,
    /// Members of any rollout that are offered or downloading.
    pub downloads: u32,
}

impl Load {
    pub(super) fn of(state: &State, id: RolloutId) -> Self {
        let mut own = Self::default();
        state.rollouts.get(&id).into_iter().flat_map(|rollout| rollout.members.values()).for_each(|m| own.count(m));
        own.with_others(state, id)
    }

    /// Counts a member of the rollout itself.
    pub(super) fn count(&mut self, member: &Member) {
        self.in_flight += u32::from(member.step.is_in_flight());
        self.count_elsewhere(member);
    }

    fn count_elsewhere(&mut self, member: &Member) {
        self.downloads += u32::from(matches!(member.step, Step::Offered | Step::Downloading));
        self.site += u32::from(member.step.is_in_flight());
    }

    /// The load of the rollout's own members with that of all others.
    pub(super) fn with_others(mut self, state: &State, id: RolloutId) -> Self {
        let others = state.rollouts.iter().filter(|(other, _)| **other != id);
        others.flat_map(|(_, other)| other.members.values()).for_each(|member| self.count_elsewhere(member));
        self
    }

    /// The load on one that is under way itself.
    pub(super) fn without_one(self) -> Self {
        let less = |count: u32| count.saturating_sub(1);
        Self { in_flight: less(self.in_flight), site: less(self.site), downloads: less(self.downloads) }
    }

    /// The load with one more.
    pub(super) fn with_one(self) -> Self {
        Self { in_flight: self.in_flight + 1, site: self.site + 1, downloads: self.downloads + 1 }
    }
}

/// The brake that holds a rollout as a whole: no wave of it opens, and no member is offered anything.
pub(super) fn halt(state: &State, rollout: &Rollout) -> Option<WaitingReason> {
    let brakes = [
        (state.site.lost, WaitingReason::StoreLost),
        (!state.listed || !rollout.listed, WaitingReason::Unlisted),
        (is_stopped(state, rollout), WaitingReason::Paused),
        (rollout.conflict, WaitingReason::DigestConflict),
        (state.site.silence.is_some(), WaitingReason::SiteSilent),
    ];
    first(brakes)
}

/// May a wave open? Not while the file of some hardware is missing: the waves are there to compare all of them.
pub(super) fn lets_waves_open(state: &State, rollout: &Rollout) -> bool {
    halt(state, rollout).is_none() && state.has_files(rollout)
}

/// What holds the members of one rollout. What is the same for many of them is found out once.
#[derive(Debug)]
pub(super) struct Brakes<'s> {
    state: &'s State,
    now: SiteTime,
    id: RolloutId,
    rollout: &'s Rollout,
    halt: Option<WaitingReason>,
    pub guard: Guard<'s>,
    /// Before the freeze.
    has_files: OnceCell<bool>,
    /// The file that was looked for last, and whether it is there.
    last_file: Cell<Option<(Digest, bool)>>,
}

impl<'s> Brakes<'s> {
    pub fn of(state: &'s State, now: SiteTime, (id, rollout): (RolloutId, &'s Rollout)) -> Self {
        Self {
            state,
            now,
            id,
            rollout,
            halt: halt(state, rollout),
            guard: Guard::of(state, rollout),
            has_files: OnceCell::new(),
            last_file: Cell::new(None),
        }
    }

    /// The brake that holds whatever else is under way: it also takes back an offer that was not fetched.
    pub fn standing(&self, gateway: &'s Gateway, member: &Member) -> Option<WaitingReason> {
        let own = self.own(gateway, member);
        if own == Some(WaitingReason::Cancelling) && member.is_cancelling() {
            return own;
        }
        let halt = if member.reverting { rollback::halt(self.state, self.rollout) } else { self.halt };
        [halt, self.no_file(member), own].into_iter().flatten().min()
    }

    /// The member's file is not in the cache.
    fn no_file(&self, member: &Member) -> Option<WaitingReason> {
        let has_file = match self.rollout.frozen {
            Some(_) => self.is_verified(self.rollout.file_for(member).key.digest),
            None => *self.has_files.get_or_init(|| self.state.has_files(self.rollout)),
        };
        (!has_file).then_some(WaitingReason::ArtifactNotVerified)
    }

    fn is_verified(&self, digest: Digest) -> bool {
        if let Some((last, verified)) = self.last_file.get()
            && last == digest
        {
            return verified;
        }
        let verified = self.state.is_verified(&digest);
        self.last_file.set(Some((digest, verified)));
        verified
    }

    /// The brake on the member itself, whatever holds its rollout, and whether its file is there or not.
    pub fn own(&self, gateway: &'s Gateway, member: &Member) -> Option<WaitingReason> {
        let (state, rollout) = (self.state, self.rollout);
        if member.is_cancelling() {
            return Some(WaitingReason::Cancelling);
        }
        let id = &gateway.spec.controller_id;
        let busy = gateway.busy.filter(|busy| *busy != self.id);
        let elsewhere = busy.and_then(|busy| state.rollouts.get(&busy)?.members.get(id));
        let outside = rollout.outside(member);
        let brakes = [
            (!gateway.listed, WaitingReason::Unlisted),
            (is_held(state, gateway), WaitingReason::Held),
            (gateway.duplicate, WaitingReason::DuplicateIdentity),
            (gateway.unknown_version, WaitingReason::UnknownVersion),
            (self.guard.is_in_doubt(gateway, member), WaitingReason::NotComparable),
            (gateway.unsettled || elsewhere.is_some_and(Member::is_cancelling), WaitingReason::Cancelling),
            // an order that waits half-way does not keep a gateway from another: what it waits for may never come
            (elsewhere.is_some_and(|member| !matches!(member.step, Step::Waiting(_))), WaitingReason::ActionOpen),
            (gateway.presence != Presence::Polling, WaitingReason::Offline),
            (outside.is_some(), outside.unwrap_or(WaitingReason::OutsideWindow)),
            (member.retry_at.is_some_and(|at| self.now < at), member.pause_reason()),
        ];
        let wave = if member.reverting { None } else { wave(rollout, member) };
        first(brakes).into_iter().chain(wave).min()
    }
}

/// Its wave has not opened; a joiner's turn comes after the last.
fn wave(rollout: &Rollout, member: &Member) -> Option<WaitingReason> {
    let Some(frozen) = &rollout.frozen else { return Some(approval::first_gate(rollout)) };
    let open = match member.wave.map(usize::from) {
        Some(at) if frozen.waves.get(at).is_none_or(|wave| wave.opened_at.is_none()) => {
            return Some(approval::gate(rollout, &frozen.waves, at));
        }
        Some(_) => true,
        None => member.joiner && rollout.ready_at.is_some(),
    };
    (!open).then_some(WaitingReason::WaveNotOpen)
}

fn first<const N: usize>(brakes: [(bool, WaitingReason); N]) -> Option<WaitingReason> {
    brakes.into_iter().find_map(|(holds, reason)| holds.then_some(reason))
}

/// The rollout's cap and the site's.
pub(super) fn caps(state: &State, rollout: &Rollout, load: Load) -> Option<WaitingReason> {
    let total = rollout.frozen.as_ref().map_or(0, |frozen| frozen.total);
    let full = load.in_flight >= rollout.spec.strategy.max_in_flight.of(total);
    (full || load.site >= state.settings.max_in_flight).then_some(WaitingReason::MaxInFlight)
}

/// The downloads' cap.
pub(super) fn slots(state: &State, load: Load) -> Option<WaitingReason> {
    (load.downloads >= state.settings.download_slots).then_some(WaitingReason::DownloadSlot)
}

/// Paused or called off, by its spec or on the spot, or stopped because too many members failed.
pub(super) fn is_stopped(state: &State, rollout: &Rollout) -> bool {
    let by_itself = rollout.spec.paused || rollout.cancelled || rollout.tripped.is_some();
    by_itself || state.orders.names(&rollout.identity)
}

/// Held by its spec or on the spot.
pub fn is_held(state: &State, gateway: &Gateway) -> bool {
    gateway.spec.hold || state.orders.hold(&gateway.spec.controller_id).is_some()
}

impl Member {
    /// Why it waits for `retry_at`.
    fn pause_reason(&self) -> WaitingReason {
        if self.not_fetched > 0 { WaitingReason::NotFetched } else { WaitingReason::Backoff }
    }
}
