//! Where artifacts come from.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use url::{Host, Url};

use super::{Digest, Invalid, serde_as_text};

/// A place to get an artifact from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Source {
    /// A file beside the manifest that names it.
    File {
        /// The manifest's directory.
        dir: PathBuf,
        /// A plain file name in it.
        name: String,
    },
    /// A web server.
    Http {
        /// The file's address.
        url: HttpUrl,
    },
    /// A registry.
    Oci {
        /// The image whose layer is the file.
        image: OciReference,
    },
}

impl Source {
    /// Does it need the network?
    pub fn is_remote(&self) -> bool {
        !matches!(self, Self::File { .. })
    }

    /// The name that devices see, if the source has one that fits into every URL and file system.
    pub fn file_name(&self) -> Option<&str> {
        match self {
            Self::File { name, .. } => Some(name),
            Self::Http { url } => url.file_name(),
            Self::Oci { .. } => None,
        }
    }
}

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

    fn file_name(&self) -> Option<&str> {
        let name = self.0.path_segments()?.next_back()?;
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"._+-~".contains(&b);
        let fits = !name.is_empty() && !name.starts_with('.') && name.len() <= 255 && name.bytes().all(plain);
        fits.then_some(name)
    }
}

impl FromStr for HttpUrl {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let invalid = |why: &str| Invalid::new(format!("{:?} {why}", shown(text)));
        if text.len() > Self::LONGEST {
            return Err(invalid("is longer than 2048 characters"));
        }
        // The parser would quietly leave out or rewrite some of them, and then it would not be what was typed.
        if !text.bytes().all(|b| b.is_ascii_graphic() && b != b'\\') {
            return Err(invalid("has a space, a backslash or a character beyond ASCII; write it as %XX"));
        }
        let url = Url::parse(text).map_err(|error| {
            invalid(&format!("is no address ({error}); write https://HOST/PATH or http://HOST/PATH"))
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
    shown(url.as_str()).replace("%E2%80%A6", "…")
}

impl HttpUrl {
    /// For people: without what stands behind the question mark.
    pub fn shown(&self) -> String {
        without_secrets(&self.0)
    }
}

fn shown(text: &str) -> String {
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
            return Err(Invalid::new(format!("{:?} {why}", shown(text))));
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

/// `registry/repository:tag` or `registry/repository@sha256:…`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OciReference {
    registry: String,
    origin: Origin,
    repository: String,
    version: OciVersion,
}

/// Which image of a repository.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum OciVersion {
    /// The one that bears this tag now.
    Tag(String),
    /// The one whose manifest has this digest.
    Manifest(Digest),
}

impl OciReference {
    /// Whom to ask: TLS, except on this machine itself, as every client of registries has it.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The path below the registry.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// Which image of it.
    pub fn version(&self) -> &OciVersion {
        &self.version
    }
}

impl FromStr for OciReference {
    type Err = Invalid;

    /// Without the `oci://`.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        let invalid = |why: &str| {
            Invalid::new(format!("{:?} {why}; write oci://REGISTRY/REPOSITORY:TAG or …@sha256:DIGEST", shown(text)))
        };
        if text.len() > HttpUrl::LONGEST {
            return Err(invalid("is longer than 2048 characters"));
        }
        let (registry, rest) = text.split_once('/').ok_or_else(|| invalid("has no repository"))?;
        let (named, pinned) = match rest.split_once('@') {
            Some((named, digest)) => (named, Some(digest.parse().map_err(|e: Invalid| invalid(&e.0))?)),
            None => (rest, None),
        };
        let (repository, tag) = match named.split_once(':') {
            Some((repository, tag)) => (repository, Some(tag)),
            None => (named, None),
        };
        if !is_repository(repository) {
            return Err(invalid(
                "has a repository that is not made of lower-case letters, digits and single '.', '_', '-', '/'",
            ));
        }
        if tag.is_some_and(|tag| !is_tag(tag)) {
            return Err(invalid("has a tag that is not made of 1 to 128 letters, digits, '.', '_' and '-'"));
        }
        let version = match (pinned, tag) {
            (Some(digest), _) => OciVersion::Manifest(digest),
            (None, Some(tag)) => OciVersion::Tag(tag.to_owned()),
            (None, None) => return Err(invalid("names neither a tag nor a digest")),
        };
        let origin = registry_origin(registry).ok_or_else(|| invalid("has no valid registry HOST or HOST:PORT"))?;
        Ok(Self { registry: registry.to_owned(), origin, repository: repository.to_owned(), version })
    }
}

fn registry_origin(registry: &str) -> Option<Origin> {
    if registry.is_empty() || registry.contains("://") {
        return None;
    }
    let mut origin: Origin = registry.parse().ok()?;
    let here = match &origin.host {
        Host::Domain(name) => name == "localhost",
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    };
    if here {
        origin = format!("http://{registry}").parse().ok()?;
    }
    Some(origin)
}

fn is_repository(text: &str) -> bool {
    let part = |part: &str| {
        let ends = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        ends(part.bytes().next())
            && ends(part.bytes().last())
            && !part.contains("..")
            && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b))
    };
    text.len() <= 255 && text.split('/').all(part)
}

fn is_tag(text: &str) -> bool {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    (1..=128).contains(&text.len())
        && text.bytes().next().is_some_and(word)
        && text.bytes().all(|b| word(b) || b".-".contains(&b))
}

impl fmt::Display for OciReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.registry, self.repository)?;
        match &self.version {
            OciVersion::Tag(tag) => write!(f, ":{tag}"),
            OciVersion::Manifest(digest) => write!(f, "@{digest}"),
        }
    }
}

serde_as_text!(OciReference);

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

    #[test]
    fn a_reference_names_a_registry_a_repository_and_a_tag_or_digest() {
        let pinned = format!("r.example:5000/fw/os@sha256:{}", "ab".repeat(32));
        for good in ["r.example/os:2.0", "localhost:5000/a/b_c/d-e:latest", &pinned] {
            let reference: OciReference = good.parse().unwrap();
            assert_eq!(reference.to_string(), good);
        }
        let both: OciReference = pinned.replace('@', ":2.0@").parse().unwrap();
        assert_eq!(both.to_string(), pinned, "the digest decides");
        for (text, https) in [("r.example/os:1", true), ("127.0.0.1:5000/os:1", false), ("[::1]:5000/os:1", false)] {
            assert_eq!(text.parse::<OciReference>().unwrap().origin().is_https(), https, "{text}");
        }
        for bad in [
            "",
            "os:2.0",
            "/os:2.0",
            "r.example/os",
            "r.example/:1",
            "r.example/Os:1",
            "r.example/../os:1",
            "r.example/os:",
            "r.example/os:a b",
            "r.example/os@sha256:12",
            "user:pw@r.example/os:1",
            "r.example//os:1",
        ] {
            let error = bad.parse::<OciReference>().unwrap_err();
            assert!(error.0.contains("oci://REGISTRY"), "{bad}: {error}");
        }
    }

    #[test]
    fn sources_are_stored_as_text() {
        let source = Source::Http { url: "https://a/b".parse().unwrap() };
        let json = serde_json::to_string(&source).unwrap();
        assert_eq!(json, r#"{"http":{"url":"https://a/b"}}"#);
        assert_eq!(serde_json::from_str::<Source>(&json).unwrap(), source);
        let source = Source::Oci { image: "r.example/os:1".parse().unwrap() };
        assert_eq!(serde_json::to_string(&source).unwrap(), r#"{"oci":{"image":"r.example/os:1"}}"#);
    }
}
