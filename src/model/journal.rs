//! The record of what happened at a site.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{Invalid, SiteTime, kinds};

/// One row of the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalEntry {
    /// When, in site time.
    pub at: SiteTime,
    /// When, by the wall clock in Unix milliseconds, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall: Option<i64>,
    /// What happened.
    pub what: What,
    /// In which rollout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollout: Option<String>,
    /// To which gateway, by its controller id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<String>,
    /// To which service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// The rest, for a person.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

kinds! {
    /// The kinds of rows.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub What {
        /// The site's memory was lost; the detail says what was set aside.
        StoreLost,
        /// Many gateways fell silent at once, or that is over; the detail says how many.
        SiteSilent,
        /// The site file changed, and what it says now is in force; the detail says what that is.
        SiteFileChanged,
        /// A person gave an order; the detail says who and which.
        Ordered,
        /// A drop was accepted; the detail names its file, the digest of that, and its objects.
        DropAccepted,
        /// A drop was refused; the detail says why.
        DropRejected,
        /// Another cluster than the one that this site belongs to answers as its API server, or the right one does again.
        AnotherCluster,
        /// A manifest or the API declares now what came by a drop, or was accepted.
        TakenOver,
        /// A rollout was accepted.
        RolloutAccepted,
        /// A newer revision or rollout took over.
        RolloutSuperseded,
        /// A rollout was cancelled.
        RolloutCancelled,
        /// A rollout was deleted; its members end as if it was cancelled.
        RolloutDeleted,
        /// An edit of a rollout changes a wave that has opened already, which it cannot; the detail says which.
        ChangeIgnored,
        /// The members of a rollout were frozen.
        Frozen,
        /// A wave opened.
        WaveOpened,
        /// A wave is proven.
        WaveProven,
        /// A rollout is done.
        RolloutReady,
        /// Too many members failed.
        LimitReached,
        /// A member, or a rollout, begins to go back to what was before.
        RollingBack,
        /// A member is back on what it ran before.
        RolledBack,
        /// A new token let the failed members begin again.
        Retried,
        /// An artifact begins to come over the network.
        ArtifactFetching,
        /// An artifact was verified.
        ArtifactVerified,
        /// An artifact could not be had.
        ArtifactFailed,
        /// An artifact that nobody needs made room.
        ArtifactCollected,
        /// A service's configuration was seen, and its unit needs no restart for it; the detail says why.
        ConfigRecorded,
        /// A service's unit is to be restarted; the detail says why, with the old and the new hash and the keys that changed.
        RestartBegun,
        /// It was.
        Restarted,
        /// It did not come back, or not well.
        RestartFailed,
        /// A gateway was seen for the first time.
        FirstSeen,
        /// Two machines use one id, or no longer.
        DuplicateIdentity,
        /// An order was offered.
        Offered,
        /// An offer was taken back.
        Withdrawn,
        /// An order was fetched.
        Fetched,
        /// The artifact was fully served.
        Served,
        /// A gateway reported the end of its work, to be confirmed.
        Reported,
        /// A member is updated.
        Updated,
        /// An attempt failed; another follows.
        AttemptFailed,
        /// A member failed.
        Failed,
        /// A member was skipped.
        Skipped,
        /// Feedback that changed nothing: late, twice or out of order.
        LateFeedback,
        /// Feedback on an id that this site never issued.
        StrangeId,
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// In upper or lower case: people type them.
impl FromStr for What {
    type Err = Invalid;
    fn from_str(text: &str) -> Result<Self, Invalid> {
        let found = Self::ALL.iter().find(|what| what.name().eq_ignore_ascii_case(text));
        found.copied().ok_or_else(|| Invalid::new(format!("there is no kind of row {text:?}")))
    }
}
