//! Gates: what the plant said when it was asked, and who waits for it. Whatever did not just say that it is open holds.

use std::collections::BTreeSet;
use std::time::Duration;

use super::draft::Draft;
use super::state::{GateSaid, Member, Rollout, State, Step};
use crate::model::{ControllerId, GateAnswer, GateKey, SiteTime, WaitingReason};

/// An answer is good for an offer, and for its fetch, for so long after it was asked for.
pub(super) const FRESH: Duration = Duration::from_secs(15);
/// An answer that nobody asks for again is forgotten.
const KEPT: Duration = Duration::from_secs(60);

/// Holds a gateway back unless each gate of its rollout just said that it is open.
pub(super) fn brake(state: &State, now: SiteTime, rollout: &Rollout, id: &ControllerId) -> Option<WaitingReason> {
    let is_open =
        |key: Result<GateKey, String>| key.is_ok_and(|key| state.gates.get(&key).is_some_and(|s| s.opens(now)));
    (!keys(state, rollout, id).all(is_open)).then_some(WaitingReason::Gate)
}

/// Takes an offer back that was not fetched: a gate said no, or can no longer be asked. Not knowing takes nothing back, so
/// that a lost answer now and then makes no orders come and go; at the fetch it holds.
pub(super) fn shut(state: &State, rollout: &Rollout, id: &ControllerId) -> Option<WaitingReason> {
    let closed = |said: &GateSaid| matches!(said.answer, GateAnswer::Closed(_));
    let is_shut = |key: Result<GateKey, String>| key.map_or(true, |key| state.gates.get(&key).is_some_and(closed));
    keys(state, rollout, id).any(is_shut).then_some(WaitingReason::Gate)
}

/// What is asked for a gateway.
fn keys<'s>(
    state: &'s State,
    rollout: &'s Rollout,
    id: &ControllerId,
) -> impl Iterator<Item = Result<GateKey, String>> + use<'s> {
    let gateway = state.gateways.get(id);
    rollout.spec.gates.iter().filter_map(move |gate| Some(gate.key(&gateway?.spec)))
}

/// A gate said something. That it says the same again is nobody's business, unless what it said before was forgotten.
pub(super) fn said(draft: &mut Draft, key: GateKey, answer: GateAnswer, asked: SiteTime) {
    if asked < draft.state.awake_since {
        return;
    }
    let now = draft.now.site;
    let said = GateSaid { answer, asked };
    let gates = &mut draft.state.gates;
    let before = gates.get(&key).map(|before| before.means(now));
    let after = said.means(now);
    gates.retain(|_, said| now.since(said.asked) <= KEPT);
    gates.insert(key, said);
    if before != Some(after) {
        touch_gated(draft);
    }
}

/// Nobody knows any more what gates would say.
pub(super) fn forget(draft: &mut Draft) {
    draft.state.gates.clear();
    draft.state.awake_since = draft.now.site;
    touch_gated(draft);
}

fn touch_gated(draft: &mut Draft) {
    let gated = draft.state.rollouts.iter().filter(|(_, rollout)| !rollout.spec.gates.is_empty());
    for id in gated.map(|(id, _)| *id).collect::<Vec<_>>() {
        draft.touch(id);
    }
}

/// What should be asked now, and again while it is: for whom only a gate holds back, and for offers that are not fetched.
pub fn wanted_gates(state: &State) -> BTreeSet<GateKey> {
    let waits = |member: &Member| matches!(member.step, Step::Waiting(WaitingReason::Gate) | Step::Offered);
    let mut wanted = BTreeSet::new();
    for rollout in state.rollouts.values().filter(|rollout| !rollout.spec.gates.is_empty()) {
        for (id, _) in rollout.members.iter().filter(|(_, member)| waits(member)) {
            wanted.extend(keys(state, rollout, id).flatten());
        }
    }
    wanted
}

/// Which gate holds a gateway back, and what it said last, for a person.
pub(super) fn explained(state: &State, now: SiteTime, rollout: &Rollout, id: &ControllerId) -> Option<String> {
    let gateway = state.gateways.get(id)?;
    rollout.spec.gates.iter().find_map(|gate| {
        let name = gate.name.as_ref().map(|name| format!("{name}, ")).unwrap_or_default();
        let key = match gate.key(&gateway.spec) {
            Ok(key) => key,
            Err(why) => return Some(format!("gate {name}{}: cannot be asked, {why}", gate.question)),
        };
        let Some(said) = state.gates.get(&key) else { return Some(format!("gate {name}{key}: has not answered yet")) };
        let ago = now.since(said.asked).as_secs();
        match &said.answer {
            GateAnswer::Open if said.opens(now) => None,
            GateAnswer::Open => Some(format!("gate {name}{key}: was open {ago}s ago, and has not answered since")),
            GateAnswer::Closed(why) => Some(format!("gate {name}{key}: closed, {why} ({ago}s ago)")),
            GateAnswer::Unknown(why) => Some(format!("gate {name}{key}: unknown, {why} ({ago}s ago)")),
        }
    })
}

/// What an answer means at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Means {
    Open,
    Closed,
    Unknown,
}

impl GateSaid {
    fn opens(&self, now: SiteTime) -> bool {
        self.means(now) == Means::Open
    }

    fn means(&self, now: SiteTime) -> Means {
        match self.answer {
            GateAnswer::Open if now.since(self.asked) <= FRESH => Means::Open,
            GateAnswer::Open | GateAnswer::Unknown(_) => Means::Unknown,
            GateAnswer::Closed(_) => Means::Closed,
        }
    }
}
