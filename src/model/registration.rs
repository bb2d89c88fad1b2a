//! Gateways that nobody declared.

use super::{ControllerId, Labels, TokenHash};

/// What becomes of a gateway that nobody declared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Registration {
    /// It is turned away, and counted.
    #[default]
    Refuse,
    /// It is turned away, and listed until a person accepts it.
    Pending,
    /// It is accepted at once, with the token it shows.
    Accept,
}

/// A gateway that is accepted without a manifest: who has this token from now on is this gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Newcomer {
    /// How it names itself.
    pub controller_id: ControllerId,
    /// The hash of the token that it showed first.
    pub token: TokenHash,
    /// What selectors look at.
    pub labels: Labels,
    /// The address it came from, for the journal.
    pub from: String,
}
