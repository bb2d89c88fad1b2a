//! What a simulated gateway trusts when the site serves TLS: the authority that was made with the site.

use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// An authority, and how gateways speak TLS. Each handshake is a full one, as the smallest clients do it.
#[derive(Clone)]
pub struct Trust(Arc<ClientConfig>);

impl Trust {
    /// The authority in a PEM file.
    pub fn of(file: &Path) -> anyhow::Result<Self> {
        let mut roots = RootCertStore::empty();
        let authority =
            CertificateDer::from_pem_file(file).with_context(|| format!("cannot read {}", file.display()))?;
        roots.add(authority)?;
        let mut config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        config.resumption = rustls::client::Resumption::disabled();
        Ok(Self(Arc::new(config)))
    }

    /// Shakes hands with the server at an address, which its certificate must name.
    pub async fn connect(&self, to: IpAddr, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        TlsConnector::from(self.0.clone()).connect(ServerName::IpAddress(to.into()), stream).await
    }
}

impl std::fmt::Debug for Trust {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Trust(…)")
    }
}
