//! Making an authority, and server certificates from it.

use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyUsagePurpose, PublicKeyData,
};
use time::OffsetDateTime;

pub use rcgen::KeyPair;

use super::{AUTHORITY_LIFE, AuthorityError, Facts, LIFE};

/// An authority with its key.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    begin: u64,
    end: u64,
}

impl Authority {
    /// A new one for a site: itself, and the PEM texts of its certificate and its key. `now` in Unix seconds.
    pub fn make(site: &str, now: u64) -> Result<(Self, String, String), AuthorityError> {
        let key = KeyPair::generate()?;
        let (begin, end) = (now, now.saturating_add(AUTHORITY_LIFE.as_secs()));
        let mut params = params(&format!("Lamplighter site {site}"), begin, end)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let certificate = params.self_signed(&key)?.pem();
        let key_pem = key.serialize_pem();
        Ok((Self { issuer: Issuer::new(params, key), begin, end }, certificate, key_pem))
    }

    /// The one that was made before, from its PEM texts.
    pub fn read(certificate: &Facts, key: &str) -> Result<Self, AuthorityError> {
        let key = key_pair(key)?;
        if key.der_bytes() != certificate.public_key {
            return Err(AuthorityError::Mismatch);
        }
        let params = params(&certificate.subject, certificate.begin, certificate.end)?;
        Ok(Self { issuer: Issuer::new(params, key), begin: certificate.begin, end: certificate.end })
    }

    /// Issues a server certificate for hosts and a key; the PEM text. It is valid from the authority's first day on, so that
    /// a gateway whose clock is behind takes it, and until [`LIFE`] from now.
    pub fn issue(&self, hosts: &[String], key: &KeyPair, now: u64) -> Result<String, AuthorityError> {
        self.issue_for(hosts, key, now, LIFE)
    }

    /// The same for another life.
    pub fn issue_for(
        &self,
        hosts: &[String],
        key: &KeyPair,
        now: u64,
        life: Duration,
    ) -> Result<String, AuthorityError> {
        let first = hosts.first().map_or("Lamplighter", String::as_str);
        let end = now.saturating_add(life.as_secs()).min(self.end);
        let mut params = params(first, self.begin, end)?;
        for host in hosts {
            let named = CertificateParams::new([host.clone()]).map_err(|_| AuthorityError::Host(host.clone()))?;
            params.subject_alt_names.extend(named.subject_alt_names);
        }
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        Ok(params.signed_by(key, &self.issuer)?.pem())
    }
}

/// A key from its PEM text.
pub(super) fn key_pair(pem: &str) -> Result<KeyPair, AuthorityError> {
    KeyPair::from_pem(pem).map_err(|_| AuthorityError::Unreadable("is no PEM private key in PKCS #8"))
}

fn params(subject: &str, begin: u64, end: u64) -> Result<CertificateParams, AuthorityError> {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, subject);
    (params.not_before, params.not_after) = (date(begin)?, date(end)?);
    Ok(params)
}

fn date(seconds: u64) -> Result<OffsetDateTime, AuthorityError> {
    let date = i64::try_from(seconds).ok().and_then(|seconds| OffsetDateTime::from_unix_timestamp(seconds).ok());
    date.ok_or(AuthorityError::Unreadable("has a date that is none; set the clock"))
}
