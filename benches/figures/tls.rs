//! A certificate for a site and for nginx, and the client's end of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lamplighter::authority::KeyPair;
use rcgen::{CertificateParams, SanType};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tempfile::TempDir;
use tokio_rustls::TlsConnector;

const HOST: &str = "site.test";

/// A certificate on disk that signs itself, and whoever trusts it. The kind of key is the one that `lamplighter init` makes.
pub struct Pair {
    dir: TempDir,
    connector: TlsConnector,
}

impl Pair {
    pub fn new() -> Self {
        _ = rustls::crypto::ring::default_provider().install_default();
        let (key, mut params) = (KeyPair::generate().unwrap(), CertificateParams::default());
        params.subject_alt_names.push(SanType::DnsName(HOST.try_into().unwrap()));
        let certificate = params.self_signed(&key).unwrap().pem();
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("tls.crt"), &certificate).unwrap();
        fs::write(dir.path().join("tls.key"), key.serialize_pem()).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()).unwrap();
        let mut config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        // each handshake is a whole one, whatever the server would offer
        config.resumption = rustls::client::Resumption::disabled();
        Self { dir, connector: TlsConnector::from(Arc::new(config)) }
    }

    pub fn certificate(&self) -> PathBuf {
        self.file("tls.crt")
    }

    pub fn key(&self) -> PathBuf {
        self.file("tls.key")
    }

    fn file(&self, name: &str) -> PathBuf {
        Path::join(self.dir.path(), name)
    }

    /// What a client connects with.
    pub fn connector(&self) -> TlsConnector {
        self.connector.clone()
    }
}

/// The name in the certificate.
pub fn host() -> ServerName<'static> {
    ServerName::try_from(HOST).unwrap()
}
