//! `devices.connections` and `devices.downloads` of the site file: how much the device server takes on at once.

use std::net::SocketAddr;
use std::num::NonZeroU64;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::resources::{FieldError, IntOrBytes, parse_bytes};

/// How much the device server takes on at once, checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Connections open at once.
    pub connections: usize,
    /// And of these from one address.
    pub per_address: usize,
    /// The most gateways that download at once.
    pub downloads: u32,
    /// What all downloads together may use; none: no limit.
    pub bytes_per_second: Option<NonZeroU64>,
}

impl Load {
    /// Connections when nothing is said: 500 gateways that poll once a minute need one or two.
    pub const CONNECTIONS: u32 = 48;
    /// Fewer would leave none for polls beside the bodies.
    pub const LEAST_CONNECTIONS: u32 = 40;
    /// Each costs some kB while it is open.
    pub const MOST_CONNECTIONS: u32 = 1_024;
    /// Connections from one address when nothing is said.
    pub const PER_ADDRESS: u32 = 4;
    /// Downloads at once when nothing is said.
    pub const DOWNLOADS: u32 = 24;
    /// A kibibyte for each body that may be on its way: under that, clients take a download for a dead one.
    pub const LEAST_BYTES_PER_SECOND: u64 = 32 << 10;
}

/// `devices.connections` as typed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the checked struct says what they mean")]
pub struct TypedConnections {
    #[schemars(range(min = 40, max = 1024))]
    pub total: Option<u32>,
    #[schemars(range(min = 1, max = 1024))]
    pub per_address: Option<u32>,
}

/// `devices.downloads` as typed.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the checked struct says what they mean")]
pub struct TypedDownloads {
    #[schemars(range(min = 1, max = 32))]
    pub concurrent: Option<u32>,
    pub bytes_per_second: Option<IntOrBytes>,
}

/// Fills in what is not said.
pub(super) fn check(
    connections: Option<TypedConnections>,
    downloads: Option<TypedDownloads>,
    listen: SocketAddr,
) -> Result<Load, FieldError> {
    let (connections, downloads) = (connections.unwrap_or_default(), downloads.unwrap_or_default());
    let total = connections.total.unwrap_or(Load::CONNECTIONS);
    // on the loopback there is a proxy or a simulation, and one address for all
    let usual = if listen.ip().is_loopback() { total } else { Load::PER_ADDRESS.min(total) };
    let per_address = connections.per_address.unwrap_or(usual);
    if per_address > total {
        let why = format!("is {per_address}, more than the {total} connections of all addresses; use at most {total}");
        return Err(FieldError::new("devices.connections.perAddress", why));
    }
    let count = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    Ok(Load {
        connections: count(total),
        per_address: count(per_address),
        downloads: downloads.concurrent.unwrap_or(Load::DOWNLOADS),
        bytes_per_second: downloads.bytes_per_second.map(|typed| rate(&typed)).transpose()?,
    })
}

fn rate(typed: &IntOrBytes) -> Result<NonZeroU64, FieldError> {
    let field = "devices.downloads.bytesPerSecond";
    let rate = parse_bytes(&typed.0).map_err(|error| FieldError::new(field, error.0))?;
    NonZeroU64::new(rate).filter(|rate| rate.get() >= Load::LEAST_BYTES_PER_SECOND).ok_or_else(|| {
        let why =
            format!("is {}; use at least 32Ki, 1Ki for each of 32 downloads, or leave it out for no limit", typed.0);
        FieldError::new(field, why)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_share_where_gateways_have_addresses_of_their_own() {
        let per_address = |listen: &str, total| {
            let typed = TypedConnections { total, per_address: None };
            check(Some(typed), None, listen.parse().unwrap()).unwrap().per_address
        };
        assert_eq!(per_address("0.0.0.0:8443", None), 4);
        assert_eq!(per_address("10.0.0.1:8443", Some(200)), 4);
        assert_eq!(per_address("127.0.0.1:8080", Some(200)), 200);
        assert_eq!(per_address("[::1]:8080", None), 48);
    }
}
