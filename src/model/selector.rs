//! Which gateways are meant.

use serde::{Deserialize, Serialize};

use super::Texts;

/// Labels of a gateway.
pub type Labels = Texts;

/// All of these labels with these values; an empty selector selects nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Selector {
    /// What must stand on the gateway. Behind [`Selector::ATTRIBUTE`] stands the key of what the gateway reports itself.
    pub match_labels: Labels,
}

impl Selector {
    /// What a key begins with that means a reported attribute.
    pub const ATTRIBUTE: &'static str = "attr.lamplighter.dev/";

    /// Does this selector mean a gateway with these labels, that reports these attributes?
    pub fn selects(&self, labels: &Labels, attributes: &Texts) -> bool {
        self.all(|key, value| match key.strip_prefix(Self::ATTRIBUTE) {
            Some(key) => attributes.get(key) == Some(value),
            None => labels.get(key) == Some(value),
        })
    }

    /// Does it still mean one that it selected, whatever that reports by now?
    pub fn keeps(&self, labels: &Labels) -> bool {
        self.all(|key, value| key.starts_with(Self::ATTRIBUTE) || labels.get(key) == Some(value))
    }

    /// Does whatever `other` selects match this one too?
    pub fn covers(&self, other: &Self) -> bool {
        self.all(|key, value| other.match_labels.get(key) == Some(value))
    }

    /// The key for which this and `other` ask different values, so that nothing matches both.
    pub fn contradicts<'s>(&'s self, other: &Self) -> Option<&'s str> {
        let differs = |key, value| other.match_labels.get(key).is_some_and(|other| other != value);
        self.match_labels.iter().find(|(key, value)| differs(*key, *value)).map(|(key, _)| key)
    }

    fn all(&self, holds: impl Fn(&str, &str) -> bool) -> bool {
        !self.match_labels.is_empty() && self.match_labels.iter().all(|(key, value)| holds(key, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(pairs: &[(&str, &str)]) -> Texts {
        pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect()
    }

    fn selector(pairs: &[(&str, &str)]) -> Selector {
        Selector { match_labels: texts(pairs) }
    }

    #[test]
    fn an_empty_selector_selects_nothing() {
        let none = Texts::new();
        assert!(!Selector::default().selects(&none, &none) && !Selector::default().keeps(&none));
        let line = selector(&[("line", "3")]);
        assert!(line.selects(&texts(&[("line", "3"), ("x", "y")]), &none));
        assert!(!line.selects(&texts(&[("line", "4")]), &none));
        assert!(!line.selects(&none, &texts(&[("line", "3")])));
    }

    #[test]
    fn a_reported_attribute_selects_and_does_not_let_go() {
        let board = selector(&[("line", "3"), ("attr.lamplighter.dev/hw", "b")]);
        let line = texts(&[("line", "3")]);
        assert!(board.selects(&line, &texts(&[("hw", "b")])));
        assert!(!board.selects(&line, &texts(&[("hw", "a")])));
        assert!(!board.selects(&texts(&[("line", "3"), ("attr.lamplighter.dev/hw", "b")]), &Texts::new()));
        assert!(board.keeps(&line) && !board.keeps(&texts(&[("line", "4")])));
    }

    #[test]
    fn selectors_are_compared_by_what_they_ask() {
        let (line, bench) = (selector(&[("line", "3")]), selector(&[("line", "3"), ("bench", "yes")]));
        assert!(line.covers(&bench) && !bench.covers(&line));
        assert_eq!((line.contradicts(&bench), line.contradicts(&selector(&[("line", "4")]))), (None, Some("line")));
    }
}
