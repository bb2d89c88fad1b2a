//! A server with TLS. Its certificates and key, beside this file, are for tests only: anybody has them.

use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// The authority that signed both, for 127.0.0.1, localhost and files.example.
pub const AUTHORITY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/fetch/tls/ca.pem");
/// Valid from 2020 on.
pub const VALID: &str = "server.pem";
/// Valid from 2090 on.
pub const FUTURE: &str = "future.pem";

/// Accepts with one of them.
pub fn acceptor(certificate: &str) -> TlsAcceptor {
    let dir = Path::new(AUTHORITY).parent().unwrap();
    let chain = vec![CertificateDer::from_pem_file(dir.join(certificate)).unwrap()];
    let key = PrivateKeyDer::from_pem_file(dir.join("server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    TlsAcceptor::from(Arc::new(config.with_no_client_auth().with_single_cert(chain, key).unwrap()))
}
