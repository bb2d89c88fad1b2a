//! Where the API server is and how we sign in: from a kubeconfig, or from what a pod is given.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use secrecy::ExposeSecret;
use tokio::time::Instant;

use super::fault::{Fault, short};

/// A token file is read again after so long: it is rotated long before the old one expires.
const TOKEN_AGE: Duration = Duration::from_secs(20);

/// Where the API server is, and what we show it.
pub(super) struct Access {
    pub host: String,
    pub port: u16,
    /// None: plain HTTP.
    pub tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
    /// What stands before every path.
    pub prefix: String,
    /// The namespace of the kubeconfig's context, or of the pod.
    pub namespace: String,
    token: Token,
}

enum Token {
    None,
    Fixed(String),
    File { path: PathBuf, read: RefCell<Option<(String, Instant)>> },
}

impl Access {
    /// Reads a kubeconfig, or what a pod is given.
    pub async fn load(kubeconfig: Option<&Path>) -> Result<Self, Fault> {
        let Some(path) = kubeconfig.map(Path::to_owned) else {
            let inside = Config::incluster().map_err(|error| access("what a pod is given is not here", &error))?;
            return Self::of(&inside).map_err(Fault::Access);
        };
        let file = path.display().to_string();
        let read = tokio::task::spawn_blocking(move || Kubeconfig::read_from(path));
        let wrong = |error: &dyn std::fmt::Display| access(&file, error);
        let kubeconfig = read.await.map_err(|error| wrong(&error))?.map_err(|error| wrong(&error))?;
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(|error| wrong(&error))?;
        Self::of(&config).map_err(|why| Fault::Access(format!("{file}: {why}")))
    }

    fn of(config: &Config) -> Result<Self, String> {
        let url = &config.cluster_url;
        let host = url.host().ok_or("names no server")?.trim_matches(['[', ']']).to_owned();
        let plain = url.scheme_str() == Some("http");
        let port = url.port_u16().unwrap_or(if plain { 80 } else { 443 });
        if config.proxy_url.is_some() {
            return Err("names a proxy, which is not supported; leave it out".into());
        }
        let user = &config.auth_info;
        if user.exec.is_some() || user.auth_provider.is_some() {
            return Err(
                "signs in by another program, which is not run; use a token, a tokenFile or a certificate".into()
            );
        }
        let token = match (&user.token_file, &user.token) {
            (Some(path), _) => Token::File { path: path.into(), read: RefCell::default() },
            (None, Some(token)) => Token::Fixed(token.expose_secret().to_owned()),
            (None, None) => Token::None,
        };
        let name = config.tls_server_name.clone().unwrap_or_else(|| host.clone());
        let tls = if plain { None } else { Some((tls(config)?, server_name(name)?)) };
        let prefix = url.path().trim_end_matches('/').to_owned();
        Ok(Self { host, port, tls, prefix, namespace: config.default_namespace.clone(), token })
    }

    /// What the `Authorization` header says.
    pub async fn authorization(&self) -> Result<Option<String>, Fault> {
        match &self.token {
            Token::None => Ok(None),
            Token::Fixed(token) => Ok(Some(format!("Bearer {token}"))),
            Token::File { path, read } => {
                if let Some((header, _)) = read.borrow().as_ref().filter(|(_, at)| at.elapsed() < TOKEN_AGE) {
                    return Ok(Some(header.clone()));
                }
                let text = tokio::fs::read_to_string(path).await;
                let text = text.map_err(|error| access(&path.display().to_string(), &error))?;
                let header = format!("Bearer {}", text.trim());
                read.replace(Some((header.clone(), Instant::now())));
                Ok(Some(header))
            }
        }
    }
}

fn access(what: &str, error: &dyn std::fmt::Display) -> Fault {
    Fault::Access(format!("{what}: {}", short(&error.to_string())))
}

fn server_name(name: String) -> Result<ServerName<'static>, String> {
    ServerName::try_from(name).map_err(|error| format!("the server's name: {error}"))
}

/// Whom we trust is said, never guessed: without an authority anybody on the way could give orders.
fn tls(config: &Config) -> Result<Arc<ClientConfig>, String> {
    if config.accept_invalid_certs {
        return Err(
            "says insecure-skip-tls-verify, and then anybody could give orders; name its certificate-authority".into(),
        );
    }
    let authorities = config.root_cert.as_ref().filter(|certificates| !certificates.is_empty());
    let authorities = authorities.ok_or("names no certificate-authority of the server")?;
    let mut roots = RootCertStore::empty();
    for der in authorities {
        roots.add(CertificateDer::from(der.clone())).map_err(|error| format!("certificate-authority: {error}"))?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| error.to_string())?.with_root_certificates(roots);
    let mut tls = match identity(config)? {
        Some((chain, key)) => {
            builder.with_client_auth_cert(chain, key).map_err(|error| format!("client-certificate: {error}"))?
        }
        None => builder.with_no_client_auth(),
    };
    tls.alpn_protocols = vec![b"http/1.1".to_vec()];
    // a session kept is memory for a handshake that happens once a day
    tls.resumption = rustls::client::Resumption::disabled();
    Ok(Arc::new(tls))
}

type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn identity(config: &Config) -> Result<Option<Identity>, String> {
    let user = &config.auth_info;
    let key_data = user.client_key_data.as_ref().map(|data| data.expose_secret().to_owned());
    let chain = pem("client-certificate", user.client_certificate_data.as_deref(), user.client_certificate.as_deref())?;
    let key = pem("client-key", key_data.as_deref(), user.client_key.as_deref())?;
    let (Some(chain), Some(key)) = (chain, key) else { return Ok(None) };
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&chain).collect();
    let chain = chain.map_err(|_| "client-certificate: has no PEM certificate")?;
    let key = PrivateKeyDer::from_pem_slice(&key).map_err(|_| "client-key: has no PEM private key")?;
    Ok(Some((chain, key)))
}

/// What stands in the kubeconfig itself, or in a file that it names.
fn pem(what: &str, data: Option<&str>, file: Option<&str>) -> Result<Option<Vec<u8>>, String> {
    match (data, file) {
        (Some(data), _) => {
            let bytes = base64::engine::general_purpose::STANDARD.decode(data.trim());
            bytes.map(Some).map_err(|error| format!("{what}-data: {error}"))
        }
        (None, Some(file)) => std::fs::read(file).map(Some).map_err(|error| format!("{what} {file}: {error}")),
        (None, None) => Ok(None),
    }
}
