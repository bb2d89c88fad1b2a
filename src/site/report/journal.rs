//! The journal, a page of rows at a time.

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::{Deserialize, Serialize};

use super::why::wall;
use crate::engine::State;
use crate::model::{Invalid, JournalEntry, What};
use crate::store::{JournalPage, Span};

/// Which rows a person wants to see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalFilter {
    /// At most so many; 1 to [`MOST`](Self::MOST).
    pub limit: usize,
    /// The rows that follow this number, instead of the newest.
    pub after: Option<u64>,
    /// Rows of this rollout.
    pub rollout: Option<String>,
    /// Rows of this gateway, by its name or controller id.
    pub gateway: Option<String>,
    /// Rows of this service.
    pub service: Option<String>,
    /// Rows of this kind.
    pub what: Option<What>,
    /// Rows from this time on, in Unix milliseconds; and those of which it is not known, as there was no clock.
    pub since: Option<i64>,
}

impl Default for JournalFilter {
    fn default() -> Self {
        Self { limit: Self::USUAL, after: None, rollout: None, gateway: None, service: None, what: None, since: None }
    }
}

impl JournalFilter {
    /// Rows when nothing is said: what fits a screen or two.
    pub const USUAL: usize = 50;
    /// Rows of one answer; it is built in memory, about 300 bytes a row.
    pub const MOST: usize = 1_000;

    /// From the query of a URL. Errors are lower-case fragments.
    pub fn from_query(query: &str) -> Result<Self, String> {
        let mut filter = Self::default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = percent_decode_str(value).decode_utf8().map_err(|_| format!("{key} is not UTF-8"))?;
            match key {
                "limit" => filter.limit = limit(&value)?,
                "after" => filter.after = Some(value.parse().map_err(|_| "after is the number of a row".to_owned())?),
                "rollout" => filter.rollout = Some(value.into_owned()),
                "gateway" => filter.gateway = Some(value.into_owned()),
                "service" => filter.service = Some(value.into_owned()),
                "since" => filter.since = Some(value.parse().map_err(|_| "since is in Unix milliseconds".to_owned())?),
                "what" => filter.what = Some(value.parse().map_err(|error: Invalid| error.0)?),
                _ => {
                    return Err(format!(
                        "there is no filter {key:?}; limit, after, rollout, gateway, service, what and since are there"
                    ));
                }
            }
        }
        Ok(filter)
    }

    /// The same as the query of a URL.
    pub fn to_query(&self) -> String {
        let mut query = format!("limit={}", self.limit);
        let mut add = |key: &str, value: Option<String>| {
            if let Some(value) = value {
                query.extend(["&", key, "="]);
                query.extend(utf8_percent_encode(&value, NON_ALPHANUMERIC));
            }
        };
        add("after", self.after.map(|seq| seq.to_string()));
        add("rollout", self.rollout.clone());
        add("gateway", self.gateway.clone());
        add("service", self.service.clone());
        add("what", self.what.map(|what| what.to_string()));
        add("since", self.since.map(|since| since.to_string()));
        query
    }

    /// Where in the journal the rows are.
    pub fn span(&self) -> Span {
        self.after.map_or(Span::Newest, Span::After)
    }

    /// Says of a row whether it is wanted. A gateway that is gone is still found by its controller id.
    pub fn keep(&self, state: &State) -> impl Fn(&JournalEntry) -> bool + Send + 'static {
        let Self { rollout, gateway, service, what, since, .. } = self.clone();
        let named = gateway.as_ref().and_then(|who| {
            let mut gateways = state.gateways.iter();
            gateways.find(|(_, gateway)| gateway.spec.name == *who).map(|(id, _)| id.to_string())
        });
        move |row| {
            let is = |wanted: &Option<String>, found: &Option<String>| wanted.is_some() && wanted == found;
            rollout.as_ref().is_none_or(|name| row.rollout.as_ref().is_some_and(|label| is_of(label, name)))
                && (gateway.is_none() || is(&gateway, &row.gateway) || is(&named, &row.gateway))
                && (service.is_none() || is(&service, &row.service))
                && what.is_none_or(|what| what == row.what)
                && since.zip(row.wall).is_none_or(|(since, at)| since <= at)
        }
    }
}

/// A row calls a rollout by its name and, behind it, the artifact: `press-fw (fw 2.0.0)`. Either is enough to find it.
pub(super) fn is_of(label: &str, name: &str) -> bool {
    label.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(" ("))
}

fn limit(text: &str) -> Result<usize, String> {
    let most = JournalFilter::MOST;
    let limit = text.parse().ok().filter(|limit| (1..=most).contains(limit));
    limit.ok_or_else(|| format!("limit is 1 to {most}"))
}

/// Some rows, and where to read on.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct JournalRows {
    /// Oldest first.
    pub rows: Vec<JournalRowLine>,
    /// Whoever reads on asks for what is after this number.
    pub last: u64,
}

/// A row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JournalRowLine {
    /// Its number: they only grow.
    pub seq: u64,
    /// When, by the wall clock, if there was one.
    pub time: Option<String>,
    /// When, in milliseconds of the site's accumulated uptime.
    pub site_ms: u64,
    /// What happened.
    pub what: String,
    /// In which rollout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollout: Option<String>,
    /// To which gateway: its name, or its controller id if it has none any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<String>,
    /// Its controller id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller_id: Option<String>,
    /// To which service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// The rest, for a person.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// Rows of the journal, with the names that gateways have now.
pub fn journal(state: &State, page: JournalPage) -> JournalRows {
    let line = |seq, row: JournalEntry| JournalRowLine {
        seq,
        time: wall(&row),
        site_ms: row.at.0,
        what: row.what.to_string(),
        rollout: row.rollout,
        gateway: row.gateway.as_ref().map(|id| {
            let gateway = state.gateways.get(id.as_str());
            gateway.map_or_else(|| id.clone(), |gateway| gateway.spec.name.clone())
        }),
        controller_id: row.gateway,
        service: row.service,
        detail: row.detail,
    };
    JournalRows { rows: page.rows.into_iter().map(|row| line(row.seq, row.entry)).collect(), last: page.last }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_reads_back_from_its_query_and_what_is_wrong_is_said() {
        let filter = JournalFilter {
            limit: 7,
            after: Some(12),
            rollout: Some("press-fw".into()),
            gateway: Some("press & 1=ü".into()),
            service: Some("modbus".into()),
            what: Some(What::AttemptFailed),
            since: Some(-1),
        };
        assert_eq!(JournalFilter::from_query(&filter.to_query()), Ok(filter));
        assert_eq!(JournalFilter::from_query(""), Ok(JournalFilter::default()));
        assert_eq!(JournalFilter::from_query("what=updated").unwrap().what, Some(What::Updated));
        for (query, why) in [
            ("limit=0", "limit is 1 to 1000"),
            ("limit=1001", "limit is 1 to 1000"),
            ("after=-1", "after is the number of a row"),
            ("what=Nothing", "there is no kind of row \"Nothing\""),
            ("gateway=%ff", "gateway is not UTF-8"),
            ("since=noon", "since is in Unix milliseconds"),
            (
                "until=1",
                "there is no filter \"until\"; limit, after, rollout, gateway, service, what and since are there",
            ),
        ] {
            assert_eq!(JournalFilter::from_query(query), Err(why.to_owned()), "{query}");
        }
    }
}
