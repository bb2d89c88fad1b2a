//! What an API server says about our objects, as far as it matters here.

use std::fmt;
use std::str::FromStr;

use super::digest::hex;
use super::{Identity, Intent, Invalid, Refusal, ServiceName, serde_as_text};

/// The uid of an object, or of the namespace that stands for a cluster: a UUID, as every API server makes them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Uid([u8; 16]);

impl Uid {
    /// From the number itself.
    pub const fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

impl FromStr for Uid {
    type Err = Invalid;
    fn from_str(text: &str) -> Result<Self, Invalid> {
        let bad = || Invalid::new(format!("{:?} is not a uid: five groups of hex digits", short(text)));
        let parts: Vec<&str> = text.split('-').collect();
        if !parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12]) {
            return Err(bad());
        }
        // which by itself would also read a sign
        let digits = parts.concat();
        if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(bad());
        }
        let number = u128::from_str_radix(&digits, 16).map_err(|_| bad())?;
        Ok(Self(number.to_be_bytes()))
    }
}

fn short(text: &str) -> String {
    text.chars().take(40).collect()
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = hex(&self.0);
        let mut rest = digits.as_str();
        for (at, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
            let (part, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
            if at > 0 {
                f.write_str("-")?;
            }
            f.write_str(part)?;
            rest = after;
        }
        Ok(())
    }
}

impl fmt::Debug for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Uid({self})")
    }
}

serde_as_text!(Uid);

/// Kind and name of an object in the API.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub enum ObjectName {
    /// An `OtaRollout`.
    Rollout(Identity),
    /// An `EdgeGateway`.
    Gateway(String),
    /// An `EdgeService`.
    Service(ServiceName),
}

impl ObjectName {
    /// The name alone.
    pub fn name(&self) -> &str {
        match self {
            Self::Rollout(identity) => &identity.0,
            Self::Gateway(name) | Self::Service(ServiceName(name)) => name,
        }
    }
}

/// As people write it.
impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rollout(identity) => write!(f, "OtaRollout/{identity}"),
            Self::Gateway(name) => write!(f, "EdgeGateway/{name}"),
            Self::Service(name) => write!(f, "EdgeService/{name}"),
        }
    }
}

/// A complete list of what an API server has for this site.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiListing {
    /// Which cluster it is: the uid of our namespace.
    pub cluster: Uid,
    /// All valid objects.
    pub objects: Vec<(Uid, Intent)>,
    /// Objects that are being deleted.
    pub deleted: Vec<(Uid, ObjectName)>,
    /// What could not be accepted, for people.
    pub refused: Vec<(ObjectName, Refusal)>,
    /// An object that this site adopted before, if there is one.
    pub adopted: Option<ObjectName>,
}

/// What became of one object since the last list.
#[derive(Debug, Clone, PartialEq)]
pub enum ApiFact {
    /// It is new or was edited.
    Declared(Uid, Intent),
    /// What it says now cannot be accepted.
    Refused(ObjectName, Refusal),
    /// Somebody deleted it.
    Deleted(Uid, ObjectName),
    /// It is not this site's any more, and nobody is known to have deleted it.
    Gone(ObjectName),
}

/// What a manifest and an object of the API both declare: neither counts.
#[derive(Debug, Clone, PartialEq)]
pub struct Dispute {
    /// As the manifest says.
    pub manifest: Intent,
    /// As the API says.
    pub api: (Uid, Intent),
}

impl Intent {
    /// Kind and name, wherever it was declared.
    pub fn object(&self) -> ObjectName {
        match self {
            Self::Gateway(spec) => ObjectName::Gateway(spec.name.clone()),
            Self::Rollout(identity, _) => ObjectName::Rollout(identity.clone()),
            Self::Service(name, _) => ObjectName::Service(name.clone()),
        }
    }

    /// Can both not be meant? A controller id is one gateway's, a unit one service's.
    pub fn clashes(&self, other: &Self) -> bool {
        let same = match (self, other) {
            (Self::Gateway(one), Self::Gateway(other)) => one.controller_id == other.controller_id,
            (Self::Service(_, one), Self::Service(_, other)) => one.unit == other.unit,
            _ => false,
        };
        same || self.object() == other.object()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uid_is_read_and_written_as_kubernetes_does() {
        let text = "0b6f2d1e-00aa-4c51-9f00-0123456789ab";
        assert_eq!(text.parse::<Uid>().unwrap().to_string(), text);
        for bad in ["", "0b6f2d1e00aa4c519f000123456789ab", "0b6f2d1e-00aa-4c51-9f00-0123456789ag", "a-b-c-d-e"] {
            assert!(bad.parse::<Uid>().is_err(), "{bad}");
        }
        assert!("é".repeat(60).parse::<Uid>().is_err());
        assert!(serde_json::from_str::<Uid>("7").is_err());
    }
}
