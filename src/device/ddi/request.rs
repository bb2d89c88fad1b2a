//! What a request says about itself.

use std::net::IpAddr;

use hyper::header::{self, HeaderMap, HeaderName};
use hyper::{Method, http::request::Parts};

use super::Names;
use crate::model::Client;

/// The head of a request, as far as DDI looks at it.
#[derive(Debug, Clone, Copy)]
pub struct Head<'a> {
    /// The method.
    pub method: &'a Method,
    /// The path, still percent-encoded, without the query.
    pub path: &'a str,
    /// All headers.
    pub headers: &'a HeaderMap,
    /// The address the device reached, for links when it names none itself.
    pub local: &'a str,
    /// The address it comes from.
    pub peer: Option<IpAddr>,
    /// It came over TLS.
    pub secure: bool,
    /// Whom the device's certificate names, if it showed one.
    pub certificate: Option<&'a Names>,
}

impl<'a> Head<'a> {
    /// The head of a request that arrived at `local` (`host:port`) from `peer`.
    pub fn new(parts: &'a Parts, local: &'a str, peer: Option<IpAddr>) -> Self {
        let Parts { method, uri, headers, .. } = parts;
        Self { method, path: uri.path(), headers, local, peer, secure: false, certificate: None }
    }

    /// The same over TLS, from a device whose certificate names it so, if it showed one.
    #[must_use]
    pub fn over_tls(self, certificate: Option<&'a Names>) -> Self {
        Self { secure: true, certificate, ..self }
    }

    /// A header's value, if it is there exactly once and readable.
    pub(super) fn header(&self, name: HeaderName) -> Option<&'a str> {
        let mut values = self.headers.get_all(name).iter();
        match (values.next(), values.next()) {
            (Some(value), None) => value.to_str().ok(),
            _ => None,
        }
    }

    /// The host that the device used, with its port. Anything that is not plainly one is not echoed into links.
    pub(super) fn host(&self) -> &'a str {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._:[]".contains(&b);
        match self.header(header::HOST) {
            Some(host) if !host.is_empty() && host.len() <= 255 && host.bytes().all(plain) => host,
            _ => self.local,
        }
    }

    /// Would the device read JSON? Without `Accept` it would.
    pub(super) fn accepts_json(&self) -> bool {
        let mut accepts = self.headers.get_all(header::ACCEPT).iter().peekable();
        accepts.peek().is_none()
            || accepts.any(|value| {
                let value = value.to_str().unwrap_or_default().to_ascii_lowercase();
                value.contains("json") || value.contains("*/*") || value.contains("application/*")
            })
    }

    /// Is the body JSON? Without `Content-Type` it is taken for it.
    pub(super) fn sends_json(&self) -> bool {
        self.headers
            .get(header::CONTENT_TYPE)
            .is_none_or(|value| value.to_str().unwrap_or_default().to_ascii_lowercase().contains("json"))
    }

    /// The update client, if its name gives it away. Zephyr sends no name at all.
    pub(super) fn client(&self) -> Option<Client> {
        let agent = self.headers.get(header::USER_AGENT)?.to_str().ok()?;
        if agent.starts_with("rauc-hawkbit-c-agent/") {
            Some(Client::Rauc)
        } else if agent.starts_with("libcurl-agent/") || agent.starts_with("SWUpdate/") {
            // SWUpdate 2022.12 sends libcurl's example name.
            Some(Client::SwUpdate)
        } else {
            None
        }
    }
}
