//! An order to one gateway.

use crate::model::{ActionId, SiteTime};

/// An order to one gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// Its id.
    pub id: ActionId,
    /// Ids of earlier attempts that still count.
    pub aliases: Vec<ActionId>,
    /// The gateway may still have it.
    pub open: bool,
    /// The gateway fetched it in this attempt.
    pub fetched: bool,
    /// The gateway fetched it in some attempt: silence is no excuse any more.
    pub ever_fetched: bool,
    /// An artifact request was answered under it or an alias.
    pub requested: bool,
    /// A failure now is ours and uses no attempt.
    pub excused: bool,
    /// The confirm deadline passed: only a fresh version report decides.
    pub overdue: bool,
    /// The link is hidden while the gateway idles half-way on hold or pause.
    pub hidden: bool,
    /// The gateway is told to drop it, and has not answered.
    pub cancelling: bool,
    /// Under `Feedback`: a poll from this time on confirms.
    pub confirm_from: Option<SiteTime>,
    /// When the step it is in ends; of a closed order that was cancelled, when the gateway may have another.
    pub deadline: Option<SiteTime>,
}

impl Action {
    /// Is this id one of the order's?
    pub fn answers_to(&self, id: ActionId) -> bool {
        self.id == id || self.aliases.contains(&id)
    }
}
