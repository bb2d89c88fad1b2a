//! What `/metrics` says, read as strictly as a scraper may: anything that Prometheus or its lint would complain of panics.

use std::collections::{BTreeMap, BTreeSet};

/// An exposition that was read.
#[derive(Debug, Default)]
pub struct Exposition {
    /// By what stands before the value, such as `lamplighter_members{rollout="a",step="Updated"}`.
    pub series: BTreeMap<String, f64>,
    pub families: BTreeMap<String, Family>,
    /// The values of labels, by their names.
    pub values: BTreeMap<String, BTreeSet<String>>,
}

/// A family as it says itself.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Family {
    pub help: String,
    pub kind: String,
    pub unit: Option<String>,
    pub labels: BTreeSet<String>,
    pub series: usize,
}

impl Exposition {
    /// Reads the text of the `OpenMetrics` format 1.0.
    pub fn read(text: &str) -> Self {
        let body = text.strip_suffix("# EOF\n").expect("it ends with # EOF");
        assert!(body.is_empty() || body.ends_with('\n'), "each line ends");
        let mut read = Self::default();
        let mut current = String::new();
        for line in body.lines() {
            match line.strip_prefix("# ") {
                Some(head) => read.head(head, &mut current),
                None => read.sample(line, &current),
            }
        }
        for (name, family) in &read.families {
            read.lint(name, family);
        }
        read
    }

    /// The value of a series; series that are not there panic.
    pub fn get(&self, series: &str) -> f64 {
        *self.series.get(series).unwrap_or_else(|| panic!("no {series} in {:#?}", self.series))
    }

    fn head(&mut self, head: &str, current: &mut String) {
        let mut words = head.splitn(3, ' ');
        let (word, name, rest) = (words.next().unwrap(), words.next().expect(head), words.next().expect(head));
        if word == "HELP" {
            assert!(!self.families.contains_key(name), "{name} comes twice, or in two pieces");
            self.families.insert(name.into(), Family { help: rest.into(), ..Family::default() });
            name.clone_into(current);
        }
        assert_eq!(name, current, "{head}");
        let family = self.families.get_mut(name).unwrap();
        assert_eq!(family.series, 0, "{head} comes after samples");
        match word {
            "HELP" => {}
            "TYPE" => assert!(std::mem::replace(&mut family.kind, rest.into()).is_empty(), "{name}: two types"),
            "UNIT" => assert_eq!(family.unit.replace(rest.into()), None, "{name}: two units"),
            _ => panic!("a comment: {head}"),
        }
    }

    fn sample(&mut self, line: &str, current: &str) {
        let (series, value) = line.rsplit_once(' ').expect(line);
        let (name, labels) = match series.split_once('{') {
            Some((name, labels)) => (name, read_labels(labels.strip_suffix('}').expect(line))),
            None => (series, Vec::new()),
        };
        let family = self.families.get_mut(current).unwrap_or_else(|| panic!("{line} has no family"));
        let suffix = name.strip_prefix(current).unwrap_or_else(|| panic!("{line} stands under {current}"));
        let suffixes: &[&str] = match family.kind.as_str() {
            "counter" => &["_total"],
            "gauge" => &[""],
            "info" => &["_info"],
            "histogram" => &["_bucket", "_sum", "_count"],
            kind => panic!("{current} is a {kind}"),
        };
        assert!(suffixes.contains(&suffix), "{line} is in a {}", family.kind);
        let mut names = BTreeSet::new();
        for (label, _) in labels.iter().filter(|(label, _)| label != "le") {
            assert!(is_snake(label) && names.insert(label.clone()), "{line}: {label}");
        }
        if family.series > 0 {
            assert_eq!(family.labels, names, "{line}: all series of a family have the same labels");
        }
        family.labels = names;
        for (label, value) in labels {
            self.values.entry(label).or_default().insert(value);
        }
        family.series += 1;
        let number: f64 = value.parse().unwrap_or_else(|_| panic!("{line}: not a number"));
        assert!(number.is_finite() && number >= 0.0, "{line}");
        assert_eq!(self.series.insert(series.to_owned(), number), None, "{series} comes twice");
    }

    /// What promtool complains of, and what would make a scrape grow without bounds.
    fn lint(&self, name: &str, family: &Family) {
        assert!(is_snake(name) && name.starts_with("lamplighter_"), "{name}");
        assert!(!family.help.is_empty() && !family.kind.is_empty(), "{name} says too little");
        assert!(family.series > 0, "{name} has no series");
        assert!(family.series <= lamplighter::metrics::MOST_SERIES, "{name} has {} series", family.series);
        let unit = ["seconds", "bytes"].into_iter().find(|unit| name.ends_with(&format!("_{unit}")));
        assert_eq!(family.unit.as_deref(), unit, "{name}: unit and name say the same");
        for bad in ["_total", "_count", "_sum", "_bucket", "_info", "_created"] {
            assert!(!name.ends_with(bad), "{name} has a suffix that belongs to samples");
        }
        for bad in ["counter", "gauge", "histogram", "milliseconds", "_ms", "kilobytes", "_mib"] {
            assert!(!name.contains(bad), "{name} says {bad}");
        }
        if family.kind == "histogram" {
            self.lint_histogram(name);
        }
    }

    fn lint_histogram(&self, name: &str) {
        let bucket = |le: &str| self.get(&format!("{name}_bucket{{le=\"{le}\"}}"));
        let prefix = format!("{name}_bucket{{le=\"");
        let mut bounds: Vec<(f64, f64)> = self
            .series
            .iter()
            .filter_map(|(series, count)| Some((series.strip_prefix(&prefix)?.strip_suffix("\"}")?, *count)))
            .map(|(le, count)| (if le == "+Inf" { f64::INFINITY } else { le.parse().unwrap() }, count))
            .collect();
        bounds.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        assert!(bounds.windows(2).all(|pair| pair[0].1 <= pair[1].1), "{name}: buckets add up: {bounds:?}");
        assert_eq!(bucket("+Inf").to_bits(), self.get(&format!("{name}_count")).to_bits(), "{name}");
        self.get(&format!("{name}_sum"));
    }
}

fn is_snake(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

/// `a="b",c="d"`, with what may be escaped in it.
fn read_labels(text: &str) -> Vec<(String, String)> {
    let mut labels = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (name, value) = rest.split_once("=\"").expect(text);
        let mut read = String::new();
        let mut chars = value.char_indices();
        let end = loop {
            match chars.next().expect(text) {
                (at, '"') => break at,
                (_, '\\') => match chars.next().expect(text).1 {
                    'n' => read.push('\n'),
                    c @ ('\\' | '"') => read.push(c),
                    c => panic!("{text}: \\{c}"),
                },
                (_, c) => read.push(c),
            }
        };
        labels.push((name.to_owned(), read));
        rest = &value[end + 1..];
        rest = rest.strip_prefix(',').unwrap_or(rest);
    }
    labels
}
