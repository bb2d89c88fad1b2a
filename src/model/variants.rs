//! The files of one rollout for several types of hardware.

use serde::{Deserialize, Serialize};

use super::{ArtifactSpec, Labels, Selector, Texts};

/// Who gets which file. The first that means a gateway counts; whom none means gets none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Variants {
    /// Who gets the rollout's own artifact.
    pub first: Selector,
    /// Who gets another, in order.
    pub others: Vec<Variant>,
}

/// A file for one type of hardware.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Variant {
    /// Who gets it.
    #[serde(rename = "match")]
    pub matches: Selector,
    /// What; of the rollout's name and version.
    pub artifact: ArtifactSpec,
}

impl Variants {
    /// The most variants of one rollout, the first included.
    pub const MOST: usize = 8;

    /// The number of the variant for a gateway with these labels and attributes.
    pub fn choose(&self, labels: &Labels, attributes: &Texts) -> Option<u8> {
        let all = [&self.first].into_iter().chain(self.others.iter().map(|variant| &variant.matches));
        (0..).zip(all).find(|(_, matches)| matches.selects(labels, attributes)).map(|(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_means_a_gateway_counts_by_label_or_by_what_it_reports() {
        let matches = |key: &str, value: &str| Selector { match_labels: [(key.into(), value.into())].into() };
        let other = |matches| {
            let key = super::super::ArtifactKey {
                name: "os".into(),
                version: "2".parse().unwrap(),
                digest: super::super::Digest::new([1; 32]),
            };
            Variant { matches, artifact: ArtifactSpec { key, size: 1, sources: vec![] } }
        };
        let variants = Variants {
            first: matches("soc", "imx8"),
            others: vec![other(matches("attr.lamplighter.dev/soc", "am62")), other(matches("line", "3"))],
        };
        let texts = |key: &str, value: &str| Texts::from([(key.to_owned(), value.to_owned())]);
        let none = Texts::new();
        assert_eq!(variants.choose(&texts("soc", "imx8"), &texts("soc", "am62")), Some(0));
        assert_eq!(variants.choose(&texts("line", "3"), &texts("soc", "am62")), Some(1));
        assert_eq!(variants.choose(&texts("line", "3"), &none), Some(2));
        // what a gateway says of itself is no label
        assert_eq!(variants.choose(&none, &texts("line", "3")), None);
        assert_eq!(variants.choose(&texts("attr.lamplighter.dev/soc", "am62"), &none), None);
    }
}
