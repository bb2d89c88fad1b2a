//! Gateways by fate, and how a rollout must end for each.

use lamplighter::engine::Step;
use lamplighter::model::{Client, FailedReason, WaitingReason};
pub use lamplighter::world::{Character, Fate};

/// Every fate once; those that work several times.
pub const FATES: &[Fate] = &[
    Fate::Good,
    Fate::Good,
    Fate::Good,
    Fate::Good,
    Fate::Good,
    Fate::Good,
    Fate::Cut(2),
    Fate::Noisy,
    Fate::Noisy,
    Fate::Strange,
    Fate::Streams,
    Fate::Fails(1),
    Fate::Fails(u8::MAX),
    Fate::FallsBack,
    Fate::SilentAfterFetch,
    Fate::SilentAfterDownload,
    Fate::NeverPolls,
    Fate::NeverFetches,
    Fate::Lies,
];

pub const CLIENTS: &[Client] = &[Client::SwUpdate, Client::Rauc, Client::Zephyr];

pub fn seeded(random: &mut fastrand::Rng, fate: Fate) -> Character {
    // rhu is waited for so long that it would only make every test longer
    let clients: &[Client] = match fate {
        Fate::NeverFetches => &[Client::SwUpdate, Client::Zephyr],
        Fate::Streams => &[Client::Rauc],
        _ => CLIENTS,
    };
    let client = *random.choice(clients).unwrap();
    // without a version nobody knows what one runs that answers to strange ids: it waits for a person
    let reports = fate == Fate::Strange || random.bool();
    Character { client, reports, fate }
}

/// What must become of it.
pub trait Ends {
    /// Does it run the new version in the end?
    fn arrives(self) -> bool;
    /// How its member may end, if nothing stops the rollout.
    fn ends(self) -> Vec<Step>;
    /// How it may end besides if its last word never arrived.
    fn ends_unheard(self) -> Vec<Step>;
}

impl Ends for Character {
    fn arrives(self) -> bool {
        match self.fate {
            Fate::Good | Fate::Slow | Fate::Cut(_) | Fate::Strange | Fate::Noisy | Fate::Streams => true,
            // Zephyr tries again by itself until its order is closed
            Fate::Fails(times) => times < 3,
            _ => false,
        }
    }

    fn ends(self) -> Vec<Step> {
        use FailedReason::{
            BytesSpent, NoFeedback, NotFetched, Rejected, Reported, SuccessWithoutDownload, WrongVersion,
        };
        let Self { client, reports, fate } = self;
        match fate {
            _ if self.arrives() => vec![Step::Updated],
            // it says nothing about a failure; its version tells, if it gets to report one between its tries
            Fate::Fails(_) | Fate::FallsBack if client == Client::Zephyr => {
                // it downloads again and again meanwhile
                let unheard = [Step::Failed(NoFeedback), Step::Failed(BytesSpent)];
                unheard.into_iter().chain(reports.then_some(Step::Failed(WrongVersion))).collect()
            }
            Fate::FallsBack if client == Client::Rauc => {
                // one that says success and never what it runs: nobody can know
                vec![if reports { Step::Failed(WrongVersion) } else { Step::Updated }]
            }
            Fate::Fails(_) | Fate::FallsBack => vec![Step::Failed(Reported)],
            Fate::SilentAfterFetch | Fate::SilentAfterDownload => vec![Step::Failed(NoFeedback)],
            Fate::NeverPolls => vec![Step::Waiting(WaitingReason::Offline)],
            Fate::NeverFetches => vec![Step::Failed(NotFetched)],
            Fate::Lies => vec![Step::Failed(SuccessWithoutDownload)],
            Fate::Rejects => vec![Step::Failed(Rejected)],
            Fate::Good | Fate::Slow | Fate::Cut(_) | Fate::Strange | Fate::Noisy | Fate::Streams => {
                unreachable!("these arrive")
            }
        }
    }

    fn ends_unheard(self) -> Vec<Step> {
        match (self.reports, self.arrives()) {
            // of an attempt that nobody heard has failed nobody gives another one
            (true, true) if matches!(self.fate, Fate::Fails(_)) => vec![Step::Failed(FailedReason::NoFeedback)],
            (true, true) => Vec::new(),
            (false, _) => vec![Step::Failed(FailedReason::NoFeedback)],
            (true, false) => vec![Step::Failed(FailedReason::NoFeedback), Step::Failed(FailedReason::WrongVersion)],
        }
    }
}
