//! Which version a gateway runs.

use super::state::Gateway;
use crate::model::{Settings, Texts, Version};

impl Settings {
    /// The attribute keys under which an artifact's version is reported.
    pub fn keys_of<'s>(&'s self, artifact: &'s str) -> impl Iterator<Item = &'s str> {
        let mapped = self.version_keys.get(artifact);
        let own = mapped.is_none().then_some(artifact);
        mapped.into_iter().flatten().map(String::as_str).chain(own)
    }

    /// The version of an artifact that a gateway reported last.
    pub fn version_of(&self, gateway: &Gateway, artifact: &str) -> Option<Version> {
        self.version_in(&gateway.attributes, artifact)
    }

    /// The version of an artifact that attributes tell.
    pub fn version_in(&self, attributes: &Texts, artifact: &str) -> Option<Version> {
        self.version_text(attributes, artifact)?.parse().ok()
    }

    /// Its text, where many are looked at.
    pub(super) fn version_text<'t>(&self, attributes: &'t Texts, artifact: &str) -> Option<&'t str> {
        self.keys_of(artifact).find_map(|key| attributes.get(key).filter(|text| Version::is_valid(text)))
    }

    /// Did a gateway ever report a version of an artifact?
    pub fn ever_reported(&self, gateway: &Gateway, artifact: &str) -> bool {
        self.keys_of(artifact).any(|key| gateway.attributes.contains_key(key) || gateway.former_keys.contains(key))
    }
}
