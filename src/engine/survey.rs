//! One walk over all members of a rollout, which finds what there is to do. Nearly always that is next to nothing, and what
//! looks after each single matter then walks for nothing.

use super::beside::beside;
use super::brake::{Brakes, Load};
use super::draft::Draft;
use super::offer::{Choice, Free};
use super::room::Room;
use super::state::{Gateway, Member, Rollout, State, Step};
use super::{deadline, gate, guard, half_way, members, silence, takeover, watch};
use crate::model::{ControllerId, RolloutId, SiteTime, WaitingReason};

/// What there is to do in a rollout. True of the state that it was made of.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// How often the draft was changed before.
    edits: u64,
    /// Somebody may have to come, to go, or to end.
    pub stirs: bool,
    /// Somebody failed.
    pub failed: bool,
    /// Whose offers may not stand any more.
    pub held: Vec<(ControllerId, WaitingReason)>,
    /// One whose offer its spread takes back. One at a time: each that goes back may be the other half that lets another
    /// stand.
    pub taken_back: Option<(ControllerId, WaitingReason)>,
    /// Who may have to be parked half-way, or go on from there.
    pub half_way: Vec<ControllerId>,
    /// Who is offered the update, and what the others wait for.
    pub choice: Choice,
    /// When something is due for one of them.
    pub due: Option<SiteTime>,
}

impl Survey {
    pub fn of(draft: &mut Draft, rollout_id: RolloutId) -> Option<Self> {
        draft.surveyed();
        let (state, now) = (&*draft.state, draft.now.site);
        let rollout = state.rollouts.get(&rollout_id)?;
        let mut survey = Self { edits: draft.edits, ..Self::default() };
        let brakes = Brakes::of(state, now, (rollout_id, rollout));
        let takeover = takeover::Takeover::of(state, rollout);
        let (mut load, mut offered, mut free) = (Load::default(), Vec::new(), Vec::new());
        // who was left alone is in line, as it was before
        let changed = draft.changed(rollout_id);
        let is_in_line = |id: &ControllerId| {
            let gateway = state.gateways.get(id);
            gateway.is_none_or(|gateway| members::is_in_line(rollout, gateway, rollout.members.get(id)))
        };
        survey.stirs = !changed.into_iter().flatten().all(is_in_line);
        for (id, gateway, member) in beside(&state.gateways, rollout) {
            survey.stirs = survey.stirs || (changed.is_none() && !members::is_in_line(rollout, gateway, member));
            let Some(member) = member else { continue };
            survey.stirs = survey.stirs
                || deadline::concerns(gateway, member, now)
                || watch::silent(state, rollout, gateway, member).is_some_and(|from| from <= now)
                || takeover.ends(&brakes.guard, gateway, member).is_some()
                || guard::concerns(&brakes.guard, gateway, member);
            survey.wait_for(due(state, rollout, gateway, member), now);
            load.count(member);
            match member.step {
                Step::Offered => {
                    let held = brakes.standing(gateway, member).or_else(|| gate::shut(state, rollout, id));
                    match held {
                        Some(reason) => survey.held.push((id.clone(), reason)),
                        None => offered.push((id, gateway)),
                    }
                }
                Step::Waiting(before) => match brakes.standing(gateway, member) {
                    Some(reason) => survey.choice.waits(id, before, reason),
                    None => free.push(Free::new(id, gateway, member, before)),
                },
                Step::Failed(_) => survey.failed = true,
                _ => {}
            }
            if half_way::concerns(member) {
                survey.half_way.push(id.clone());
            }
        }
        if offered.is_empty() && free.is_empty() {
            return Some(survey);
        }
        let mut room = Room::of(state, rollout, load.with_others(state, rollout_id));
        survey.taken_back = offered.iter().find_map(|(id, gateway)| Some(((*id).clone(), room.takes_back(gateway)?)));
        survey.choice.among(free, room, now);
        Some(survey)
    }

    /// The same of what the rollout has become since.
    pub fn again(self, draft: &mut Draft, id: RolloutId) -> Option<Self> {
        if self.is_stale(draft) { Self::of(draft, id) } else { Some(self) }
    }

    pub fn is_stale(&self, draft: &Draft) -> bool {
        self.edits != draft.edits
    }

    /// What was due is done; what is left of it waits for something else than time.
    fn wait_for(&mut self, due: [Option<SiteTime>; 4], now: SiteTime) {
        self.due = due.into_iter().flatten().filter(|at| *at > now).chain(self.due).min();
    }
}

/// When a member must be looked at again although nothing happens. Each for itself: what has passed must not hide what is
/// still to come.
fn due(state: &State, rollout: &Rollout, gateway: &Gateway, member: &Member) -> [Option<SiteTime>; 4] {
    let judged = if member.may_fail_silent() {
        silence::judged_from(state, gateway, member.deadline())
    } else {
        watch::silent(state, rollout, gateway, member)
    };
    // while the site is silent no time is up
    let runs = state.site.silence.is_none();
    let [deadline, retry_at] = member.due().map(|at| at.filter(|_| runs));
    [deadline, retry_at, judged.filter(|_| runs), half_way::hide_at(state, rollout, gateway, member)]
}
