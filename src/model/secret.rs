//! The site secret, from which the tokens of gateways are derived.

use std::fmt;

use ring::hmac;

use super::Invalid;
use super::digest::hex;

/// What a site and nobody else knows. It is a text, so that any tool can derive the same tokens from it.
#[derive(Clone, PartialEq, Eq)]
pub struct SiteSecret(Box<str>);

impl SiteSecret {
    /// The fewest characters: fewer could be found by trying.
    pub const LEAST: usize = 16;
    /// The most characters.
    pub const MOST: usize = 1024;

    /// From a file's text; white space around it does not count.
    pub fn new(text: &str) -> Result<Self, Invalid> {
        secret_line(text).map(|line| Self(line.into()))
    }

    /// The token of a gateway: hex(HMAC-SHA256(secret, controller id)), 64 lower-case digits.
    pub fn token(&self, controller_id: &str) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.0.as_bytes());
        hex(hmac::sign(&key, controller_id.as_bytes()).as_ref())
    }
}

impl fmt::Debug for SiteSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SiteSecret(…)")
    }
}

/// A secret in a file: one line of visible characters. The error never repeats what stands there.
pub fn secret_line(text: &str) -> Result<&str, Invalid> {
    let line = text.trim();
    if !line.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(Invalid::new("should have one line of visible ASCII characters without spaces"));
    }
    if !(SiteSecret::LEAST..=SiteSecret::MOST).contains(&line.len()) {
        let (least, most) = (SiteSecret::LEAST, SiteSecret::MOST);
        let why = format!("has {} characters; use {least} to {most}, such as `openssl rand -hex 32` gives", line.len());
        return Err(Invalid::new(why));
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_the_one_that_openssl_derives() {
        // printf %s gw-1 | openssl dgst -sha256 -hmac 0123456789abcdef
        let secret = SiteSecret::new("0123456789abcdef\n").unwrap();
        assert_eq!(secret.token("gw-1"), "cec5f766449c91ef8704ca026a4aed10e3f74a64f777128ae869d3ad7178ce6d");
        assert_ne!(secret.token("gw-1"), secret.token("gw-2"));
    }

    #[test]
    fn a_secret_that_can_be_guessed_or_not_typed_is_refused_and_never_shown() {
        for bad in [
            "",
            "short",
            "0123456789abcde",
            "two words of a phrase",
            "0123456789abcdef\n0123456789abcdef",
            "ümläute-ümläute",
        ] {
            let why = SiteSecret::new(bad).unwrap_err().0;
            assert!(bad.is_empty() || !why.contains(bad), "{why}");
        }
        assert_eq!(format!("{:?}", SiteSecret::new("0123456789abcdef").unwrap()), "SiteSecret(…)");
    }
}
