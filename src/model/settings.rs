//! What the engine needs to know of the site file.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use super::{ControllerId, ServiceAllowance, Zone};

/// What the engine needs to know of the site file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The site's name.
    pub site: String,
    /// What gateways are told, each with its own tenth more or less.
    pub poll_interval: Duration,
    /// After a start nobody's silence is held against it for this long, unless it polled since.
    pub offline_after: Duration,
    /// How many gateways may be offered or downloading at once.
    pub download_slots: u32,
    /// How many members of all rollouts may be between offer and end at once.
    pub max_in_flight: u32,
    /// Under which attribute keys gateways report an artifact's version, where it is not the artifact's name.
    pub version_keys: BTreeMap<String, Vec<String>>,
    /// The gateway that is the machine on which the units run, if it is one.
    pub node: Option<ControllerId>,
    /// Which units may be restarted; and which files read, which is judged where they are opened.
    pub services: Rc<ServiceAllowance>,
    /// The zone of windows that name none.
    pub time_zone: Zone,
}
