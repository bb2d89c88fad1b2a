//! What a certificate says.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use x509_cert::Certificate;
use x509_cert::der::{Decode, Encode};
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::pkix::{AuthorityKeyIdentifier, SubjectAltName, SubjectKeyIdentifier};

use super::AuthorityError;

/// A certificate, as far as issuing and renewing need to know it. Times are Unix seconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// Its common name.
    pub subject: String,
    /// Valid from.
    pub begin: u64,
    /// Valid until.
    pub end: u64,
    /// The hosts it is for: DNS names and addresses.
    pub hosts: Vec<String>,
    /// The bits of its public key.
    pub public_key: Vec<u8>,
    names: (Vec<u8>, Vec<u8>),
    keys: (Option<Vec<u8>>, Option<Vec<u8>>),
}

impl Facts {
    /// Of the first certificate in a PEM text.
    pub fn read(pem: &[u8]) -> Result<Self, AuthorityError> {
        let unreadable = AuthorityError::Unreadable("is no PEM certificate");
        let der = CertificateDer::from_pem_slice(pem).map_err(|_| unreadable.clone())?;
        let certificate = Certificate::from_der(&der).map_err(|_| unreadable.clone())?;
        let body = certificate.tbs_certificate();
        let alternative = body.get_extension::<SubjectAltName>().ok().flatten();
        let issuer_key = body.get_extension::<AuthorityKeyIdentifier>().ok().flatten();
        let key = body.get_extension::<SubjectKeyIdentifier>().ok().flatten();
        let common = body.subject().common_name().ok().flatten();
        let name = |name: &x509_cert::name::Name| name.to_der().map_err(|_| unreadable.clone());
        Ok(Self {
            subject: common.map(|name| name.value().into_owned()).unwrap_or_default(),
            begin: body.validity().not_before.to_unix_duration().as_secs(),
            end: body.validity().not_after.to_unix_duration().as_secs(),
            hosts: alternative.into_iter().flat_map(|(_, names)| names.0).filter_map(|name| host(&name)).collect(),
            public_key: body.subject_public_key_info().subject_public_key.raw_bytes().to_owned(),
            names: (name(body.subject())?, name(body.issuer())?),
            keys: (
                key.map(|(_, id)| id.0.as_bytes().to_owned()),
                issuer_key.and_then(|(_, id)| id.key_identifier).map(|id| id.as_bytes().to_owned()),
            ),
        })
    }

    /// Was it issued by the authority that has this certificate?
    pub fn is_from(&self, authority: &Self) -> bool {
        self.names.1 == authority.names.0 && self.keys.1.is_some() && self.keys.1 == authority.keys.0
    }
}

fn host(name: &GeneralName) -> Option<String> {
    match name {
        GeneralName::DnsName(name) => Some(name.as_str().to_owned()),
        GeneralName::IpAddress(bytes) => {
            let v4 = <[u8; 4]>::try_from(bytes.as_bytes()).map(|bytes| IpAddr::V4(Ipv4Addr::from(bytes)));
            let v6 = <[u8; 16]>::try_from(bytes.as_bytes()).map(|bytes| IpAddr::V6(Ipv6Addr::from(bytes)));
            v4.or(v6).ok().map(|address| address.to_string())
        }
        _ => None,
    }
}
