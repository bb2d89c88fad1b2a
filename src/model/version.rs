//! What a gateway runs, or should run.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::{Invalid, serde_as_text};

/// A version as reported: 1 to 128 printable characters, compared for equality only.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(Arc<str>);

impl Version {
    /// Can this text be a version?
    pub fn is_valid(text: &str) -> bool {
        !text.is_empty() && text.len() <= 128 && text.trim() == text && !text.chars().any(char::is_control)
    }

    /// The version as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Version {
    type Err = Invalid;
    fn from_str(text: &str) -> Result<Self, Invalid> {
        if !Self::is_valid(text) {
            return Err(Invalid::new("a version has 1 to 128 printable characters and no space at its ends"));
        }
        Ok(Self(text.into()))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

serde_as_text!(Version);
