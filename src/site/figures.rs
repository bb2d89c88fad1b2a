//! All figures of a site at this moment, out of where they arise: the state, and what each room counts.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::shell::Shell;
use super::tally::{About, Outcome};
use crate::device::Counts;
use crate::engine::{self, Phase, Rollout, State, Step};
use crate::kube::{Link, Objects};
use crate::metrics::{self as families, Figures};
use crate::model::{Presence, SiteTime};

/// The newest rollouts have series of their own.
const MOST_ROLLOUTS: usize = 100;

impl Shell {
    /// Everything that is known now; `waiting` facts wait for the loop.
    pub(super) fn figures(&self, waiting: usize) -> Figures {
        let mut figures = Figures::default();
        self.process(&mut figures, waiting);
        self.store(&mut figures);
        devices(&mut figures, self.devices.stats.now());
        figures.set(families::ARTIFACT_FETCHED, self.keeper.fetched_bytes());
        if let Some(objects) = &self.objects {
            api(&mut figures, objects);
        }
        // what is in memory and not on disk is not shown
        if self.trouble.is_none() {
            let (state, now) = (self.core.state(), self.clock.site_now());
            site(&mut figures, state);
            rollouts(&mut figures, state, now);
        }
        figures
    }

    fn process(&self, figures: &mut Figures, waiting: usize) {
        let clock = self.clock.line();
        figures.put(families::BUILD, [env!("CARGO_PKG_VERSION").into()], 1_u64);
        figures.set(families::UPTIME, self.health.uptime().as_secs());
        figures.set(families::READY, self.health.ready().is_ok());
        figures.set(families::CLOCK_TRUSTED, clock.trusted);
        figures.set(families::CLOCK_SYNCHRONISED, clock.synchronised);
        figures.set(families::SITE_FILE_ACCEPTED, self.site_file.problem.is_none());
        figures.put(families::QUEUE_DEPTH, ["Events".into()], waiting);
        for (about, outcome, count) in self.tally.taken() {
            figures.put(families::RECONCILE, [About::name(about).into(), Outcome::name(outcome).into()], count);
        }
        figures.set(families::RECONCILE_DURATION, self.tally.steps());
        for (what, count) in self.tally.rows() {
            figures.put(families::JOURNAL_ROWS, [what.name().into()], count);
        }
    }

    fn store(&self, figures: &mut Figures) {
        let written = self.store.written();
        figures.set(families::STORE_COMMIT_DURATION, written.commit_times());
        figures.set(families::STORE_COMMITS_FAILED, written.failed());
        figures.set(families::STORE_WRITTEN, written.bytes());
    }
}

fn devices(figures: &mut Figures, counts: Counts) {
    let good = counts.requests.saturating_sub(counts.unauthorized + counts.busy);
    for (answer, count) in [("Good", good), ("Unauthorized", counts.unauthorized), ("Busy", counts.busy)] {
        figures.put(families::DEVICE_REQUESTS, [answer.into()], count);
    }
    figures.set(families::DEVICE_CONNECTIONS, counts.open);
    figures.set(families::DEVICE_CONNECTIONS_ACCEPTED, counts.accepted);
    figures.set(families::DEVICE_CONNECTIONS_CLOSED, counts.evicted);
    figures.set(families::DEVICE_CONNECTIONS_HELD_BACK, counts.held_back);
    figures.set(families::DEVICE_HANDSHAKES_FAILED, counts.handshakes_failed);
    figures.set(families::ARTIFACT_SERVED, counts.served_bytes);
}

fn api(figures: &mut Figures, objects: &Objects) {
    let link = objects.link();
    for word in Link::WORDS {
        figures.put(families::API_LINK, [word.into()], link.word() == word);
    }
    for (verb, code, count) in objects.answers() {
        figures.put(families::API_REQUESTS, [verb.into(), code.into()], count);
    }
    for (kind, count) in objects.undecodable() {
        figures.put(families::API_OBJECTS_UNDECODABLE, [kind.into()], count);
    }
    figures.put(families::QUEUE_DEPTH, ["Api".into()], objects.waiting());
}

