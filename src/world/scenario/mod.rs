//! Scenario files: what a site looks like, what happens to it, and what must come of it. They read like the field; see
//! `docs/reference/scenarios.md`.

mod cast;
mod expect;
mod pattern;
mod played;
mod read;
mod script;
mod stage;
mod timeline;
mod typed;
mod who;

pub use played::{Found, Moment, Played, RolloutEnd};
pub use read::Refused;

use super::play::Setting;
use cast::Cast;
use expect::Expectation;
use script::Script;

/// A scenario that comes with Lamplighter: its name, and its text.
pub type Shipped = (&'static str, &'static str);

/// All that come with Lamplighter.
pub const SHIPPED: &[Shipped] = &[
    ("busy-lines", include_str!("../scenarios/busy-lines.yaml")),
    ("canary-friday", include_str!("../scenarios/canary-friday.yaml")),
    ("dead-switch", include_str!("../scenarios/dead-switch.yaml")),
    ("islanded-substation", include_str!("../scenarios/islanded-substation.yaml")),
    ("late-joiner", include_str!("../scenarios/late-joiner.yaml")),
    ("plant-shutdown", include_str!("../scenarios/plant-shutdown.yaml")),
    ("redundant-pairs", include_str!("../scenarios/redundant-pairs.yaml")),
    ("rolling-back", include_str!("../scenarios/rolling-back.yaml")),
    ("stop-button", include_str!("../scenarios/stop-button.yaml")),
    ("two-hardware-types", include_str!("../scenarios/two-hardware-types.yaml")),
];

/// A scenario, checked.
#[derive(Debug)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// What it is about, for a person.
    pub about: String,
    setting: Setting,
    /// How long it lasts at most, in milliseconds.
    lasts: u64,
    cast: Cast,
    script: Script,
    expect: Vec<Expectation>,
}

impl Scenario {
    /// Reads a scenario; the seed decides who is drawn by lot.
    pub fn read(text: &str, seed: u64) -> Result<Self, Refused> {
        read::scenario(text, seed)
    }
}
