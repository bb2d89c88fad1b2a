//! Waves as a person declares them, checked.

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Amount, Selector};

/// A slice of a rollout's members.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WaveSpec {
    /// What people call it; without one it is called by its place, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How many members at most; a share is one of the frozen total.
    pub size: Amount,
    /// Only these; without one any member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<Selector>,
    /// How long the finished wave must stay healthy before the next opens.
    pub soak: Duration,
    /// Who opens it.
    #[serde(default)]
    pub approval: Approval,
    /// So many of its members must be updated for it to prove anything.
    #[serde(default = "WaveSpec::half")]
    pub min_updated: Amount,
}

/// Who opens a wave.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Approval {
    /// The proof of the wave before.
    #[default]
    Automatic,
    /// That, and a person.
    Manual,
}

impl WaveSpec {
    /// The soak of a wave that does not say.
    pub const SOAK: Duration = Duration::from_secs(600);
    /// What must be updated of a wave that does not say.
    pub const MIN_UPDATED: Amount = Amount::percent(50);
    /// The wave of one gateway with which a rollout starts that names no waves.
    pub const CANARY: Self = Self {
        name: None,
        size: Amount::Count(1),
        selector: None,
        soak: Self::SOAK,
        approval: Approval::Automatic,
        min_updated: Self::MIN_UPDATED,
    };
    /// The wave that takes who is left.
    pub const REST: Self = Self { size: Amount::percent(100), ..Self::CANARY };
    /// What the wave is called that takes who is left when nobody declares one.
    pub const REST_NAME: &'static str = "rest";

    const fn half() -> Amount {
        Self::MIN_UPDATED
    }

    /// What the wave at this place, from 0, is called.
    pub fn name_at(&self, at: usize) -> Cow<'_, str> {
        self.name.as_deref().map_or_else(|| (at + 1).to_string().into(), Cow::from)
    }

    /// It takes everybody whom it can take.
    pub fn takes_all(&self) -> bool {
        self.size == Amount::percent(100)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_wave_of_a_hundred_percent_takes_all() {
        let takes_all = |size: &str| WaveSpec { size: size.parse().unwrap(), ..WaveSpec::CANARY }.takes_all();
        assert!(takes_all("100%") && !takes_all("99%") && !takes_all("100"));
    }
}
