//! The HTTP client: made for a fetch and dropped after it, so that a site without network sources never pays for it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::{Certificate, Client, redirect};

use super::error::RemoteError;
use crate::names::Resolver;

/// Name, connection and TLS handshake together.
const CONNECT: Duration = Duration::from_secs(30);
/// A file with authorities is a few hundred kilobytes at most.
const CA_BYTES: u64 = 4 << 20;

/// Makes the client. Reads files: blocks.
///
/// Proxies come from the environment (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`). Redirects are ours to follow.
pub(super) fn client(ca_files: &[PathBuf], resolver: &Resolver) -> Result<Client, RemoteError> {
    // Without a provider the client panics. The process installs it first thing; whoever uses the library may not.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let own = ca_files.iter().map(|file| authorities(file)).collect::<Result<Vec<_>, _>>()?.concat();
    let builder = || {
        Client::builder()
            .user_agent(concat!("lamplighter/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .referer(false)
            .http1_only()
            .connect_timeout(CONNECT)
            .pool_max_idle_per_host(1)
            .dns_resolver(resolver.clone())
    };
    // Edge images often come without any authorities. That must not stop plain HTTP.
    builder().tls_certs_merge(own.clone()).build().or_else(|error| {
        tracing::warn!(%error, "no certificate authorities are installed; only those of uplink.caFiles count");
        builder().tls_certs_only(own).build().map_err(|error| RemoteError::Client(error.to_string()))
    })
}

fn authorities(file: &Path) -> Result<Vec<Certificate>, RemoteError> {
    let bad = |why: &str| RemoteError::Client(format!("{} of uplink.caFiles {why}", file.display()));
    let read = || -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut std::io::Read::take(std::fs::File::open(file)?, CA_BYTES), &mut bytes)?;
        Ok(bytes)
    };
    let pem = read().map_err(|error| bad(&format!("cannot be read: {error}")))?;
    let certificates = Certificate::from_pem_bundle(&pem).map_err(|_| bad("is not a file of PEM certificates"))?;
    if certificates.is_empty() { Err(bad("has no PEM certificate")) } else { Ok(certificates) }
}
