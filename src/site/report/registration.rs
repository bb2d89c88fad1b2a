//! Who knocks at the site: gateways that nobody declared, and addresses that send wrong tokens.

use serde::{Deserialize, Serialize};

use crate::device::{Credential, Guesser, Strangers};
use crate::engine::State;
use crate::model::SiteTime;

/// A gateway that waits to be accepted.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingLine {
    /// How it names itself.
    pub controller_id: String,
    /// The address it came from first.
    pub address: String,
    /// The first eight digits of the sha256 of the token that it showed first, for a person to compare; none if that is
    /// the site's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_starts: Option<String>,
    /// `Derived` or `Shared`: it has the site's own token, so it belongs here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site_token: Option<String>,
    /// Another token was shown in its name too.
    pub contested: bool,
    /// How often it came.
    pub times: u64,
    /// Seconds since it came first, and last.
    pub since_seconds: u64,
    /// The same since it came last.
    pub last_seconds: u64,
}

/// An address that sent wrong tokens within the last ten minutes.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GuesserLine {
    /// The address, or the first of its IPv6 network.
    pub address: String,
    /// How many.
    pub wrong: u64,
    /// Seconds since the last.
    pub last_seconds: u64,
}

/// What a person wants accepted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acceptance {
    /// These; none: all that are not contested.
    #[serde(default)]
    pub ids: Vec<String>,
    /// With these labels beside those of the site file.
    #[serde(default)]
    pub labels: std::collections::BTreeMap<String, String>,
}

/// What became of it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Accepted {
    /// The controller ids of those that are gateways now.
    pub accepted: Vec<String>,
    /// Those that are not, and why.
    pub refused: Vec<NotAccepted>,
}

/// One that was not accepted.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NotAccepted {
    /// How it names itself.
    pub controller_id: String,
    /// Why, and what to do.
    pub why: String,
}

/// Those that wait.
pub fn pending(strangers: &Strangers, state: &State, now: SiteTime) -> Vec<PendingLine> {
    let waiting = strangers.iter().filter(|(id, _)| !state.gateways.contains_key(*id));
    waiting
        .map(|(id, known)| PendingLine {
            controller_id: id.to_string(),
            address: known.from.to_string(),
            token_starts: known.credential.own().map(|token| token.to_string().chars().take(8).collect()),
            site_token: match known.credential {
                Credential::Unknown(_) => None,
                Credential::Derived => Some("Derived".into()),
                Credential::Shared => Some("Shared".into()),
            },
            contested: known.contested,
            times: known.times,
            since_seconds: now.since(known.since).as_secs(),
            last_seconds: now.since(known.last).as_secs(),
        })
        .collect()
}

/// Those that guess.
pub fn guessers(guessers: Vec<Guesser>) -> Vec<GuesserLine> {
    let line = |guesser: Guesser| GuesserLine {
        address: guesser.address.to_string(),
        wrong: guesser.wrong,
        last_seconds: guesser.ago,
    };
    guessers.into_iter().map(line).collect()
}
