//! References to images in registries.

use std::fmt;
use std::str::FromStr;

use super::http_url::shortened;
use super::{Digest, HttpUrl, Invalid, Origin, serde_as_text};

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
            Invalid::new(format!("{:?} {why}; write oci://REGISTRY/REPOSITORY:TAG or …@sha256:DIGEST", shortened(text)))
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
    if origin.is_loopback() {
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
}
