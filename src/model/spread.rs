//! How thinly a rollout is spread over the values of a label: lines, cells, redundant pairs.

use serde::{Deserialize, Serialize};

use super::Amount;

/// What holds for each value of a label, over all rollouts and over all gateways that have the value, members or not.
/// At least one of the two amounts is given; a share is one of the declared gateways with the value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spread {
    /// The label. A gateway without it is held.
    pub label: String,
    /// So many of a value's gateways may be under way at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_in_flight: Option<Amount>,
    /// So many others of the value stay healthy, and are not under way themselves, when one is offered its update.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_healthy: Option<Amount>,
}
