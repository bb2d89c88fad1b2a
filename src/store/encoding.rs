//! A record on disk: the JSON array `[version, record]`.

use std::io;

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};

use super::record::{
    ArtifactRecord, DropRecord, GatewayRecord, MemberRecord, OrderRecord, RolloutRecord, SavedTime, ServiceRecord,
    SiteRecord,
};
use crate::model::JournalEntry;

/// Something that is written with a version.
///
/// A new optional field keeps the version. Anything else, a new variant of an enum included, raises it: otherwise an older
/// binary would take the record for garbage and set the store aside, instead of refusing to start.
pub(super) trait Record: Serialize + DeserializeOwned {
    /// What people call it.
    const KIND: &'static str;
    /// The version that is written, and the newest that is read.
    const VERSION: u64 = 1;
    /// The oldest version that is read: from it on, each had only more variants or fields than the one before.
    const OLDEST: u64 = Self::VERSION;
}

impl Record for SiteRecord {
    const KIND: &'static str = "the site's record";
    /// 2: there may be orders that stand, the site may be silent, when no deadline runs, and it belongs to a cluster.
    const VERSION: u64 = 2;
    const OLDEST: u64 = 1;
}
impl Record for SavedTime {
    const KIND: &'static str = "the saved time";
}
impl Record for GatewayRecord {
    const KIND: &'static str = "a gateway";
    /// 2: declared by a drop. 3: accepted undeclared. 4: declared by the API; that its last attempt failed is remembered.
    const VERSION: u64 = 4;
    const OLDEST: u64 = 1;
}
impl Record for RolloutRecord {
    const KIND: &'static str = "a rollout";
    /// 2: sources in the network. 3: declared by a drop; it may be cancelled, for good. 4: waves with names, selectors,
    /// approvals and what must be updated of them; windows, variants, spread and gates; declared by the API, and deleted there.
    const VERSION: u64 = 4;
    const OLDEST: u64 = 1;
}
impl Record for MemberRecord {
    const KIND: &'static str = "a member";
    /// 2: its order may be cancelled, and it skipped for that. 3: it has a variant, or none; it may be rolled back.
    const VERSION: u64 = 3;
    const OLDEST: u64 = 1;
}
impl Record for ArtifactRecord {
    const KIND: &'static str = "an artifact";
}
impl Record for JournalEntry {
    const KIND: &'static str = "a journal row";
    /// 2: rows about drops, artifacts that are fetched and go, and cancelled rollouts. 3: about retries and rollbacks, silent
    /// sites, edits that change nothing, services, and the API.
    const VERSION: u64 = 3;
    const OLDEST: u64 = 1;
}
impl Record for DropRecord {
    const KIND: &'static str = "a drop";
}
impl Record for OrderRecord {
    const KIND: &'static str = "an order";
}
impl Record for ServiceRecord {
    const KIND: &'static str = "a service";
}
impl Record for LostNote {
    const KIND: &'static str = "the note of a lost store";
}

/// Why this store is new although there was one: kept in it until the caller's first site record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LostNote {
    /// The file's name in the state directory.
    pub set_aside: String,
    /// What was wrong with it.
    pub why: String,
}

/// Why bytes are not a record.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// A later release wrote it.
    Newer { what: &'static str, found: u64, known: u64 },
    /// Nobody wrote it.
    Garbage(String),
}

/// The bytes of a record. Fails only for one that JSON has no form for, which no record's type allows.
pub(super) fn encode<R: Record>(record: &R) -> io::Result<Vec<u8>> {
    Ok(serde_json::to_vec(&(R::VERSION, record))?)
}

