//! What kind of gateway it is, what becomes of its update, and how the rollout must end for it.

use lamplighter::engine::Step;
use lamplighter::model::{Client, FailedReason, WaitingReason};

/// A gateway's character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Character {
    /// Whose habits it has: SWUpdate's, rhu's or Zephyr's.
    pub client: Client,
    /// It reports the version that it runs.
    pub reports: bool,
    /// What becomes of its update.
    pub fate: Fate,
}

/// What becomes of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It works.
    Good,
    /// So many installs fail, then one works.
    Fails(u8),
    /// It installs and comes back with the old version.
    FallsBack,
    /// It takes the order and is never heard of again.
    SilentAfterFetch,
    /// It downloads and is never heard of again.
    SilentAfterDownload,
    /// It is never there.
    NeverPolls,
    /// It polls and lets every offer lie.
    NeverFetches,
    /// Its downloads are slow and cut so many times; it resumes.
    Cut(u8),
    /// It reports success without downloading anything.
    Lies,
    /// It posts ids that nobody gave it, then works.
    Strange,
    /// It works, and says everything twice, late and out of order.
    Noisy,
    /// It installs as it reads, as RAUC can: some parts of the artifact, the end first, in many small requests.
    Streams,
}

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

impl Character {
    pub fn seeded(random: &mut fastrand::Rng, fate: Fate) -> Self {
        // rhu is waited for so long that it would only make every test longer
        let clients: &[Client] = match fate {
            Fate::NeverFetches => &[Client::SwUpdate, Client::Zephyr],
            Fate::Streams => &[Client::Rauc],
            _ => CLIENTS,
        };
        let client = *random.choice(clients).unwrap();
        // without a version nobody knows what one runs that answers to strange ids: it waits for a person
        let reports = fate == Fate::Strange || random.bool();
        Self { client, reports, fate }
    }

    /// Does it run the new version in the end?
    pub fn arrives(self) -> bool {
        match self.fate {
            Fate::Good | Fate::Cut(_) | Fate::Strange | Fate::Noisy | Fate::Streams => true,
            // Zephyr tries again by itself until its order is closed
            Fate::Fails(times) => times < 3,
            _ => false,
        }
    }

    /// How its member may end, if nothing stops the rollout.
    pub fn ends(self) -> Vec<Step> {
        use FailedReason::{BytesSpent, NoFeedback, NotFetched, Reported, SuccessWithoutDownload, WrongVersion};
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
            Fate::Good | Fate::Cut(_) | Fate::Strange | Fate::Noisy | Fate::Streams => unreachable!("these arrive"),
        }
    }

    /// How it may end besides if its last word never arrived.
    pub fn ends_unheard(self) -> Vec<Step> {
        match (self.reports, self.arrives()) {
            // of an attempt that nobody heard has failed nobody gives another one
            (true, true) if matches!(self.fate, Fate::Fails(_)) => vec![Step::Failed(FailedReason::NoFeedback)],
            (true, true) => Vec::new(),
            (false, _) => vec![Step::Failed(FailedReason::NoFeedback)],
            (true, false) => vec![Step::Failed(FailedReason::NoFeedback), Step::Failed(FailedReason::WrongVersion)],
        }
    }
}
