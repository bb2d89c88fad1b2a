//! Reading the files, and making of them what the device server needs.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::config::{Devices, Tls as TlsFiles, Tokens as TokenFiles};
use crate::device::{Tls, TlsError, ddi};
use crate::model::{SiteSecret, TokenHash, secret_line};

/// A file with certificates is a few hundred kilobytes at most.
const MOST_BYTES: u64 = 1 << 20;

/// Which files there are.
#[derive(Debug, Clone)]
pub(in crate::site) struct Files {
    pub tls: Option<TlsFiles>,
    pub tokens: TokenFiles,
}

/// What is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {file} {why}", file = .file.display())]
pub struct FileError {
    /// The field of the site file that names it.
    pub field: &'static str,
    /// The file.
    pub file: PathBuf,
    /// What is wrong and what to do: goes after its name.
    pub why: String,
}

/// What was read.
pub(in crate::site) struct Loaded {
    pub tls: Result<Option<Tls>, FileError>,
    pub secret: Result<Option<SiteSecret>, FileError>,
    pub gateway: Result<Option<TokenHash>, FileError>,
    /// Changes when any of the files does.
    pub print: [u8; 32],
}

impl Files {
    pub(in crate::site) fn of(devices: &Devices) -> Self {
        Self { tls: devices.tls.clone(), tokens: devices.tokens.clone() }
    }

    /// All of them.
    pub(super) fn all(&self) -> impl Iterator<Item = &Path> {
        let tls = self.tls.iter().flat_map(|tls| [Some(&tls.certificate), Some(&tls.key), tls.client_ca.as_ref()]);
        let tokens = [self.tokens.site_secret.as_ref(), self.tokens.gateway_token.as_ref()];
        tls.chain(tokens).flatten().map(PathBuf::as_path)
    }

    /// Reads them all. Blocks.
    pub(in crate::site) fn load(&self) -> Loaded {
        let mut print = Sha256::new();
        let mut read = |field, file: &Path| {
            let bytes = bounded(file).map_err(|why| FileError { field, file: file.to_owned(), why });
            print.update(bytes.as_deref().map_or([0; 32], |bytes| Sha256::digest(bytes).into()));
            bytes
        };
        let tls = self.tls.as_ref().map(|files| {
            let certificate = read(CERTIFICATE, &files.certificate);
            let key = read(KEY, &files.key);
            let client_ca = files.client_ca.as_ref().map(|file| read(CLIENT_CA, file)).transpose();
            made(files, &certificate?, &key?, client_ca?.as_deref())
        });
        let TokenFiles { site_secret, gateway_token } = &self.tokens;
        let mut line = |field, file: &Option<PathBuf>| {
            let Some(file) = file else { return Ok(None) };
            read(field, file).map(|bytes| Some((field, file.clone(), String::from_utf8_lossy(&bytes).into_owned())))
        };
        let secret = line("devices.tokens.siteSecretFile", site_secret);
        let gateway = line("devices.tokens.gatewayTokenFile", gateway_token);
        Loaded {
            tls: tls.transpose(),
            secret: secret.and_then(|line| used(line, SiteSecret::new)),
            gateway: gateway.and_then(|line| used(line, |text| secret_line(text).map(TokenHash::of))),
            print: print.finalize().into(),
        }
    }
}

impl Loaded {
    /// At start all of it must be right.
    pub(in crate::site) fn whole(self) -> Result<(Option<Tls>, ddi::Tokens), FileError> {
        Ok((self.tls?, ddi::Tokens { secret: self.secret?, gateway: self.gateway? }))
    }
}

const CERTIFICATE: &str = "devices.tls.certificate";
const KEY: &str = "devices.tls.key";
const CLIENT_CA: &str = "devices.tls.clientCa";

fn made(files: &TlsFiles, certificate: &[u8], key: &[u8], client_ca: Option<&[u8]>) -> Result<Tls, FileError> {
    Tls::new(certificate, key, client_ca).map_err(|error| {
        let (field, file) = match &error {
            TlsError::Certificate(_) => (CERTIFICATE, &files.certificate),
            TlsError::Key(_) => (KEY, &files.key),
            TlsError::ClientCa(_) => (CLIENT_CA, files.client_ca.as_ref().unwrap_or(&files.certificate)),
        };
        FileError { field, file: file.clone(), why: error.to_string() }
    })
}

type Line = Option<(&'static str, PathBuf, String)>;

fn used<T>(line: Line, make: impl FnOnce(&str) -> Result<T, crate::model::Invalid>) -> Result<Option<T>, FileError> {
    let Some((field, file, text)) = line else { return Ok(None) };
    make(&text).map(Some).map_err(|error| FileError { field, file, why: error.0 })
}

fn bounded(file: &Path) -> Result<Vec<u8>, String> {
    let cannot = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            "does not exist; put it there, or let `lamplighter init` make what a site needs".into()
        }
        std::io::ErrorKind::PermissionDenied => {
            "may not be read by the user that Lamplighter runs as; give it to that user".into()
        }
        _ => format!("cannot be read: {error}"),
    };
    let metadata = fs::metadata(file).map_err(cannot)?;
    if !metadata.is_file() {
        return Err("is not a plain file; name the file itself".into());
    }
    let mut bytes = Vec::new();
    fs::File::open(file).map_err(cannot)?.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(format!("has more than {MOST_BYTES} bytes; is it the right file?"));
    }
    Ok(bytes)
}
