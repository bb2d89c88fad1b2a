//! What a person says on the spot, and what of it stands until somebody takes it back.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{ControllerId, Identity, Invalid, ServiceName, SiteTime};

/// What a person says on the spot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// Go on although the site's memory was lost.
    Resume,
    /// Something that stands until it is lifted; and why, if it was said.
    Give(StandingOrder, Option<String>),
    /// It stands no more.
    Lift(StandingOrder),
    /// Let waves of a rollout open that ask for it, by their names; of the revision that is in force.
    Approve(Identity, Vec<String>),
    /// Bring the failed members of a rollout to their update again: these, or all if there are none.
    Retry(Identity, Vec<ControllerId>),
    /// Restart a service's unit, whatever its configuration says.
    Restart(ServiceName),
    /// A gateway was set right by hand: what was seen of it before is not held against it any more.
    Repaired(ControllerId),
}

/// An order that stands until somebody lifts it on the spot. It is bound to a name, so it outlives edits, other versions,
/// restarts, and the object itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum StandingOrder {
    /// Offer nothing of a rollout, and open no wave of it.
    Pause(Identity),
    /// What there is of a rollout is called off for good, and no later version of it begins.
    Cancel(Identity),
    /// A gateway takes no new order.
    Hold(ControllerId),
}

impl StandingOrder {
    /// The word that gives it.
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Pause(_) => "pause",
            Self::Cancel(_) => "cancel",
            Self::Hold(_) => "hold",
        }
    }

    /// The same as it stands in the API.
    pub fn title(&self) -> &'static str {
        match self {
            Self::Pause(_) => "Pause",
            Self::Cancel(_) => "Cancel",
            Self::Hold(_) => "Hold",
        }
    }

    /// What it is about.
    pub fn name(&self) -> &str {
        match self {
            Self::Pause(identity) | Self::Cancel(identity) => &identity.0,
            Self::Hold(gateway) => gateway.as_str(),
        }
    }

    /// The gateway that it is about.
    pub fn gateway(&self) -> Option<&ControllerId> {
        match self {
            Self::Hold(gateway) => Some(gateway),
            Self::Pause(_) | Self::Cancel(_) => None,
        }
    }

    /// The rollout that it is about.
    pub fn rollout(&self) -> Option<&Identity> {
        match self {
            Self::Pause(identity) | Self::Cancel(identity) => Some(identity),
            Self::Hold(_) => None,
        }
    }
}

/// As it is stored: `pause/press-fw`.
impl fmt::Display for StandingOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.verb(), self.name())
    }
}

impl FromStr for StandingOrder {
    type Err = Invalid;
    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text.split_once('/') {
            Some(("pause", name)) => Ok(Self::Pause(Identity(name.to_owned()))),
            Some(("cancel", name)) => Ok(Self::Cancel(Identity(name.to_owned()))),
            Some(("hold", id)) => Ok(Self::Hold(id.parse()?)),
            _ => Err(Invalid::new(format!("{text:?} is no standing order"))),
        }
    }
}

/// Who gave an order, when and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Given {
    /// The user at the control socket, such as `alice (uid 1000)`.
    pub by: String,
    /// When, in site time.
    pub at: SiteTime,
    /// When, by the wall clock in Unix milliseconds, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall: Option<i64>,
    /// Why, if it was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// `by alice (uid 1000): the press is hot`.
impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "by {}", self.by)?;
        self.reason.as_ref().map_or(Ok(()), |reason| write!(f, ": {reason}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_standing_order_reads_back_from_its_key() {
        let orders = [
            StandingOrder::Pause(Identity("press-fw".into())),
            StandingOrder::Cancel(Identity("a.b/c".into())),
            StandingOrder::Hold("ctl:1".parse().unwrap()),
        ];
        for order in orders {
            assert_eq!(order.to_string().parse(), Ok(order));
        }
        for wrong in ["", "pause", "hold/", "approve/x"] {
            assert!(wrong.parse::<StandingOrder>().is_err(), "{wrong}");
        }
    }
}
