//! TLS before a device's first request: the handshake, its deadline, and what it needs of memory.

use std::fmt;
use std::io;
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{InconsistentKeys, RootCertStore, ServerConfig};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::device::ddi::Names;

use super::caps::{Caps, RECORD, TLS_BUFFER};
use super::socket::Socket;

/// What the server proves itself with, and whom it trusts. Cheap to clone.
#[derive(Clone)]
pub struct Tls {
    config: Arc<ServerConfig>,
    /// Judges certificates of devices; none: they are not asked for.
    verifier: Option<Arc<dyn ClientCertVerifier>>,
}

/// The certificates that a device showed: its own, and those between it and its authority.
#[derive(Debug)]
pub(super) struct Shown(Box<[CertificateDer<'static>]>);

/// Why files do not make a TLS server: which of them, and a fragment that goes after its name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TlsError {
    /// The certificate.
    #[error("{0}")]
    Certificate(String),
    /// The key.
    #[error("{0}")]
    Key(String),
    /// The authorities of client certificates.
    #[error("{0}")]
    ClientCa(String),
}

impl Tls {
    /// From PEM texts: the certificate and its chain, its key, and the authorities of client certificates if there are any.
    pub fn new(certificate: &[u8], key: &[u8], client_ca: Option<&[u8]>) -> Result<Self, TlsError> {
        let chain = certificates(certificate).map_err(TlsError::Certificate)?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| {
            TlsError::Key("has no PEM private key; name the file that begins with -----BEGIN PRIVATE KEY-----".into())
        })?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
        let builder = builder.map_err(in_words)?;
        let verifier = client_ca.map(|file| verifier(file, provider)).transpose().map_err(TlsError::ClientCa)?;
        let builder = match verifier.clone() {
            Some(verifier) => builder.with_client_cert_verifier(verifier),
            None => builder.with_no_client_auth(),
        };
        let mut config = builder.with_single_cert(chain, key).map_err(in_words)?;
        config.max_fragment_size = Some(RECORD);
        // A handshake costs less than what 500 sessions would keep in memory, and a session would outlive a change of
        // the authorities.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(Self { config: Arc::new(config), verifier })
    }

    /// Shakes hands, in time.
    pub(super) async fn accept(self, stream: TcpStream, caps: &Caps) -> io::Result<(Socket, Option<Shown>)> {
        let shaking = TlsAcceptor::from(self.config).accept_with(stream, |tls| tls.set_buffer_limit(Some(TLS_BUFFER)));
        let stream = timeout(caps.handshake, shaking).await.map_err(|_| io::ErrorKind::TimedOut)??;
        let shown = stream.get_ref().1.peer_certificates().map(|shown| Shown(shown.into()));
        Ok((Socket::Tls(Box::new(stream)), shown))
    }

    /// Does it trust these certificates, as it would in a handshake now?
    pub(super) fn trusts(&self, Shown(shown): &Shown) -> bool {
        let (Some(verifier), Some((own, between))) = (&self.verifier, shown.split_first()) else { return false };
        verifier.verify_client_cert(own, between, UnixTime::now()).is_ok()
    }
}

impl Shown {
    /// Whom they name.
    pub(super) fn names(&self) -> Names {
        self.0.first().map(|own| Names::of(own)).unwrap_or_default()
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls(…)")
    }
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match read {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err("has no PEM certificate; name the file that begins with -----BEGIN CERTIFICATE-----".into()),
    }
}

/// Certificates are asked for, not demanded: gateways with tokens have none. Whoever has neither gets 401.
fn verifier(authorities: &[u8], provider: Arc<CryptoProvider>) -> Result<Arc<dyn ClientCertVerifier>, String> {
    let mut roots = RootCertStore::empty();
    for authority in certificates(authorities)? {
        roots.add(authority).map_err(|error| format!("has a certificate that is no authority's: {error}"))?;
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).allow_unauthenticated();
    verifier.build().map_err(|error| error.to_string())
}

fn in_words(error: rustls::Error) -> TlsError {
    match error {
        rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
            TlsError::Key("does not belong to the certificate; name the key that the certificate was made for".into())
        }
        rustls::Error::InvalidCertificate(error) => {
            TlsError::Certificate(format!("cannot be used: {error:?}; make it again"))
        }
        error => TlsError::Key(format!("cannot be used: {error}; use an ECDSA P-256, RSA or Ed25519 key in PKCS #8")),
    }
}
