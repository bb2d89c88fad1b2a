//! A scenario is played: what happens happens at its time, and what is expected is looked at.

use super::Scenario;
use super::expect::{Expectation, newest, words};
use super::played::{Found, Played, RolloutEnd};
use super::timeline::timeline;
use crate::engine;
use crate::model::format_duration;
use crate::world::disk::{Ending, Memory};
use crate::world::play::World;

impl Scenario {
    /// Plays it to its end, in virtual time.
    pub fn play(&self, seed: u64) -> Played {
        let mut world = self.world(seed);
        let mut expectations = Vec::new();
        let mut looks: Vec<u64> = self.expect.iter().filter_map(|expectation| expectation.at).collect();
        looks.sort_unstable();
        looks.dedup();
        for at in looks {
            world.run_until(at);
            let now = self.expect.iter().filter(|expectation| expectation.at == Some(at));
            expectations.extend(now.map(|expectation| found(expectation, &world)));
        }
        world.run(self.lasts.max(world.now));
        let last = self.expect.iter().filter(|expectation| expectation.at.is_none());
        expectations.extend(last.map(|expectation| found(expectation, &world)));
        self.played(seed, &world, expectations)
    }

    fn world(&self, seed: u64) -> World {
        let ending = |_| Ending::Done;
        let disk = Box::new(Memory::default());
        let mut world = World::new(seed, self.cast.roles.clone(), self.setting.clone(), disk, Box::new(ending));
        for (at, deed, _) in &self.script.deeds {
            world.plan(*at, deed.clone());
        }
        world
    }

    fn played(&self, seed: u64, world: &World, expectations: Vec<Found>) -> Played {
        let deeds: Vec<_> = self.script.deeds.iter().map(|(at, _, words)| (*at, words.clone())).collect();
        Played {
            scenario: self.name.clone(),
            seed,
            gateways: world.devices.len(),
            virtual_seconds: world.now / 1_000,
            steps: world.steps,
            commits: world.commits,
            polls: world.polls,
            timeline: timeline(self.setting.starts, &deeds, &world.journal),
            rollouts: rollouts(world),
            expectations,
            wrong: world.wrong(),
        }
    }
}

fn found(expectation: &Expectation, world: &World) -> Found {
    let found = expectation.judge(world);
    let when = expectation.at.map(|at| format!("after {}: ", format_duration(std::time::Duration::from_millis(at))));
    Found { what: when.unwrap_or_default() + &expectation.what, holds: found.is_none(), found }
}

/// The rollouts as they are at the end, each by its newest revision.
fn rollouts(world: &World) -> Vec<RolloutEnd> {
    let Some(site) = &world.site else { return Vec::new() };
    let state = site.core.state();
    let names: std::collections::BTreeSet<_> = state.rollouts.values().map(|rollout| &rollout.identity.0).collect();
    let ends = names.into_iter().filter_map(|name| {
        let rollout = newest(state, name)?;
        let (phase, reason) = words(&engine::phase(state, rollout, site.time(world.now)));
        let version = rollout.spec.artifact.key.version.to_string();
        Some(RolloutEnd { name: name.clone(), version, phase, reason, steps: engine::steps(rollout) })
    });
    ends.collect()
}
