//! A family of figures: what it is called, what it means, and what tells its series apart.

use prometheus_client::metrics::MetricType;

/// A family.
#[derive(Debug, PartialEq, Eq)]
pub struct Family {
    /// Its name without unit and suffix.
    pub name: &'static str,
    /// What can be done with its figures.
    pub kind: Kind,
    /// In what they are counted, if not in things.
    pub unit: Option<Unit>,
    /// What tells its series apart.
    pub labels: &'static [&'static str],
    /// What it means, for a person.
    pub help: &'static str,
}

/// What can be done with the figures of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Grows from the start of the process on.
    Counter,
    /// Goes up and down.
    Gauge,
    /// How many took how long, from the start of the process on.
    Histogram,
    /// Always 1: its labels say it.
    Info,
}

/// In what figures are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "they say it")]
pub enum Unit {
    Bytes,
    Seconds,
}

impl Family {
    /// As it stands in the exposition's head: with its unit.
    pub fn full_name(&self) -> String {
        match self.unit {
            Some(unit) => format!("{}_{}", self.name, unit.name()),
            None => self.name.to_owned(),
        }
    }

    /// As it is asked for.
    pub fn queried(&self) -> String {
        let suffix = match self.kind {
            Kind::Counter => "_total",
            Kind::Info => "_info",
            Kind::Gauge | Kind::Histogram => "",
        };
        self.full_name() + suffix
    }
}

impl Kind {
    /// Its name in the exposition.
    pub fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
            Self::Info => "info",
        }
    }

    pub(super) fn encoded(self) -> MetricType {
        match self {
            Self::Counter => MetricType::Counter,
            Self::Gauge => MetricType::Gauge,
            Self::Histogram => MetricType::Histogram,
            Self::Info => MetricType::Info,
        }
    }
}

impl Unit {
    /// Its name, and the suffix of names.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Seconds => "seconds",
        }
    }

    pub(super) fn encoded(self) -> prometheus_client::registry::Unit {
        match self {
            Self::Bytes => prometheus_client::registry::Unit::Bytes,
            Self::Seconds => prometheus_client::registry::Unit::Seconds,
        }
    }
}
