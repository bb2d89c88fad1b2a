//! The site's own certificate authority: `init` makes it once, it issues the device server's certificate and renews it.
//!
//! Owns making, reading and renewing these certificates. Must never replace an authority or a key, nor write one where
//! others can read it.

mod facts;
mod issue;
mod renew;

use std::time::Duration;

pub use facts::Facts;
pub use issue::{Authority, KeyPair};
pub use renew::{Renewal, renew};

/// How long a server certificate is issued for. It is renewed when a third of that is left.
pub const LIFE: Duration = Duration::from_secs(365 * 86_400);
/// How long an authority lasts: gateways keep its certificate for as long as they live.
pub const AUTHORITY_LIFE: Duration = Duration::from_secs(20 * 365 * 86_400);

/// Where `init` puts its files, all in one directory.
pub mod names {
    /// The authority's certificate, for gateways.
    pub const AUTHORITY: &str = "ca.crt";
    /// Its key, which nobody else needs.
    pub const AUTHORITY_KEY: &str = "ca.key";
    /// The server's certificate.
    pub const CERTIFICATE: &str = "server.crt";
    /// The server's key.
    pub const KEY: &str = "server.key";
}

/// Why there is no certificate: a lower-case fragment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthorityError {
    /// A text is not what it should be.
    #[error("{0}")]
    Unreadable(&'static str),
    /// A key does not belong to its certificate.
    #[error("the authority's key does not belong to its certificate; put back the one that `init` made")]
    Mismatch,
    /// A host that no certificate can name.
    #[error("{0:?} is neither a host name nor an address")]
    Host(String),
    /// The library says no.
    #[error("a certificate cannot be made: {0}")]
    Unmade(String),
    /// A file.
    #[error("{0}")]
    File(String),
}

impl From<rcgen::Error> for AuthorityError {
    fn from(error: rcgen::Error) -> Self {
        Self::Unmade(error.to_string())
    }
}
