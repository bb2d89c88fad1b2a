//! `metrics` of the site file: where health and figures are served.

use std::net::{Ipv4Addr, SocketAddr};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

use crate::resources::FieldError;

/// Where they are served when nothing is said.
const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 9797);

/// `metrics` as typed.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TypedMetrics {
    /// Whoever writes `null` means none, who writes nothing means the default.
    #[serde(default, deserialize_with = "off_if_null")]
    #[schemars(length(min = 1, max = 64))]
    pub listen: Option<String>,
}

/// What stands for no address.
const OFF: &str = "off";

fn off_if_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let said: Option<String> = Option::deserialize(deserializer)?;
    Ok(Some(said.unwrap_or_else(|| OFF.to_owned())))
}

impl TypedMetrics {
    /// The address, which is not the one for gateways; none: nothing is served.
    pub(super) fn check(self, devices: SocketAddr) -> Result<Option<SocketAddr>, FieldError> {
        match self.address()? {
            Some(address) if address == devices && address.port() != 0 => {
                let why = format!("is {address}, as devices.listen is; use another port");
                Err(FieldError::new("metrics.listen", why))
            }
            address => Ok(address),
        }
    }

    fn address(self) -> Result<Option<SocketAddr>, FieldError> {
        match self.listen {
            None => Ok(Some(LISTEN)),
            Some(text) if text == OFF => Ok(None),
            Some(text) => text.parse().map(Some).map_err(|_| {
                let why = format!("{text:?} is neither an address such as 127.0.0.1:9797 nor \"off\"");
                FieldError::new("metrics.listen", why)
            }),
        }
    }
}
