//! The judge of brakes that depend on others: it knows what was heard and written, and asks at each order that is given.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use lamplighter::engine::{Gateway, Member, Rollout, State, Step};
use lamplighter::model::{ControllerId, Event, GateAnswer, GateKey, JournalEntry, Presence, SiteTime, Verdict, What};

#[derive(Debug, Default)]
pub struct Judge {
    /// Who was heard since the process started or stood still.
    heard: BTreeSet<ControllerId>,
    /// Whose last attempt failed, as the journal says.
    failed: BTreeSet<String>,
    /// What each gate said last, and when.
    gates: BTreeMap<GateKey, (GateAnswer, SiteTime)>,
}

impl Judge {
    pub fn hears(&mut self, events: &[Event], now: SiteTime) {
        for event in events {
            match event {
                Event::Started | Event::StoodStill => {
                    self.heard.clear();
                    self.gates.clear();
                }
                Event::Seen(id) => _ = self.heard.insert(id.clone()),
                Event::Gate(key, answer, _) => _ = self.gates.insert(key.clone(), (answer.clone(), now)),
                _ => {}
            }
        }
    }

    pub fn reads(&mut self, journal: &[JournalEntry]) {
        for row in journal {
            let Some(gateway) = &row.gateway else { continue };
            match row.what {
                What::Failed | What::AttemptFailed => _ = self.failed.insert(gateway.clone()),
                What::Updated => _ = self.failed.remove(gateway),
                What::Skipped if row.detail == "AlreadyInstalled" => _ = self.failed.remove(gateway),
                _ => {}
            }
        }
    }

    /// A step with nothing but a fetch was decided on the state before it.
    pub fn looks(&self, before: &State, events: &[Event], verdicts: &[Verdict], now: SiteTime) {
        let ([Event::Fetched(id, action)], [Verdict::Deploy]) = (events, verdicts) else { return };
        let gateway = &before.gateways[id];
        let rollout = &before.rollouts[&gateway.busy.expect("an order")];
        let member = &rollout.members[id];
        if member.step != Step::Offered {
            return;
        }
        let who = format!("{id}, action {action}");
        self.gates_are_open(rollout, gateway, now, &who);
        let Some(spread) = &rollout.spec.strategy.spread else { return };
        let value = gateway.spec.labels.get(&spread.label).unwrap_or_else(|| panic!("{who}: has no label"));
        let peers: Vec<_> = before
            .gateways
            .iter()
            .filter(|(other, gateway)| *other != id && gateway.spec.labels.get(&spread.label) == Some(value))
            .collect();
        let size = 1 + u32::try_from(peers.iter().filter(|(_, gateway)| gateway.listed).count()).unwrap();
        if let Some(most) = spread.max_in_flight {
            let flying = peers.iter().flat_map(|(other, _)| memberships(before, other));
            let flying = u32::try_from(flying.filter(|member| member.step.is_in_flight()).count()).unwrap();
            assert!(flying < most.of(size), "{who}: given while {flying} of its line are under way");
        }
        if let Some(least) = spread.min_healthy {
            let healthy = peers.iter().filter(|(other, gateway)| self.is_healthy(before, other, gateway)).count();
            assert!(
                healthy >= usize::try_from(least.of(size)).unwrap(),
                "{who}: given while {healthy} others are healthy"
            );
        }
    }

    fn gates_are_open(&self, rollout: &Rollout, gateway: &Gateway, now: SiteTime, who: &str) {
        for gate in &rollout.spec.gates {
            let said = self.gates.get(&gate.key(&gateway.spec).expect("it has the label"));
            let open = said.is_some_and(|(answer, asked)| {
                *answer == GateAnswer::Open && now.since(*asked) <= Duration::from_secs(15)
            });
            assert!(open, "{who}: given while its gate says {said:?}");
        }
    }

    fn is_healthy(&self, state: &State, id: &ControllerId, gateway: &Gateway) -> bool {
        let may_install = |member: &Member| member.open_action().is_some_and(|order| order.ever_fetched);
        let at_work = memberships(state, id).any(|member| member.step.is_in_flight() || may_install(member));
        gateway.presence == Presence::Polling
            && self.heard.contains(id)
            && !gateway.spec.hold
            && !at_work
            && !self.failed.contains(id.as_str())
    }
}

fn memberships<'s>(state: &'s State, id: &ControllerId) -> impl Iterator<Item = &'s Member> + use<'s> {
    let id = id.clone();
    state.rollouts.values().filter_map(move |rollout| rollout.members.get(&id))
}
