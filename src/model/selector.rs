//! Which gateways are meant.

use serde::{Deserialize, Serialize};

use super::Texts;

/// Labels of a gateway.
pub type Labels = Texts;

/// All of these labels with these values; an empty selector selects nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Selector {
    /// What must stand on the gateway.
    pub match_labels: Labels,
}

impl Selector {
    /// Does this selector mean a gateway with these labels?
    pub fn selects(&self, labels: &Labels) -> bool {
        !self.match_labels.is_empty() && self.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_selector_selects_nothing() {
        assert!(!Selector::default().selects(&Labels::new()));
        let line = Selector { match_labels: [("line".into(), "3".into())].into() };
        assert!(line.selects(&[("line".into(), "3".into()), ("x".into(), "y".into())].into()));
        assert!(!line.selects(&[("line".into(), "4".into())].into()));
        assert!(!line.selects(&Labels::new()));
    }
}
