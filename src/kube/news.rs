//! What a person wants to hear of, as events of the server.

use serde_json::{Value, json};

use super::MANAGER;
use super::fault::short;
use crate::model::{ObjectName, Uid};

/// Something that happened to an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct News {
    /// To which object.
    pub object: ObjectName,
    /// One word, from our own list: it must not vary with what happened.
    pub reason: &'static str,
    /// The rest, for a person.
    pub note: String,
    /// Somebody should look.
    pub warning: bool,
    /// When, in Unix milliseconds.
    pub at: i64,
}

/// So much news waits at most; the oldest goes first. The journal has them all.
const MOST: usize = 64;

/// Adds news to what waits. The same said again says nothing.
pub(super) fn add(waiting: &mut Vec<News>, news: News) {
    let same = |known: &News| (&known.object, known.reason, &known.note) == (&news.object, news.reason, &news.note);
    if waiting.iter().any(same) {
        return;
    }
    if waiting.len() >= MOST {
        waiting.remove(0);
    }
    waiting.push(news);
}

impl News {
    /// As an object of events.k8s.io. The same news has the same name, so that written twice it is there once.
    pub(super) fn event(&self, namespace: &str, uid: Uid, site: &str) -> (String, Value) {
        let name = format!("{}.{:x}.{}", self.object.name(), self.at, self.reason.to_lowercase());
        let time = jiff::Timestamp::from_millisecond(self.at).unwrap_or_default();
        let (api_version, kind) = match self.object {
            ObjectName::Rollout(_) => (crate::resources::API_VERSION, "OtaRollout"),
            ObjectName::Gateway(_) => (crate::resources::API_VERSION, "EdgeGateway"),
            ObjectName::Service(_) => (crate::resources::API_VERSION, "EdgeService"),
        };
        let event = json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            // microseconds, as the server reads nothing else
            "eventTime": format!("{time:.6}"),
            "reportingController": "lamplighter.dev/lamplighter", "reportingInstance": format!("{MANAGER}-{site}"),
            "action": self.reason, "reason": self.reason, "note": short(&self.note),
            "type": if self.warning { "Warning" } else { "Normal" },
            "regarding": {"apiVersion": api_version, "kind": kind, "namespace": namespace, "name": self.object.name(), "uid": uid},
        });
        (name, event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Identity;

    #[test]
    fn the_same_news_waits_once_and_the_oldest_goes_first() {
        let news = |n: usize| News {
            object: ObjectName::Rollout(Identity("r".into())),
            reason: "WaveOpened",
            note: format!("wave {n}"),
            warning: false,
            at: 0,
        };
        let mut waiting = Vec::new();
        (0..100).flat_map(|n| [news(n), news(n)]).for_each(|news| add(&mut waiting, news));
        assert_eq!((waiting.len(), waiting[0].note.as_str()), (MOST, "wave 36"));
    }
}
