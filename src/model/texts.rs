//! A few texts by key: labels, reported attributes.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

type Text = Box<str>;

/// So many are looked at one by one.
const FEW: usize = 8;

/// Texts by key, in the order of the keys. Every gateway has two of these with mostly one entry, for which a `BTreeMap` takes
/// half a kilobyte; this takes what the entries need. Changing it costs a copy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Texts(Box<[(Text, Text)]>);

impl Texts {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many?
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        // of a few, which is what there mostly is, most have another length
        if self.0.len() <= FEW {
            return self.0.iter().find(|(other, _)| **other == *key).map(|(_, text)| &**text);
        }
        let at = self.find(key).ok()?;
        self.0.get(at).map(|(_, text)| &**text)
    }

    /// Has this key a text?
    pub fn contains_key(&self, key: &str) -> bool {
        self.find(key).is_ok()
    }

    /// Gives a key its text, whatever it had before.
    pub fn insert(&mut self, key: String, text: String) {
        let (key, text): (Text, Text) = (key.into(), text.into());
        match self.find(&key) {
            Ok(at) => _ = self.0.get_mut(at).map(|entry| entry.1 = text),
            Err(at) => self.change(|entries| entries.insert(at, (key, text))),
        }
    }

    /// Takes a key and its text away, if it is there.
    pub fn remove(&mut self, key: &str) {
        if let Ok(at) = self.find(key) {
            self.change(|entries| _ = entries.remove(at));
        }
    }

    /// The keys with their texts.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, text)| (&**key, &**text))
    }

    /// The keys.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.iter().map(|(key, _)| key)
    }

    fn find(&self, key: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(other, _)| (**other).cmp(key))
    }

    fn change(&mut self, change: impl FnOnce(&mut Vec<(Text, Text)>)) {
        let mut entries = std::mem::take(&mut self.0).into_vec();
        change(&mut entries);
        self.0 = entries.into_boxed_slice();
    }
}

impl FromIterator<(String, String)> for Texts {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(entries: I) -> Self {
        // of two entries with one key the later counts
        let entries: BTreeMap<Text, Text> = entries.into_iter().map(|(key, text)| (key.into(), text.into())).collect();
        Self(entries.into_iter().collect())
    }
}

impl<const N: usize> From<[(String, String); N]> for Texts {
    fn from(entries: [(String, String); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl Serialize for Texts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        BTreeMap::<Text, Text>::deserialize(deserializer).map(|entries| Self(entries.into_iter().collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_does_what_a_map_does() {
        let text = |key: &str, text: &str| (key.to_owned(), text.to_owned());
        let mut texts = Texts::from([text("b", "2"), text("a", "1"), text("b", "3")]);
        assert_eq!(texts.iter().collect::<Vec<_>>(), [("a", "1"), ("b", "3")]);
        texts.insert("c".into(), "4".into());
        texts.insert("a".into(), "5".into());
        texts.remove("b");
        texts.remove("z");
        assert_eq!((texts.get("a"), texts.get("b"), texts.contains_key("c")), (Some("5"), None, true));
        assert_eq!(texts.keys().collect::<Vec<_>>(), ["a", "c"]);
        assert!(texts.len() == 2 && Texts::new().is_empty());
    }

    #[test]
    fn on_disk_it_is_a_json_object() {
        let texts: Texts = [("b".into(), "2".into()), ("a".into(), "1".into())].into();
        let json = serde_json::to_string(&texts).unwrap();
        assert_eq!(json, r#"{"a":"1","b":"2"}"#);
        assert_eq!(serde_json::from_str::<Texts>(&json).unwrap(), texts);
    }
}
