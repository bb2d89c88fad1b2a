//! Addresses of web servers, and whom they ask.

use std::fmt;
use std::str::FromStr;

use url::{Host, Url};

use super::{Invalid, serde_as_text};

/// A checked `https:` or `http:` address: with a host, without a password and without a fragment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HttpUrl(Url);

impl HttpUrl {
    /// The longest, in bytes.
    pub const LONGEST: usize = 2048;

    /// For the HTTP client.
    pub fn as_url(&self) -> &Url {
        &self.0
    }

    /// Whom it asks.
    pub fn origin(&self) -> Origin {
        Origin::of(&self.0)
    }

    /// For people: without what stands behind the question mark.
    pub fn shown(&self) -> String {
        without_secrets(&self.0)
    }

    pub(super) fn file_name(&self) -> Option<&str> {
        let name = self.0.path_segments()?.next_back()?;
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"._+-~".contains(&b);
        let fits = !name.is_empty() && !name.starts_with('.') && name.len() <= 255 && name.bytes().all(plain);
        fits.then_some(name)
    }
}

impl FromStr for HttpUrl {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let invalid = |why: &str| Invalid::new(format!("{:?} {why}", shortened(text)));
        if text.len() > Self::LONGEST {
            return Err(invalid("is longer than 2048 characters"));
        }
        // The parser would quietly leave out or rewrite some of them, and then it would not be what was typed.
        if !text.bytes().all(|b| b.is_ascii_graphic() && b != b'\\') {
            return Err(invalid("has a space, a backslash or a character beyond ASCII; write it as %XX"));
        }
        let url = Url::parse(text).map_err(|error| {
            invalid(&format!("is no valid address ({error}); write https://HOST/PATH or http://HOST/PATH"))
        })?;
        Self::try_from(url)
    }
}

impl TryFrom<Url> for HttpUrl {
    type Error = Invalid;

    fn try_from(url: Url) -> Result<Self, Invalid> {
        let invalid = |why: &str| Invalid::new(format!("{:?} {why}", without_secrets(&url)));
        if !matches!(url.scheme(), "https" | "http") || url.host_str().is_none_or(str::is_empty) {
            return Err(invalid("is no https: or http: address with a host"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            let why = "has a user or password, which a manifest would show to everybody; put them into a file that \
                       uplink.credentials of the site file names";
            return Err(invalid(why));
        }
        if url.fragment().is_some() {
            return Err(invalid("has a '#', which no server ever sees; leave it out or write %23"));
        }
        Ok(Self(url))
    }
}

impl fmt::Display for HttpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

serde_as_text!(HttpUrl);

/// An address for people: what a signed one carries behind the question mark is as good as a password.
fn without_secrets(url: &Url) -> String {
    let mut url = url.clone();
    let _ = url.set_username("").and_then(|()| url.set_password(None));
    if url.query().is_some() {
        url.set_query(Some("…"));
    }
    shortened(url.as_str()).replace("%E2%80%A6", "…")
}

pub(super) fn shortened(text: &str) -> String {
    text.chars().take(200).collect()
}

/// Scheme, host and port: whom a request asks, and for whom a password is meant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    https: bool,
    host: Host,
    port: u16,
}

impl Origin {
    fn of(url: &Url) -> Self {
        Self {
            https: url.scheme() == "https",
            // an http: or https: address has a host, which `HttpUrl` checked
            host: url.host().map_or_else(|| Host::Domain(String::new()), |host| host.to_owned()),
            port: url.port_or_known_default().unwrap_or_default(),
        }
    }

    /// Is it this machine itself, by its usual name or address?
    pub(super) fn is_loopback(&self) -> bool {
        match &self.host {
            Host::Domain(name) => name == "localhost",
            Host::Ipv4(address) => address.is_loopback(),
            Host::Ipv6(address) => address.is_loopback(),
        }
    }

    /// Is it reached by TLS?
    pub fn is_https(&self) -> bool {
        self.https
    }
}

impl FromStr for Origin {
    type Err = Invalid;

    /// `host` or `host:port` is meant for TLS; plain HTTP has to be said: `http://host:port`.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        let full = if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
        let url: HttpUrl = full.parse()?;
        if url.0.path() != "/" || url.0.query().is_some() || text.ends_with('/') {
            let why = "is no host; write HOST or HOST:PORT, or http://HOST:PORT for a host without TLS";
            return Err(Invalid::new(format!("{:?} {why}", shortened(text))));
        }
        Ok(url.origin())
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, usual) = if self.https { ("", 443) } else { ("http://", 80) };
        write!(f, "{scheme}{}", self.host)?;
        if self.port == usual { Ok(()) } else { write!(f, ":{}", self.port) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Result<HttpUrl, Invalid> {
        text.parse()
    }

    #[test]
    fn an_address_needs_a_host_and_must_not_carry_a_password() {
        for good in ["https://a/b.swu", "http://10.0.0.1:81/b?x=1", "https://[::1]:8443/b"] {
            assert_eq!(url(good).unwrap().to_string(), good);
        }
        for (bad, word) in [
            ("https://", "address"),
            ("ftp://a/b", "https:"),
            ("https://user:pass@a/b", "uplink.credentials"),
            ("https://a/b#c", "%23"),
            ("https://a/b c", "%XX"),
            ("https://a/b\n", "%XX"),
            ("https://a/\u{fc}", "%XX"),
            ("https://a:99999/", "address"),
        ] {
            let error = url(bad).map(|url| url.to_string());
            assert!(error.clone().is_err_and(|error| error.0.contains(word)), "{bad:?}: {error:?}");
        }
        assert!(!url("https://u:secret@a/b").unwrap_err().0.contains("secret"));
        assert!(url(&format!("https://a/{}", "b".repeat(2048))).is_err());
        assert_eq!(url("https://a/b?signature=xyz").unwrap().shown(), "https://a/b?…");
    }

    #[test]
    fn devices_see_a_plain_name_or_none() {
        let name = |text: &str| url(text).unwrap().file_name().map(str::to_owned);
        assert_eq!(name("https://a/b/os-2.swu?x").as_deref(), Some("os-2.swu"));
        assert_eq!(name("https://a/"), None);
        assert_eq!(name("https://a/b%2Fc"), None);
        assert_eq!(name("https://a/.hidden"), None);
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let origin = |text: &str| text.parse::<Origin>();
        assert_eq!(origin("A.example:443").unwrap(), url("https://a.example/x").unwrap().origin());
        assert_ne!(origin("a.example").unwrap(), url("http://a.example/x").unwrap().origin());
        assert_ne!(origin("a.example").unwrap(), url("https://a.example:8443/x").unwrap().origin());
        assert_eq!(origin("http://a.example:8080").unwrap().to_string(), "http://a.example:8080");
        assert_eq!(origin("a.example:8443").unwrap().to_string(), "a.example:8443");
        for bad in ["", "a/b", "a/", "https://a?x", "ftp://a", "u:p@a"] {
            assert!(origin(bad).is_err(), "{bad}");
        }
    }
}
