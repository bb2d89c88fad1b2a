//! Passwords, from files that the site file names per host; read when they are needed, so that they can be renewed.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::HeaderValue;

use super::error::{CredentialError, RemoteError};
use crate::inside::open_inside;
use crate::model::Origin;

/// A password or token is short.
const LONGEST: u64 = 16 << 10;

/// Files by the host they are meant for; no other ever hears of them.
#[derive(Debug, Clone, Default)]
pub(super) struct Credentials(BTreeMap<Origin, PathBuf>);

impl Credentials {
    pub fn new(files: BTreeMap<Origin, PathBuf>) -> Self {
        Self(files)
    }

    /// What to send to this host as `Authorization`, if there is anything.
    pub async fn of(&self, origin: &Origin) -> Result<Option<HeaderValue>, RemoteError> {
        let Some(file) = self.0.get(origin).cloned() else { return Ok(None) };
        let path = file.clone();
        let read = tokio::task::spawn_blocking(move || read(&path)).await;
        let header = read.unwrap_or_else(|stopped| Err(std::io::Error::other(stopped).into()));
        header.map(Some).map_err(|why| RemoteError::Credentials { origin: origin.clone(), file, why })
    }
}

fn read(file: &Path) -> Result<HeaderValue, CredentialError> {
    let dir = file.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = file.file_name().and_then(|name| name.to_str()).ok_or(CredentialError::Shape)?;
    let mut text = String::new();
    open_inside(dir, name)?.take(LONGEST).read_to_string(&mut text)?;
    header(text.trim_end_matches(['\r', '\n'])).ok_or(CredentialError::Shape)
}

fn header(line: &str) -> Option<HeaderValue> {
    let value = match line.strip_prefix("Bearer ") {
        Some(token) if !token.trim().is_empty() => line.to_owned(),
        Some(_) => return None,
        None => line.contains(':').then(|| format!("Basic {}", STANDARD.encode(line)))?,
    };
    let mut value = HeaderValue::from_str(&value).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_user_with_a_password_or_a_token() {
        assert_eq!(header("Aladdin:open sesame").unwrap(), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        assert_eq!(header("Bearer xyz").unwrap(), "Bearer xyz");
        for bad in ["", "xyz", "Bearer ", "Bearer a\nb"] {
            assert!(header(bad).is_none(), "{bad:?}");
        }
        assert!(!format!("{:?}", header("u:secret")).contains("secret"));
    }
}