fn site(figures: &mut Figures, state: &State) {
    figures.set(families::STORE_LOST, state.site.lost);
    figures.set(families::SITE_SILENT, state.site.silence.is_some());
    figures.put(families::OBJECTS_REFUSED, ["Manifests".into()], state.refused.len());
    figures.put(families::OBJECTS_REFUSED, ["Api".into()], state.api.refused.len());
    for presence in [Presence::Never, Presence::Polling, Presence::Quiet, Presence::Offline] {
        let count = state.gateways.values().filter(|gateway| gateway.presence == presence).count();
        figures.put(families::GATEWAYS, [presence.to_string().into()], count);
    }
    let actions = state.rollouts.values().flat_map(|rollout| rollout.members.values()).filter_map(|m| m.open_action());
    let (mut offered, mut fetched, mut cancelling) = (0_u64, 0_u64, 0_u64);
    for action in actions {
        match () {
            () if action.cancelling => cancelling += 1,
            () if action.fetched => fetched += 1,
            () => offered += 1,
        }
    }
    for (name, count) in [("Offered", offered), ("Fetched", fetched), ("Cancelling", cancelling)] {
        figures.put(families::ACTIONS, [name.into()], count);
    }
}

fn rollouts(figures: &mut Figures, state: &State, now: SiteTime) {
    let mut rollouts: Vec<_> = state.rollouts.values().filter(|rollout| !rollout.replaced).collect();
    rollouts.sort_by_key(|rollout| std::cmp::Reverse(rollout.arrival));
    let mut phases = [("Ready", 0_u64), ("Reconciling", 0), ("Stalled", 0)];
    for (at, rollout) in rollouts.into_iter().enumerate() {
        let (phase, reason) = match engine::phase(state, rollout, now) {
            Phase::Ready => ("Ready", "Done".to_owned()),
            Phase::Reconciling(reason, _) => ("Reconciling", reason.to_string()),
            Phase::Stalled(reason, _) => ("Stalled", reason.to_string()),
        };
        phases.iter_mut().filter(|(name, _)| *name == phase).for_each(|(_, count)| *count += 1);
        if at < MOST_ROLLOUTS {
            let name = rollout.identity.to_string();
            figures.put(families::ROLLOUT_PHASE, [name.clone().into(), phase.into(), reason.into()], 1_u64);
            members(figures, rollout, &name);
        }
    }
    for (phase, count) in phases {
        figures.put(families::ROLLOUTS, [phase.into()], count);
    }
}

/// The steps as `status` counts them: a member on its way back takes the same ones.
fn members(figures: &mut Figures, rollout: &Rollout, name: &str) {
    let steps = engine::steps(rollout);
    let by_step = [
        ("Waiting", steps.waiting),
        ("Offered", steps.offered),
        ("Downloading", steps.downloading),
        ("Installing", steps.installing),
        ("Confirming", steps.confirming),
        ("Updated", steps.updated),
        ("RolledBack", steps.rolled_back),
        ("Failed", steps.failed),
        ("Skipped", steps.skipped),
    ];
    let rollout_label = || Cow::from(name.to_owned());
    for (step, count) in by_step {
        figures.put(families::MEMBERS, [rollout_label(), step.into()], count);
    }
    let (mut waiting, mut failed) = (BTreeMap::new(), BTreeMap::new());
    for member in rollout.members.values() {
        match member.step {
            Step::Waiting(reason) => *waiting.entry(reason).or_insert(0_u64) += 1,
            Step::Failed(reason) => *failed.entry(reason).or_insert(0_u64) += 1,
            _ => {}
        }
    }
    for (reason, count) in waiting {
        figures.put(families::MEMBERS_WAITING, [rollout_label(), reason.to_string().into()], count);
    }
    for (reason, count) in failed {
        figures.put(families::MEMBERS_FAILED, [rollout_label(), reason.to_string().into()], count);
    }
}
