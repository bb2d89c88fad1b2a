//! The identity of an artifact's bytes.

use std::fmt;
use std::str::FromStr;

use super::{Invalid, serde_as_text};

/// A sha256 digest, written `sha256:<64 lower-case hex digits>`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// From the hash itself.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The hash itself.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The 64 hex digits without the prefix; the artifact's file name in the cache.
    pub fn hex(&self) -> String {
        hex(&self.0)
    }

    /// 31 bits of the digest, the DDI software module id: it survives a lost store.
    pub fn module_id(&self) -> u32 {
        let [a, b, c, d, ..] = self.0;
        (u32::from_be_bytes([a, b, c, d]) >> 1).max(1)
    }
}

impl FromStr for Digest {
    type Err = Invalid;
    fn from_str(text: &str) -> Result<Self, Invalid> {
        let Some(digits) = text.strip_prefix("sha256:") else {
            return Err(Invalid::new("a digest is written sha256:<64 hex digits>; make one with `sha256sum FILE`"));
        };
        parse_hex(digits).map(Self).ok_or_else(|| {
            Invalid::new(format!("a sha256 digest has 64 lower-case hex digits, this one is {digits:?}"))
        })
    }
}

/// Lower-case hex of some bytes.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The bytes behind lower-case hex digits, if they are exactly `N` bytes.
pub(super) fn parse_hex<const N: usize>(digits: &str) -> Option<[u8; N]> {
    let lower = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
    if digits.len() != N * 2 || !digits.bytes().all(lower) {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, at) in bytes.iter_mut().zip((0..digits.len()).step_by(2)) {
        *byte = u8::from_str_radix(digits.get(at..at + 2)?, 16).ok()?;
    }
    Some(bytes)
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

serde_as_text!(Digest);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_back_what_it_writes_and_refuses_the_rest() {
        let text = format!("sha256:{}", "0123456789abcdef".repeat(4));
        assert_eq!(text.parse::<Digest>().unwrap().to_string(), text);
        let hex = "0".repeat(64);
        for bad in [
            "",
            "sha256:",
            &hex,
            &format!("sha1:{hex}"),
            &format!("sha256:{hex}0"),
            &format!("sha256:{}", "A".repeat(64)),
            &format!("sha256:{}é", "0".repeat(62)),
        ] {
            assert!(bad.parse::<Digest>().is_err(), "{bad}");
        }
    }
}
