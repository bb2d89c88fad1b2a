//! Gateways that nobody declared.

use std::fmt;

use super::{ControllerId, Labels, TokenHash};

/// What becomes of a gateway that nobody declared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Registration {
    /// It is turned away, and counted; listed only if it has the site's own token.
    #[default]
    Refuse,
    /// It is turned away, and listed until a person accepts it.
    Pending,
    /// It is accepted at once, with the token it shows.
    Accept,
}

impl fmt::Display for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refuse => "Refuse",
            Self::Pending => "Pending",
            Self::Accept => "Accept",
        })
    }
}

/// A gateway that is accepted without a manifest: who has its token from now on is this gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Newcomer {
    /// How it names itself.
    pub controller_id: ControllerId,
    /// The hash of the token that it showed first; none if that was the site's own, with which it goes on.
    pub token: Option<TokenHash>,
    /// What selectors look at.
    pub labels: Labels,
    /// The address it came from, for the journal.
    pub from: String,
}
