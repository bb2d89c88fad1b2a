//! The hawkBit Direct Device Integration API, as far as Lamplighter speaks it: requests in, answers out.
//!
//! Pure: no socket, no clock, no file. What the heart must decide or know leaves as events; plain polls never do.
//! Rules are numbered as in the device contract, docs/reference/ddi.md (`b.0` is ours, where it differs from hawkBit, and
//! wins).

mod access;
mod answer;
mod artifact;
mod attributes;
mod certificate;
mod deployment;
mod feedback;
mod links;
mod pending;
mod poll;
mod proof;
mod range;
mod request;
mod response;
mod route;
mod stranger;

use std::time::Duration;

pub use access::{Admitted, admit};
pub use answer::{Answer, Reply, answer};
pub use artifact::Download;
pub use certificate::Names;
pub use pending::Pending;
pub use proof::Tokens;
pub use request::Head;
pub use response::{Response, too_busy, too_large};
pub use stranger::{about, knocks};

/// The largest body a device may send. SWUpdate posts some kB of log lines at once.
pub const LARGEST_BODY: usize = 64 * 1024;

/// What the site file says about the device API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The tenants that exist; links echo the one a device used.
    pub tenants: Vec<String>,
    /// What gateways are told, each with its own tenth more or less.
    pub poll_interval: Duration,
    /// What links start with, without a slash at the end; default: the scheme and address the device used.
    pub url: Option<String>,
    /// What gateways without a token of their own sign in with; may be replaced while the server runs.
    pub tokens: Tokens,
}
