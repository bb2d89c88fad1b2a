//! What every world must show at its end.

use lamplighter::engine::Step;
use lamplighter::model::FailedReason;
use lamplighter::world::World;

use crate::fate::{Ends, Fate};
use crate::fleet::OLD;

/// How long a world may run, in milliseconds.
const LONGEST: u64 = 24 * 3_600_000;

/// Runs until nothing is left to happen but polls.
pub fn run(world: &mut World) {
    let over = world.run(LONGEST);
    assert_eq!(world.oracle.wrong, Vec::<String>::new(), "{}", tail(world));
    assert!(over, "no end after a day of virtual time\n{}", world.unfinished());
}

fn tail(world: &World) -> String {
    let trail = world.trail.as_deref().unwrap_or_default();
    trail[trail.len().saturating_sub(60)..].join("\n")
}

/// What every world must show at its end, when nothing stopped its rollout.
pub fn judge(world: &World) {
    let ends = world.ends();
    assert!(!ends.is_empty(), "there is a rollout");
    for (id, step) in ends {
        let device = world.devices.iter().find(|device| device.role.id == id).unwrap();
        let character = device.role.character;
        let mut allowed = character.ends();
        if device.word_lost {
            allowed.extend(character.ends_unheard());
        }
        let disturbed = world.crashes + world.failed_commits > 0;
        // who is silent counts as there for a while after each start, and so as one that lets its offer lie
        if character.fate == Fate::SilentAfterFetch && disturbed {
            allowed.push(Step::Failed(FailedReason::NotFetched));
        }
        // a word on its failure that we could not take for so long that its deadline passed came too late
        if disturbed && allowed.iter().all(|step| matches!(step, Step::Failed(_))) {
            allowed.push(Step::Failed(FailedReason::NoFeedback));
        }
        assert!(allowed.contains(&step), "{id} {character:?} ended as {step:?}\n{}", world.story(&id));
        // it runs what it says; one that cannot say is believed
        let true_ = device.runs != OLD || character.fate == Fate::FallsBack;
        assert!(step != Step::Updated || true_, "{id} is not updated\n{}", world.story(&id));
    }
    judge_installs(world);
}

/// What must hold however a rollout ends.
pub fn judge_installs(world: &World) {
    assert_eq!(world.wrong(), Vec::<String>::new());
}
