//! Time zones by their IANA names. Their rules are in the binary: an empty container has no others, and a site must decide
//! the same after its system was updated.

use std::fmt;
use std::str::FromStr;

use jiff::tz::{TimeZone, TimeZoneDatabase};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Invalid;

/// A time zone, such as `Europe/Berlin`. Two are equal if they are called the same.
#[derive(Clone)]
pub struct Zone {
    name: Box<str>,
    /// None: a record names a zone that this binary does not know. Whatever rests on it stays closed.
    rules: Option<TimeZone>,
}

/// So many names that a wrong one may stand for are said.
const MOST_SUGGESTED: usize = 3;
/// No zone's name is longer than half of this.
const LONGEST: usize = 64;

impl Zone {
    /// The zone of a site that names none.
    pub fn utc() -> Self {
        Self { name: "UTC".into(), rules: Some(TimeZone::UTC) }
    }

    /// Its IANA name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its rules, if they are known.
    pub(super) fn rules(&self) -> Option<&TimeZone> {
        self.rules.as_ref()
    }

    fn known(name: &str) -> Option<Self> {
        let rules = TimeZoneDatabase::bundled().get(name).ok().filter(|rules| !rules.is_unknown())?;
        // as it is written in the database, whatever case was typed
        let name = rules.iana_name().unwrap_or(name).into();
        Some(Self { name, rules: Some(rules) })
    }
}

/// Names that somebody may have meant, the nearest first.
fn near(name: &str) -> Vec<String> {
    let wanted = name.to_ascii_lowercase();
    // who knows the city knows enough
    let city = wanted.rsplit('/').next().unwrap_or_default().replace(' ', "_");
    let distance = |known: &str| {
        let known = known.to_ascii_lowercase();
        let whole = strsim::damerau_levenshtein(&wanted, &known);
        let last = strsim::damerau_levenshtein(&city, known.rsplit('/').next().unwrap_or_default());
        whole.min(last + 1)
    };
    let all = TimeZoneDatabase::bundled();
    let mut near: Vec<_> = all.available().map(|known| (distance(known.as_str()), known.to_string())).collect();
    // a short name is near to anything
    near.retain(|(distance, _)| *distance <= city.chars().count() / 3);
    near.sort();
    near.into_iter().take(MOST_SUGGESTED).map(|(_, known)| known).collect()
}

impl FromStr for Zone {
    type Err = Invalid;
    fn from_str(text: &str) -> Result<Self, Invalid> {
        if let Some(zone) = Some(text).filter(|text| text.len() <= LONGEST).and_then(Self::known) {
            return Ok(zone);
        }
        let shown: String = text.chars().take(LONGEST).collect();
        let near = if text.len() <= LONGEST { near(text) } else { Vec::new() };
        let hint = match near.as_slice() {
            [] => "write an IANA name such as Europe/Berlin or UTC".to_owned(),
            near => format!("did you mean {}?", near.join(" or ")),
        };
        Err(Invalid(format!("{shown:?} is no time zone that this version knows; {hint}")))
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.name, f)
    }
}

impl PartialEq for Zone {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Zone {}

impl Serialize for Zone {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name)
    }
}

impl<'de> Deserialize<'de> for Zone {
    /// A zone that a later release knew is no reason to take a record for garbage.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Ok(Self::known(&name).unwrap_or_else(|| Self { name: name.into(), rules: None }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(name: &str) -> String {
        name.parse::<Zone>().unwrap_err().0
    }

    #[test]
    fn zones_are_known_by_name_in_any_case() {
        for name in ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC", "America/Argentina/Ushuaia"] {
            assert_eq!(name.parse::<Zone>().unwrap().name(), name);
            assert_eq!(name.to_lowercase().parse::<Zone>().unwrap().name(), name);
        }
    }

    #[test]
    fn a_zone_is_the_same_however_its_name_is_typed_and_no_other() {
        let zone = |name: &str| name.parse::<Zone>().unwrap();
        assert_eq!(zone("europe/BERLIN"), zone("Europe/Berlin"));
        assert_eq!(zone("UTC"), Zone::utc());
        assert_ne!(zone("Europe/Berlin"), zone("Europe/Vienna"));
    }

    #[test]
    fn a_wrong_name_is_refused_with_names_that_are_near() {
        assert!(refused("Europe/Berln").ends_with("did you mean Europe/Berlin?"), "{}", refused("Europe/Berln"));
        assert!(refused("Berlin").contains("Europe/Berlin"), "{}", refused("Berlin"));
        assert!(refused("America/New York").contains("America/New_York"), "{}", refused("America/New York"));
        for name in ["", "Mars/Olympus_Mons", "Etc/Unknown", "+02:00", &"x".repeat(10_000)] {
            assert!(refused(name).contains("IANA"), "{name}: {}", refused(name));
            assert!(refused(name).len() < 200);
        }
    }

    #[test]
    fn a_record_with_a_zone_of_a_later_release_is_read_and_written_again() {
        let later: Zone = serde_json::from_str("\"Moon/Tranquility\"").unwrap();
        assert!(later.rules().is_none());
        assert_eq!(serde_json::to_string(&later).unwrap(), "\"Moon/Tranquility\"");
    }
}
