//! What a device reads and says over DDI: the parts of the hawkBit Direct Device Integration API that real clients use.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::cast::Client;
use super::firmware::ARTIFACT;

/// The root resource, the answer to a poll.
#[derive(Debug, Deserialize)]
pub struct Root {
    config: Config,
    #[serde(default, rename = "_links")]
    links: Links,
}

#[derive(Debug, Deserialize)]
struct Config {
    polling: Polling,
}

#[derive(Debug, Deserialize)]
struct Polling {
    sleep: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Links {
    deployment_base: Option<Link>,
    config_data: Option<Link>,
}

#[derive(Debug, Deserialize)]
struct Link {
    href: String,
}

impl Root {
    /// Where the order lies, if there is one.
    pub fn order(&self) -> Option<&str> {
        self.links.deployment_base.as_ref().map(|link| link.href.as_str())
    }

    /// Where attributes are wanted, if they are.
    pub fn attributes(&self) -> Option<&str> {
        self.links.config_data.as_ref().map(|link| link.href.as_str())
    }

    /// How long to sleep until the next poll: exactly `HH:mm:ss`, as real clients demand.
    pub fn sleep(&self) -> Option<Duration> {
        let text = &self.config.polling.sleep;
        let [h, m, s] = text.split(':').collect::<Vec<_>>().try_into().ok()?;
        let part = |two: &str| (two.len() == 2).then(|| two.parse::<u64>().ok()).flatten();
        let seconds = part(h)? * 3600 + part(m)? * 60 + part(s)?;
        (seconds > 0).then(|| Duration::from_secs(seconds))
    }
}

/// An order, the deploymentBase resource, reduced to its one artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// The action's id.
    pub action: String,
    /// The version to install.
    pub version: String,
    /// 64 lower-case hex digits.
    pub sha256: String,
    /// In bytes.
    pub size: u64,
    /// Where the bytes are.
    pub href: String,
}

#[derive(Deserialize)]
struct Deployment {
    id: String,
    deployment: Inner,
}

#[derive(Deserialize)]
struct Inner {
    #[serde(rename = "download")]
    _download: String,
    update: String,
    chunks: Vec<Chunk>,
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(rename = "part")]
    _part: String,
    version: String,
    name: String,
    artifacts: Vec<Artifact>,
}

#[derive(Deserialize)]
struct Artifact {
    #[serde(rename = "filename")]
    _filename: String,
    hashes: Hashes,
    size: u64,
    #[serde(rename = "_links")]
    links: ArtifactLinks,
}

#[derive(Deserialize)]
struct Hashes {
    sha256: String,
    #[serde(rename = "sha1")]
    _sha1: String,
    #[serde(rename = "md5")]
    _md5: String,
}

#[derive(Deserialize)]
struct ArtifactLinks {
    #[serde(rename = "download-http")]
    http: Link,
    #[serde(rename = "download")]
    _https: Link,
}

impl Order {
    /// Reads an order as strictly as the strictest real client: one chunk, one artifact, all members there.
    pub fn read(body: &[u8]) -> Result<Self, String> {
        let order: Deployment = serde_json::from_slice(body).map_err(|error| format!("unreadable order: {error}"))?;
        if order.deployment.update == "skip" {
            return Err("an order with update \"skip\" is closed as a success by SWUpdate".into());
        }
        let [chunk] = <[Chunk; 1]>::try_from(order.deployment.chunks).map_err(|_| "an order has exactly one chunk")?;
        let [artifact] = <[Artifact; 1]>::try_from(chunk.artifacts).map_err(|_| "a chunk has exactly one artifact")?;
        if chunk.name != ARTIFACT {
            return Err(format!("an order for {:?} instead of {ARTIFACT:?}", chunk.name));
        }
        Ok(Self {
            action: order.id,
            version: chunk.version,
            sha256: artifact.hashes.sha256,
            size: artifact.size,
            href: artifact.links.http.href,
        })
    }
}

