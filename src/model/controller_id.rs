//! How a gateway names itself.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::{Invalid, serde_as_text};

/// The id under which a gateway speaks DDI: 1 to 256 visible ASCII characters that need no escaping in a URL.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ControllerId(Arc<str>);

impl ControllerId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ControllerId {
    type Err = Invalid;
    fn from_str(text: &str) -> Result<Self, Invalid> {
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b"-._~:@".contains(&b);
        if text.is_empty() || text.len() > 256 || !text.bytes().all(allowed) || text == "." || text == ".." {
            return Err(Invalid::new("a controller id has 1 to 256 characters from letters, digits and - . _ ~ : @"));
        }
        Ok(Self(text.into()))
    }
}

impl fmt::Display for ControllerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ControllerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl std::borrow::Borrow<str> for ControllerId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

serde_as_text!(ControllerId);
