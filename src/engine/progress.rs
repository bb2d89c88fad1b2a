//! How far the waves of a rollout are, for people.

use super::approval::is_approved;
use super::state::{Rollout, State, Step};
use super::wave::{self, Proof};
use crate::model::{SiteTime, SkippedReason};

/// How a wave stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// An earlier wave is not proven yet, or something stands in the way of all.
    NotOpen,
    /// It is the next, and a person must approve it.
    ApprovalNeeded,
    /// Its members are being updated.
    Open,
    /// Its members are at their end, and watched until this time.
    Soaking(SiteTime),
    /// Too few of it are updated, and no more can be.
    Unproven,
    /// It is done.
    Proven,
}

/// A wave, at a glance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaveView<'s> {
    /// What it is called.
    pub name: &'s str,
    /// How many members.
    pub size: u32,
    /// So many are updated, or had the version already.
    pub updated: u32,
    /// So many failed.
    pub failed: u32,
    /// How it stands.
    pub standing: Standing,
}

/// The waves of a rollout; none before its members are frozen.
pub fn waves<'s>(state: &State, rollout: &'s Rollout) -> Vec<WaveView<'s>> {
    let waves = rollout.frozen.iter().flat_map(|frozen| &frozen.waves);
    let current = wave::current(state, rollout);
    let mut views: Vec<_> = waves
        .enumerate()
        .map(|(at, wave)| {
            let standing = match current {
                _ if wave.proven_at.is_some() => Standing::Proven,
                Some((now, Some(Proof::SoakUntil(until)))) if now == at => Standing::Soaking(until),
                Some((now, Some(Proof::Unproven))) if now == at => Standing::Unproven,
                Some((now, Some(Proof::Open | Proof::Unheard))) if now == at => Standing::Open,
                Some((now, None)) if now == at && !is_approved(rollout, wave) => Standing::ApprovalNeeded,
                _ => Standing::NotOpen,
            };
            WaveView { name: &wave.name, size: wave.size, updated: 0, failed: 0, standing }
        })
        .collect();
    for member in rollout.members.values() {
        let Some(view) = member.wave.and_then(|at| views.get_mut(usize::from(at))) else { continue };
        match member.step {
            Step::Updated | Step::Skipped(SkippedReason::AlreadyInstalled) => view.updated += 1,
            Step::Failed(_) => view.failed += 1,
            _ => {}
        }
    }
    views
}
