//! Why a source in the network did not give the artifact.

use std::error::Error as _;
use std::path::PathBuf;
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::HeaderMap;

use super::retry_after::retry_after;
use crate::inside::OpenError;
use crate::model::{Digest, Origin};

/// Lower-case fragments that go after the source's address; each says what to do. None has a count that differs from try
/// to try, as the same failure is reported once.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// No connection, no TLS, or it broke before an answer came.
    #[error("cannot be reached: {0}")]
    Unreachable(String),
    /// The server's certificate begins in the future.
    #[error(
        "has a certificate that is not valid yet by this machine's clock; it is tried again, and works once the clock is right"
    )]
    NotValidYet,
    /// The server's certificate is over.
    #[error("has a certificate that has expired by this machine's clock; renew it, or set the clock")]
    Expired,
    /// Nobody whom this machine trusts signed the certificate.
    #[error(
        "has a certificate of an authority that is not known here; name its file in uplink.caFiles of the site file"
    )]
    UnknownAuthority,
    /// Not 200 or 206.
    #[error("answered {status}{}", hint(*.status))]
    Status {
        /// What it answered.
        status: StatusCode,
        /// How long it asked to be left alone.
        wait: Option<Duration>,
    },
    /// Another length than the manifest says.
    #[error("has another length than spec.artifact.sizeBytes says ({said}){}; correct the size, or put the right file there", page(*.html))]
    Length {
        /// According to the manifest.
        said: u64,
        /// It is a page for people.
        html: bool,
    },
    /// Right length, wrong bytes.
    #[error("has digest {got}, but spec.artifact.digest says {said}{}; put the right file there, or correct the digest", page(*.html))]
    WrongDigest {
        /// Of what came.
        got: Digest,
        /// According to the manifest.
        said: Digest,
        /// It is a page for people.
        html: bool,
    },
    /// Compressed although nobody asked for it.
    #[error("is sent compressed ({0}) although that was not asked for; switch it off at the server for this file")]
    Encoded(String),
    /// The connection broke, or the body ended early.
    #[error("broke off; what came is kept, and the rest is fetched next time")]
    Cut,
    /// Less than the least speed.
    #[error("is too slow or sends nothing; what came is kept, and the rest is fetched next time")]
    Slow,
    /// Each answer was about another file.
    #[error("changes while it is fetched; it is tried again")]
    Changes,
    /// Where it leads cannot be followed.
    #[error("redirects {0}")]
    Redirect(&'static str),
    /// The file with its password.
    #[error("needs the password for {origin}, and {file} {why}")]
    Credentials {
        /// For whom.
        origin: Origin,
        /// Where it should be.
        file: PathBuf,
        /// What is wrong with it.
        why: CredentialError,
    },
    /// What the registry says makes no sense.
    #[error("{0}")]
    Registry(String),
    /// The client cannot be made.
    #[error("cannot be asked: {0}")]
    Client(String),
}

/// What is wrong with a file with a password.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// It does not open.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// It does not read.
    #[error("cannot be read: {0}")]
    Read(#[from] std::io::Error),
    /// It is something else.
    #[error("has no line `USER:PASSWORD` or `Bearer TOKEN`")]
    Shape,
}

impl RemoteError {
    /// Of an answer that is none of those that were hoped for.
    pub(super) fn status(status: StatusCode, headers: &HeaderMap) -> Self {
        Self::Status { status, wait: retry_after(status, headers) }
    }

    /// How long the server asked to be left alone.
    pub(in crate::artifact) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { wait, .. } => *wait,
            _ => None,
        }
    }

    /// Might the very next moment bring the rest?
    pub(super) fn is_cut(&self) -> bool {
        matches!(self, Self::Cut | Self::Slow | Self::Unreachable(_))
    }

    /// Asking again soon would bring the same wrong bytes over the uplink.
    pub fn is_costly(&self) -> bool {
        matches!(self, Self::WrongDigest { .. })
    }
}

/// An error of the client, in words for people.
impl From<reqwest::Error> for RemoteError {
    fn from(error: reqwest::Error) -> Self {
        use rustls::CertificateError as Bad;
        let error = error.without_url();
        let mut innermost: &dyn std::error::Error = &error;
        loop {
            if let Some(rustls::Error::InvalidCertificate(bad)) = tls(innermost) {
                match bad {
                    Bad::NotValidYet | Bad::NotValidYetContext { .. } => return Self::NotValidYet,
                    Bad::Expired | Bad::ExpiredContext { .. } => return Self::Expired,
                    Bad::UnknownIssuer => return Self::UnknownAuthority,
                    _ => {}
                }
            }
            match innermost.source() {
                Some(source) => innermost = source,
                None => break,
            }
        }
        match error.source() {
            _ if error.is_timeout() => Self::Unreachable("it took too long".into()),
            // the outermost says only that a request failed
            Some(_) => Self::Unreachable(innermost.to_string()),
            None => Self::Unreachable(error.to_string()),
        }
    }
}

/// The TLS library's own error; inside an `io::Error`, or several, it is no `source`.
fn tls<'e>(error: &'e (dyn std::error::Error + 'static)) -> Option<&'e rustls::Error> {
    match error.downcast_ref::<std::io::Error>() {
        Some(io) => tls(io.get_ref()?),
        None => error.downcast_ref(),
    }
}

fn hint(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            "; name a file with the password for this host in uplink.credentials of the site file"
        }
        StatusCode::NOT_FOUND | StatusCode::GONE => "; put the file there, or correct the source",
        StatusCode::PROXY_AUTHENTICATION_REQUIRED => {
            "; the proxy wants a password: HTTPS_PROXY=http://USER:PASSWORD@HOST"
        }
        _ => "; it is tried again",
    }
}

fn page(html: bool) -> &'static str {
    if html { ": it is a web page, such as the login page of a network (a captive portal)" } else { "" }
}
