//! Whom a client certificate names.

use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

/// The names in a certificate whose chain the TLS handshake has already checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names(Vec<String>);

impl Names {
    /// The common name and the URIs among the alternative names; none if the certificate cannot be read.
    pub fn of(certificate: &[u8]) -> Self {
        Certificate::from_der(certificate).map(|certificate| Self(names(&certificate))).unwrap_or_default()
    }

    /// Is this controller id one of them? Character by character: no pattern, no case.
    pub fn include(&self, id: &str) -> bool {
        self.0.iter().any(|name| name == id)
    }
}

fn names(certificate: &Certificate) -> Vec<String> {
    let certificate = certificate.tbs_certificate();
    let common = certificate.subject().common_name().ok().flatten();
    let alternative = certificate.get_extension::<SubjectAltName>().ok().flatten();
    let uris = alternative.into_iter().flat_map(|(_, names)| names.0).filter_map(|name| match name {
        GeneralName::UniformResourceIdentifier(uri) => Some(uri.as_str().to_owned()),
        _ => None,
    });
    common.map(|name| name.value().into_owned()).into_iter().chain(uris).collect()
}