/// What a device says about an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// It goes on.
    Proceeding(&'static str),
    /// It ended well.
    Success(&'static str),
    /// It did not.
    Failure(&'static str),
}

/// The body of a feedback, in the dialect of the client.
pub fn feedback(client: Client, action: &str, word: &Word) -> Value {
    let (execution, finished, detail) = match word {
        Word::Proceeding(detail) => ("proceeding", "none", detail),
        Word::Success(detail) => ("closed", "success", detail),
        Word::Failure(detail) => ("closed", "failure", detail),
    };
    match client {
        Client::SwUpdate => {
            let id = action.parse::<i64>().map_or_else(|_| json!(action), |id| json!(id));
            json!({"id": id, "time": "20260101T000000", "status": {
                "result": {"progress": {"cnt": 0, "of": 0}, "finished": finished},
                "execution": execution, "details": [detail]}})
        }
        Client::Rauc => json!({"id": action, "time": "20260101T000000", "status": {
            "execution": execution, "result": {"finished": finished}, "details": [detail]}}),
        Client::Generic => json!({"status": {
            "execution": execution, "result": {"finished": finished}, "details": [detail]}}),
    }
}

/// The body of configData: what the device runs.
pub fn attributes(client: Client, version: &str) -> Value {
    match client {
        Client::Rauc => json!({"id": "", "time": "20260101T000000", "data": {ARTIFACT: version},
            "status": {"execution": "closed", "result": {"finished": "success"}, "details": []}}),
        Client::SwUpdate | Client::Generic => json!({"mode": "merge", "data": {ARTIFACT: version}}),
    }
}

/// The client's `User-Agent`, as seen on the wire.
pub fn user_agent(client: Client) -> &'static str {
    match client {
        Client::SwUpdate => "libcurl-agent/1.0",
        Client::Rauc => "rauc-hawkbit-c-agent/1.4",
        Client::Generic => "lamplighter-simulate",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order() -> Value {
        json!({"id": "1000000011", "deployment": {"download": "forced", "update": "forced", "chunks": [{
            "part": "bApp", "version": "2.0.0", "name": "gateway-os", "artifacts": [{"filename": "firmware.bin",
            "hashes": {"sha1": "1", "md5": "2", "sha256": "3"}, "size": 7,
            "_links": {"download": {"href": "http://h/x"}, "download-http": {"href": "http://h/x"}}}]}]}})
    }

    #[test]
    fn a_root_without_links_is_harmless_and_sleep_is_eight_characters() {
        let root =
            |sleep: &str| serde_json::from_value::<Root>(json!({"config": {"polling": {"sleep": sleep}}})).unwrap();
        assert_eq!(root("00:01:05").sleep(), Some(Duration::from_secs(65)));
        assert!(root("00:01:05").order().is_none() && root("00:01:05").attributes().is_none());
        for bad in ["00:00:00", "0:1:5", "00:01", "00:00:00:01", "aa:bb:cc", ""] {
            assert_eq!(root(bad).sleep(), None, "{bad}");
        }
    }

    #[test]
    fn an_order_is_read() {
        let read = Order::read(order().to_string().as_bytes()).unwrap();
        assert_eq!((read.action.as_str(), read.size, read.href.as_str()), ("1000000011", 7, "http://h/x"));
    }

    #[test]
    fn what_real_clients_choke_on_is_an_error() {
        let broken = |change: fn(&mut Value)| {
            let mut order = order();
            change(&mut order);
            Order::read(order.to_string().as_bytes()).unwrap_err()
        };
        broken(|order| order["id"] = json!(1_000_000_011));
        broken(|order| order["deployment"]["update"] = json!("skip"));
        broken(|order| order["deployment"]["update"] = Value::Null);
        broken(|order| order["deployment"]["chunks"] = json!([]));
        broken(|order| order["deployment"]["chunks"][0]["name"] = json!("something else"));
        broken(|order| order["deployment"]["chunks"][0]["artifacts"][0]["hashes"]["sha1"] = Value::Null);
        broken(|order| order["deployment"]["chunks"][0]["artifacts"][0]["_links"] = json!({}));
    }

    #[test]
    fn swupdate_says_its_id_as_a_number() {
        let word = Word::Success("done");
        assert_eq!(feedback(Client::SwUpdate, "1000000011", &word)["id"], json!(1_000_000_011));
        assert_eq!(feedback(Client::Rauc, "1000000011", &word)["id"], json!("1000000011"));
        assert_eq!(feedback(Client::Generic, "1", &word)["status"]["execution"], json!("closed"));
    }
}
