//! `devices.tls` of the site file: what the device server proves itself with, and whom it trusts.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

/// The files of the device server's TLS, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// The server's certificate and those between it and its authority, PEM.
    pub certificate: PathBuf,
    /// The certificate's private key, PEM.
    pub key: PathBuf,
    /// The authorities whose certificates gateways may sign in with, PEM; none: certificates are not asked for.
    pub client_ca: Option<PathBuf>,
}

/// `devices.tls` as typed.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the checked struct says what they mean")]
pub struct TypedTls {
    #[schemars(length(min = 1, max = 4096))]
    pub certificate: String,
    #[schemars(length(min = 1, max = 4096))]
    pub key: String,
    #[schemars(length(min = 1, max = 4096))]
    pub client_ca: Option<String>,
}

impl TypedTls {
    /// Relative paths start from `base`.
    pub(super) fn check(self, base: &Path) -> Tls {
        Tls {
            certificate: base.join(self.certificate),
            key: base.join(self.key),
            client_ca: self.client_ca.map(|file| base.join(file)),
        }
    }
}
