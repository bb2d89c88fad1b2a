//! Requests to the API server, counted by what they ask and how they were answered.

use std::cell::RefCell;
use std::collections::BTreeMap;

use hyper::Method;

/// The counts. There are as many as there are verbs and codes.
#[derive(Debug, Default)]
pub(super) struct Requests(RefCell<BTreeMap<(&'static str, &'static str), u64>>);

/// A watch asks by GET, and is something else.
pub(super) const WATCH: &str = "watch";

/// What a request asks, in the server's words.
pub(super) fn verb(method: &Method) -> &'static str {
    match *method {
        Method::GET => "get",
        Method::PATCH => "patch",
        Method::POST => "create",
        Method::DELETE => "delete",
        _ => "other",
    }
}

/// A server may answer whatever it likes, so codes that mean nothing to us are counted by their class.
fn code(status: Option<u16>) -> &'static str {
    match status {
        None => "none",
        Some(200) => "200",
        Some(201) => "201",
        Some(400) => "400",
        Some(401) => "401",
        Some(403) => "403",
        Some(404) => "404",
        Some(409) => "409",
        Some(410) => "410",
        Some(413) => "413",
        Some(415) => "415",
        Some(422) => "422",
        Some(429) => "429",
        Some(500) => "500",
        Some(502) => "502",
        Some(503) => "503",
        Some(504) => "504",
        Some(200..300) => "2xx",
        Some(300..400) => "3xx",
        Some(400..500) => "4xx",
        Some(500..600) => "5xx",
        Some(_) => "other",
    }
}

impl Requests {
    /// A request with this verb was answered so, or not at all.
    pub fn count(&self, verb: &'static str, status: Option<u16>) {
        *self.0.borrow_mut().entry((verb, code(status))).or_default() += 1;
    }

    /// By verb and code.
    pub fn all(&self) -> Vec<(&'static str, &'static str, u64)> {
        self.0.borrow().iter().map(|((verb, code), count)| (*verb, *code, *count)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_with_codes_of_its_own_makes_no_more_than_a_few_series() {
        let requests = Requests::default();
        for status in 0..2_000 {
            requests.count(verb(&Method::GET), Some(status));
        }
        requests.count(WATCH, None);
        let all = requests.all();
        assert_eq!(all.iter().map(|(.., count)| count).sum::<u64>(), 2_001);
        assert!(all.len() < 25, "{all:?}");
        assert!(all.contains(&("get", "401", 1)) && all.contains(&("watch", "none", 1)), "{all:?}");
    }
}
