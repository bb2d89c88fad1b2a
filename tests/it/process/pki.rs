//! Certificates as other people make them, and a client that speaks TLS with them.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use lamplighter::authority::KeyPair;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyUsagePurpose, SanType, date_time_ymd};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion};

use super::site::Site;
use super::wire::{ALL, Answer, PATIENCE, Request, exchange};

/// A certificate authority.
pub struct Ca {
    pub pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key, PEM.
pub struct Pair {
    pub certificate: String,
    pub key: String,
}

impl Ca {
    pub fn new(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let pem = params.self_signed(&key).unwrap().pem();
        Self { pem, issuer: Issuer::new(params, key) }
    }

    /// A certificate with what `change` puts into it.
    pub fn issue(&self, change: impl FnOnce(&mut CertificateParams)) -> Pair {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        change(&mut params);
        Pair { certificate: params.signed_by(&key, &self.issuer).unwrap().pem(), key: key.serialize_pem() }
    }

    /// One for a server on the loopback.
    pub fn server(&self) -> Pair {
        self.issue(|params| params.subject_alt_names.push(SanType::DnsName("site.test".try_into().unwrap())))
    }

    /// One whose common name is `name`.
    pub fn client(&self, name: &str) -> Pair {
        self.issue(|params| params.distinguished_name.push(DnType::CommonName, name))
    }

    /// One with a URI among its names.
    pub fn client_by_uri(&self, uri: &str) -> Pair {
        self.issue(|params| params.subject_alt_names.push(SanType::URI(uri.try_into().unwrap())))
    }

    /// One that ran out long ago.
    pub fn expired_client(&self, name: &str) -> Pair {
        self.issue(|params| {
            params.distinguished_name.push(DnType::CommonName, name);
            params.not_after = date_time_ymd(2001, 1, 1);
        })
    }
}

/// A gateway's end of TLS.
pub struct Client {
    pub config: Arc<ClientConfig>,
}

impl Client {
    /// It trusts an authority, and may have a certificate of its own.
    pub fn new(trusts: &str, own: Option<&Pair>) -> Self {
        Self::speaking(&[&rustls::version::TLS13, &rustls::version::TLS12], trusts, own)
    }

    /// The same with these versions of TLS.
    pub fn speaking(versions: &[&'static SupportedProtocolVersion], trusts: &str, own: Option<&Pair>) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(trusts.as_bytes()).unwrap()).unwrap();
        let config = ClientConfig::builder_with_protocol_versions(versions).with_root_certificates(roots);
        let config = match own {
            None => config.with_no_client_auth(),
            Some(own) => config
                .with_client_auth_cert(
                    vec![CertificateDer::from_pem_slice(own.certificate.as_bytes()).unwrap()],
                    PrivateKeyDer::from_pem_slice(own.key.as_bytes()).unwrap(),
                )
                .unwrap(),
        };
        Self { config: config.into() }
    }

    /// A connection to a site whose certificate must name `host`; the handshake is done by the first read or write.
    pub fn connect(&self, site: &Site, host: &str) -> io::Result<StreamOwned<ClientConnection, TcpStream>> {
        self.connect_to(site.address(), host)
    }

    /// The same to an address.
    pub fn connect_to(&self, address: SocketAddr, host: &str) -> io::Result<StreamOwned<ClientConnection, TcpStream>> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(PATIENCE)?;
        let name = ServerName::try_from(host.to_owned()).unwrap();
        let mut tls =
            StreamOwned::new(ClientConnection::new(self.config.clone(), name).map_err(io::Error::other)?, stream);
        while tls.conn.is_handshaking() {
            tls.conn.complete_io(&mut tls.sock)?;
        }
        Ok(tls)
    }

    /// Polls as a gateway; the whole answer.
    pub fn poll(&self, site: &Site, host: &str, id: &str, authorization: &str) -> io::Result<Answer> {
        let path = format!("/DEFAULT/controller/v1/{id}");
        let headers = [("Host", host), ("Authorization", authorization)];
        exchange(self.connect(site, host)?, &Request("GET", &path, &headers, b""), ALL)
    }

    /// The status of a poll with this proof; none if there was no handshake.
    pub fn status(&self, site: &Site, id: &str, authorization: &str) -> Option<u16> {
        self.poll(site, "site.test", id, authorization).ok().map(|answer| answer.status)
    }
}
