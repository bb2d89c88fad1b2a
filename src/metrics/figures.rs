//! The figures of one scrape, and how they are written. They live as long as the scrape does.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, text};
use prometheus_client::metrics::exemplar::Exemplar;
use prometheus_client::registry::Registry;

use super::family::{Family, Kind};
use crate::model::Durations;

/// So many series of one family are written at most: what people declare must not make a scrape as large as they like.
pub const MOST_SERIES: usize = 1_000;

/// A figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// Of a counter or a gauge.
    Number(u64),
    /// Of a histogram.
    Durations(Durations),
}

/// The figures of one scrape.
#[derive(Debug, Default)]
pub struct Figures(BTreeMap<&'static str, (&'static Family, Vec<Series>)>);

#[derive(Debug)]
struct Series {
    labels: Vec<Cow<'static, str>>,
    value: Value,
}

impl Figures {
    /// Adds a figure; the labels are in the family's order.
    pub fn put<const N: usize>(
        &mut self,
        family: &'static Family,
        labels: [Cow<'static, str>; N],
        value: impl Into<Value>,
    ) {
        debug_assert_eq!(family.labels.len(), N, "{}", family.name);
        let (_, series) = self.0.entry(family.name).or_insert((family, Vec::new()));
        if series.len() < MOST_SERIES {
            series.push(Series { labels: labels.into(), value: value.into() });
        }
    }

    /// Adds the only figure of a family.
    pub fn set(&mut self, family: &'static Family, value: impl Into<Value>) {
        self.put(family, [], value);
    }

    /// In the `OpenMetrics` text format.
    pub fn text(self) -> String {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(self));
        let mut text = String::new();
        // a string takes all that is written into it
        let _ = text::encode(&mut text, &registry);
        text
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Self {
        Self::Number(u64::try_from(number).unwrap_or(u64::MAX))
    }
}

impl From<bool> for Value {
    fn from(is: bool) -> Self {
        Self::Number(is.into())
    }
}

impl From<Durations> for Value {
    fn from(durations: Durations) -> Self {
        Self::Durations(durations)
    }
}

impl Collector for Figures {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        for (family, series) in self.0.values() {
            let unit = family.unit.map(super::Unit::encoded);
            let mut encoder =
                encoder.encode_descriptor(family.name, family.help, unit.as_ref(), family.kind.encoded())?;
            for Series { labels, value } in series {
                let labels: Vec<(&str, &str)> =
                    family.labels.iter().copied().zip(labels.iter().map(AsRef::as_ref)).collect();
                if family.kind == Kind::Info {
                    encoder.encode_info(&labels)?;
                } else {
                    one(encoder.encode_family(&labels)?, family.kind, value)?;
                }
            }
        }
        Ok(())
    }
}

fn one(mut encoder: MetricEncoder, kind: Kind, value: &Value) -> fmt::Result {
    match value {
        Value::Number(number) if kind == Kind::Counter => {
            encoder.encode_counter(number, None::<&Exemplar<NoLabelSet, f64>>)
        }
        Value::Number(number) => encoder.encode_gauge(number),
        Value::Durations(durations) => {
            let buckets: Vec<_> = durations.buckets().collect();
            encoder.encode_histogram::<NoLabelSet>(durations.sum(), durations.count(), &buckets, None)
        }
    }
}
