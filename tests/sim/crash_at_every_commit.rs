//! The process dies at every single commit of a rollout, and nothing changes in how it ends.

use std::collections::BTreeMap;

use lamplighter::model::ControllerId;
use lamplighter::world::{Disk, Ending};

use crate::disk;
use crate::fate::{Character, Fate};
use crate::judge::{judge, run};
use crate::scene::{cast, everybody_reports, world};

/// Gateways whose end does not depend on luck.
const FATES: &[Fate] = &[
    Fate::Good,
    Fate::Good,
    Fate::Cut(1),
    Fate::Noisy,
    Fate::Strange,
    Fate::Fails(1),
    Fate::Fails(u8::MAX),
    Fate::FallsBack,
    Fate::SilentAfterDownload,
    Fate::NeverPolls,
    Fate::NeverFetches,
    Fate::Lies,
];

fn twenty() -> Vec<(ControllerId, Character)> {
    let mut cast = cast(11, 20, FATES);
    everybody_reports(&mut cast);
    cast
}

/// How everybody ended, in one word: why one failed may depend on which of its words a crash swallowed.
fn play(
    disk: Box<dyn Disk>,
    ending_at: impl Fn(u64) -> Ending + 'static,
) -> (BTreeMap<ControllerId, &'static str>, u64, u64) {
    let mut world = world(11, &twenty(), disk, Box::new(ending_at));
    run(&mut world);
    judge(&world);
    let ends = world.ends().into_iter().map(|(id, step)| (id, step.name())).collect();
    (ends, world.commits, world.crashes)
}

#[test]
fn a_crash_before_or_after_any_commit_changes_no_end() {
    let (expected, commits, _) = play(disk::memory(), |_| Ending::Done);
    for at in 0..commits {
        for ending in [Ending::CrashBefore, Ending::CrashAfter] {
            let (ends, _, crashes) = play(disk::memory(), move |n| if n == at { ending } else { Ending::Done });
            assert_eq!(crashes, 1);
            assert_eq!(ends, expected, "{ending:?} at commit {at}");
        }
    }
}

#[test]
fn power_lost_in_the_middle_of_any_commit_changes_no_end() {
    let (expected, commits, _) = play(disk::memory(), |_| Ending::Done);
    for at in 0..commits {
        let write = at % 9;
        let ending = Ending::PowerCut(write, at);
        let (ends, _, crashes) = play(disk::memory(), move |n| if n == at { ending } else { Ending::Done });
        assert_eq!(crashes, 1);
        assert_eq!(ends, expected, "{ending:?} at commit {at}");
    }
}
