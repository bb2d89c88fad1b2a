//! The orders that stand, a line each.

use serde::{Deserialize, Serialize};

use super::super::why::wall_time;
use crate::engine::State;
use crate::model::{Given, SiteTime, StandingOrder};

/// So many of them are in an answer about the whole site.
pub(super) const MOST_LINES: usize = 20;

/// An order that stands, or the same said by a spec.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderLine {
    /// `pause`, `cancel` or `hold`.
    pub order: String,
    /// The rollout that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollout: Option<String>,
    /// The gateway that it is about, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<String>,
    /// Who gave it: a user, or the spec.
    pub by: String,
    /// When, RFC 3339, if there was a clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// For how long by now, in uptime of the site.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_seconds: Option<u64>,
    /// Why, if it was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What takes it back.
    pub lift: String,
}

/// The newest orders that stand, and how many there are.
pub fn standing_orders(state: &State, now: SiteTime) -> (Vec<OrderLine>, u32) {
    let mut all: Vec<_> = state.orders.iter().collect();
    all.sort_by_key(|(_, given)| std::cmp::Reverse(given.at));
    let lines = all.iter().take(MOST_LINES).map(|(order, given)| line(state, order, given, now)).collect();
    (lines, u32::try_from(all.len()).unwrap_or(u32::MAX))
}

/// One that was given on the spot.
pub(in crate::site::report) fn line(state: &State, order: &StandingOrder, given: &Given, now: SiteTime) -> OrderLine {
    let gateway = match order {
        StandingOrder::Hold(id) => {
            Some(state.gateways.get(id).map_or_else(|| id.to_string(), |it| it.spec.name.clone()))
        }
        _ => None,
    };
    let lift = match &gateway {
        Some(name) => format!("`lamplighter unhold {name}`"),
        None => format!("`lamplighter resume {}`", order.name()),
    };
    OrderLine {
        order: order.verb().into(),
        rollout: order.rollout().map(ToString::to_string),
        gateway,
        by: given.by.clone(),
        since: given.wall.and_then(wall_time),
        for_seconds: Some(now.since(given.at).as_secs()),
        reason: given.reason.clone(),
        lift,
    }
}

/// What a spec says to the same effect.
pub(in crate::site::report) fn spec_line(
    order: &str,
    rollout: Option<&str>,
    gateway: Option<&str>,
    lift: &str,
) -> OrderLine {
    OrderLine {
        order: order.into(),
        rollout: rollout.map(Into::into),
        gateway: gateway.map(Into::into),
        by: "its spec".into(),
        since: None,
        for_seconds: None,
        reason: None,
        lift: lift.into(),
    }
}

impl OrderLine {
    /// `by alice (uid 1000) since 2026-12-01T06:30:00Z: the press is hot`.
    pub fn whose(&self) -> String {
        let since = self.since.as_ref().map(|since| format!(" since {since}")).unwrap_or_default();
        let reason = self.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        format!("by {}{since}{reason}", self.by)
    }
}
