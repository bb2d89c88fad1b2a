//! The synchronous heart: events in; a batch for the store, an outlook and verdicts out.

use super::outlook::{Outlook, Views};
use super::records;
use crate::engine::{self, Changes, Draft, Settings, State};
use crate::model::{ActionId, Event, Now, Verdict};
use crate::store::{Batch, Snapshot};

/// The state of a site and the one function that changes it. Deterministic: the process, the simulation and the tests call
/// the same step.
#[derive(Debug)]
pub struct Core {
    state: State,
    views: Views,
    /// A new store has no site record yet.
    site_unsaved: bool,
}

/// What a step decided. Nothing of it may be seen outside before the batch is committed.
#[derive(Debug)]
pub struct Stepped {
    /// What to commit; its time is still to be filled in.
    pub batch: Batch,
    /// What should be true outside afterwards.
    pub outlook: Outlook,
    /// The answers to the events, in their order.
    pub verdicts: Vec<Verdict>,
}

impl Core {
    /// The site as the store knows it. A new store's action ids start at `action_base`.
    pub fn rebuild(snapshot: Snapshot, settings: Settings, action_base: ActionId) -> Self {
        let site_unsaved = snapshot.site.is_none();
        let state = records::state(snapshot, settings, action_base);
        Self { state, views: Views::default(), site_unsaved }
    }

    /// The site as it stood when its store was last written, for people to read: what is derived is derived again, and
    /// nothing of it may be committed. `wall`: when that was, by the wall clock.
    pub fn at_rest(snapshot: Snapshot, settings: Settings, wall: Option<i64>) -> Self {
        let now = Now { site: snapshot.time.site, wall };
        let mut core = Self::rebuild(snapshot, settings, ActionId::base(0));
        // what the last list showed is in the records of its objects
        core.state.listed = true;
        core.step(now, vec![Event::Started]);
        core
    }

    /// Takes what happened until `now`, decides, and says what to commit, to show and to answer.
    pub fn step(&mut self, now: Now, events: Vec<Event>) -> Stepped {
        let mut draft = Draft::new(&mut self.state, now);
        let verdicts = events.into_iter().map(|event| engine::apply(&mut draft, event)).collect();
        engine::settle(&mut draft);
        let mut changes = draft.finish();
        changes.site |= std::mem::take(&mut self.site_unsaved);
        see_members(&self.state, &mut changes);
        let outlook = self.views.outlook(&self.state, &changes);
        Stepped { batch: records::batch(&self.state, changes), outlook, verdicts }
    }

    /// What is known; not to be shown outside between a step and its commit.
    pub fn state(&self) -> &State {
        &self.state
    }
}

/// What a gateway may see also depends on its rollout's waves.
fn see_members(state: &State, changes: &mut Changes) {
    for rollout in changes.rollouts.iter().filter_map(|id| state.rollouts.get(id)) {
        changes.seen.extend(rollout.members.keys().cloned());
    }
}
