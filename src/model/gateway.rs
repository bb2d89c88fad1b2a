//! Gateways as a person declares them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::digest::{hex, parse_hex};
use super::{ControllerId, Invalid, Labels, serde_as_text};

/// A gateway that takes firmware, checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewaySpec {
    /// Its name among the resources; what people call it.
    pub name: String,
    /// How it names itself over DDI; unique at the site.
    pub controller_id: ControllerId,
    /// What selectors look at.
    pub labels: Labels,
    /// The hash of its own target token; without one it signs in by what the site offers to all.
    pub token: Option<TokenHash>,
    /// Take no new order.
    pub hold: bool,
}

/// The sha256 of a gateway's token: 64 lower-case hex digits. A hash may stand in a manifest, the token never does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TokenHash([u8; 32]);

impl TokenHash {
    /// From the hash itself.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The hash of a token.
    pub fn of(token: &str) -> Self {
        Self(Sha256::digest(token).into())
    }

    /// The hash itself.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl FromStr for TokenHash {
    type Err = Invalid;
    fn from_str(text: &str) -> Result<Self, Invalid> {
        parse_hex(text).map(Self).ok_or_else(|| {
            Invalid::new("a token hash has 64 lower-case hex digits; make one with `printf %s TOKEN | sha256sum`")
        })
    }
}

impl fmt::Display for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for TokenHash {
    /// Hashes of weak tokens can be guessed: they stay out of logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash(…)")
    }
}

serde_as_text!(TokenHash);