/// The record in some bytes.
pub(super) fn decode<R: Record>(bytes: &[u8]) -> Result<R, Unreadable> {
    let problem = match serde_json::from_slice::<(u64, R)>(bytes) {
        Ok((version, record)) if (R::OLDEST..=R::VERSION).contains(&version) => return Ok(record),
        Ok((version, _)) => format!("version {version} was never written"),
        Err(error) => error.to_string(),
    };
    // a newer record need not have this one's shape, so look at the number alone
    match serde_json::from_slice::<(u64, IgnoredAny)>(bytes) {
        Ok((found, _)) if found > R::VERSION => Err(Unreadable::Newer { what: R::KIND, found, known: R::VERSION }),
        _ => Err(Unreadable::Garbage(format!("{} is not readable: {problem}", R::KIND))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{SiteTime, WaveSpec};

    #[test]
    fn a_record_is_an_array_of_its_version_and_itself() {
        let time = SavedTime { site: SiteTime(7), boot_id: "b".into(), boot_ms: 9, trusted: None };
        let bytes = encode(&time).unwrap();
        assert_eq!(String::from_utf8_lossy(&bytes), r#"[1,{"site":7,"bootId":"b","bootMs":9}]"#);
        assert_eq!(decode::<SavedTime>(&bytes), Ok(time));
    }

    #[test]
    fn a_rollout_of_before_sources_in_the_network_is_still_read() {
        let artifact = |sources: &str| {
            let digest = "ab".repeat(32);
            format!(r#"{{"name":"os","version":"2","digest":"sha256:{digest}","size":4,"sources":[{sources}]}}"#)
        };
        let old = artifact(r#"{"file":{"dir":"/m","name":"os.swu"}}"#);
        assert!(serde_json::from_str::<crate::model::ArtifactSpec>(&old).is_ok());
        assert_eq!((RolloutRecord::OLDEST, RolloutRecord::VERSION), (1, 4));
    }

    #[test]
    fn records_of_before_cancellations_are_still_read() {
        let order = r#"{"id":"1000000001","open":true,"fetched":true}"#;
        let member = format!(r#"[1,{{"step":"Downloading","since":5,"attempts":1,"action":{order}}}]"#);
        let member = decode::<MemberRecord>(member.as_bytes()).unwrap();
        assert!(!member.action.unwrap().cancelling && (member.spent, member.variant) == (0, 0));
        let second = r#"{"secs":1,"nanos":0}"#;
        let deadlines = format!(r#"{{"download":{second},"install":{second},"confirm":{second}}}"#);
        let deadlines: crate::model::Deadlines = serde_json::from_str(&deadlines).unwrap();
        assert_eq!(deadlines.cancel.as_secs(), 1_800);
    }

    #[test]
    fn records_of_before_the_api_are_still_read() {
        let site = br#"[1,{"actionBase":"1000000001","actionNext":"1000000001","rolloutNext":1,"arrivals":0}]"#;
        assert_eq!(decode::<SiteRecord>(site).unwrap().cluster, None);
        let uid = "0b6f2d1e-00aa-4c51-9f00-0123456789ab".parse().unwrap();
        let by_api = serde_json::to_string(&crate::model::DeclaredBy::Api(uid)).unwrap();
        assert_eq!(by_api, r#"{"Api":"0b6f2d1e-00aa-4c51-9f00-0123456789ab"}"#);
        assert_eq!((GatewayRecord::OLDEST, GatewayRecord::VERSION), (1, 4));
    }

    #[test]
    fn records_of_before_spread_and_gates_are_still_read() {
        let digest = format!("sha256:{}", "ab".repeat(32));
        let artifact = format!(r#"{{"name":"os","version":"2","digest":"{digest}","size":4,"sources":[]}}"#);
        let second = r#"{"secs":1,"nanos":0}"#;
        let spec = format!(
            r#"{{"artifact":{artifact},"selector":{{"matchLabels":{{"line":"3"}}}},"strategy":{{"waves":[],"maxInFlight":"10%","maxFailures":"5%"}},"deadlines":{{"download":{second},"install":{second},"confirm":{second}}},"attempts":3,"confirmBy":"Auto","paused":false}}"#
        );
        let rollout = format!(r#"[3,{{"identity":"main","arrival":1,"spec":{spec},"listed":true}}]"#);
        let rollout = decode::<RolloutRecord>(rollout.as_bytes()).unwrap();
        assert!(rollout.spec.strategy.spread.is_none() && rollout.spec.gates.is_empty());
        let spec = r#"{"name":"g","controllerId":"g","labels":{},"token":null,"hold":false}"#;
        let gateway = format!(r#"[3,{{"spec":{spec},"listed":true,"presence":"Polling"}}]"#);
        assert!(!decode::<GatewayRecord>(gateway.as_bytes()).unwrap().failed);
    }

    #[test]
    fn records_of_before_waves_had_names_are_still_read() {
        let wave = r#"{"size":2,"soak":{"secs":600,"nanos":0},"opened_at":7}"#;
        let wave: crate::store::WaveRecord = serde_json::from_str(wave).unwrap();
        assert_eq!((wave.name.as_str(), wave.asked, wave.opened_at), ("", None, Some(SiteTime(7))));
        let spec: WaveSpec = serde_json::from_str(r#"{"size":"1","soak":{"secs":600,"nanos":0}}"#).unwrap();
        assert_eq!(spec, WaveSpec::CANARY);
        let site = r#"[1,{"actionBase":"1000000001","actionNext":"1000000001","rolloutNext":1,"arrivals":0}]"#;
        assert_eq!(decode::<SiteRecord>(site.as_bytes()).unwrap().silence, None);
    }

    #[test]
    fn a_rollout_of_before_windows_is_still_read_and_may_start_at_all_times() {
        let digest = "ab".repeat(32);
        let artifact = format!(r#"{{"name":"os","version":"2","digest":"sha256:{digest}","size":4,"sources":[]}}"#);
        let strategy = r#"{"waves":[],"maxInFlight":"10%","maxFailures":"5%"}"#;
        let second = r#"{"secs":1,"nanos":0}"#;
        let deadlines = format!(r#"{{"download":{second},"install":{second},"confirm":{second}}}"#);
        let spec = format!(
            r#"{{"artifact":{artifact},"selector":{{"matchLabels":{{}}}},"strategy":{strategy},"deadlines":{deadlines},"attempts":3,"confirmBy":"Auto","paused":false}}"#
        );
        let old = format!(r#"[3,{{"identity":"main","arrival":1,"spec":{spec},"listed":true}}]"#);
        assert!(decode::<RolloutRecord>(old.as_bytes()).unwrap().spec.windows.is_empty());
    }

    #[test]
    fn a_site_of_before_there_were_standing_orders_is_read_and_one_since_is_refused_by_older_releases() {
        let old = br#"[1,{"actionBase":"1000000001","actionNext":"1000000002","rolloutNext":3,"arrivals":4}]"#;
        let site = decode::<SiteRecord>(old).unwrap();
        assert_eq!((site.arrivals, site.lost), (4, false));
        let new = String::from_utf8(encode(&site).unwrap()).unwrap();
        assert!(new.starts_with("[2,"), "an order writes it too, so that nobody overlooks a pause: {new}");
    }

    #[test]
    fn an_unknown_field_is_read_over() {
        let bytes = br#"[1,{"site":7,"bootId":"b","bootMs":9,"addedLater":{"x":[1]}}]"#;
        assert_eq!(decode::<SavedTime>(bytes).unwrap().boot_ms, 9);
    }

    #[test]
    fn a_newer_record_is_newer_whatever_its_shape_and_the_rest_is_garbage() {
        for newer in [&br#"[2,"another shape"]"#[..], br#"[2,{"site":7,"bootId":"b","bootMs":9}]"#] {
            assert_eq!(
                decode::<SavedTime>(newer),
                Err(Unreadable::Newer { what: "the saved time", found: 2, known: 1 })
            );
        }
        for garbage in [&b""[..], b"[]", b"[1]", b"[1,{}]", b"[0,{}]", b"\xff\xff", b"[9", b"{}", b"[-1,{}]"] {
            assert!(matches!(decode::<SavedTime>(garbage), Err(Unreadable::Garbage(_))), "{garbage:?}");
        }
    }
}
