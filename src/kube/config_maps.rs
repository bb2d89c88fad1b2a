//! ConfigMaps that services read: each watched by its name, hashed as it comes, and nothing of it kept.
//!
//! Absence of an answer is no word: what was read stays as it was until the server says something else.

use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Visitor};
use serde_json::from_slice;
use sha2::{Digest, Sha256};
use tokio::sync::watch;
use tokio::task::{JoinHandle, spawn_local};
use tokio::time::sleep;
use tracing::debug;

use super::connection::Shared;
use super::fault::Fault;
use super::follow::until_news;
use super::namespace::Namespace;
use super::objects::Objects;
use super::settings::Backoff;
use super::watch::open;
use crate::model::{ConfigMapSeen, ConfigMaps, ServiceReason};

/// Each is a connection of its own, some 60 KiB with TLS.
const MOST: usize = 32;
/// How soon it is seen that the server is followed again.
const LOOK: Duration = Duration::from_secs(5);

/// Says what is in the ConfigMaps that are wanted, until nobody says any more which.
pub async fn config_maps(
    mut wanted: watch::Receiver<Vec<Box<str>>>,
    objects: Rc<Objects>,
    seen: watch::Sender<ConfigMaps>,
) {
    let mut watches: Vec<(Box<str>, JoinHandle<()>)> = Vec::new();
    loop {
        let names = wanted.borrow_and_update().clone();
        let (followed, others) = names.split_at_checked(MOST).unwrap_or((&names, &[]));
        watches.retain(|(name, task)| {
            let is_wanted = followed.contains(name);
            if !is_wanted {
                task.abort();
            }
            is_wanted
        });
        seen.send_if_modified(|maps| {
            let before = maps.len();
            Arc::make_mut(maps).retain(|(name, _)| followed.contains(name));
            maps.len() != before
        });
        for name in others {
            let why = format!(
                "more than {MOST} ConfigMaps are read through the API; mount some as volumes, and name their paths"
            );
            say(&seen, name, Err((ServiceReason::ConfigUnreadable, why)));
        }
        for name in followed {
            if !watches.iter().any(|(known, _)| known == name) {
                let task = spawn_local(follow(name.clone(), objects.clone(), seen.clone()));
                watches.push((name.clone(), task));
            }
        }
        if wanted.changed().await.is_err() {
            return;
        }
    }
}

/// From where a watch goes on.
enum From {
    /// It is to be read first.
    Nothing,
    /// It was not there.
    Missing,
    /// It was so at this version.
    Version(String),
}

async fn follow(name: Box<str>, objects: Rc<Objects>, seen: watch::Sender<ConfigMaps>) {
    let (mut from, mut backoff) = (From::Nothing, Backoff::default());
    loop {
        // only while the right cluster is followed
        let api = objects.api.borrow().clone();
        let Some(api) = api else {
            until_news(&objects, LOOK).await;
            continue;
        };
        match once(&api, &objects, &name, &mut from, &seen).await {
            Ok(()) => backoff.reset(),
            Err(fault) => {
                debug!(config_map = &*name, %fault, "a ConfigMap is not followed; what was read of it stays");
                if let Fault::Refused(403, ..) = fault {
                    forbidden(&seen, &name, &fault);
                }
                from = From::Nothing;
                sleep(backoff.next()).await;
            }
        }
    }
}

/// As long as one watch. Who answers is asked each time.
async fn once(
    api: &Shared,
    objects: &Objects,
    name: &str,
    from: &mut From,
    seen: &watch::Sender<ConfigMaps>,
) -> Result<(), Fault> {
    if Some(Namespace::look(api, objects).await?.cluster()) != objects.followed.get() {
        return Err(Fault::Again);
    }
    let all = format!("/api/v1/namespaces/{}/configmaps", api.namespace());
    if matches!(from, From::Nothing) {
        objects.count(false);
        *from = match api.get(&format!("{all}/{name}")).await {
            Ok(body) => {
                let map: Map = from_slice(&body).map_err(Fault::garbled)?;
                From::Version(there(seen, name, map))
            }
            Err(Fault::Refused(404, reason, _)) if reason == "NotFound" => {
                say(seen, name, missing(name));
                From::Missing
            }
            Err(fault) => return Err(fault),
        };
    }
    let version = match from {
        From::Version(version) => Some(version.as_str()),
        _ => None,
    };
    let only = |query: &str| format!("{all}?{query}&fieldSelector=metadata.name%3D{name}");
    let mut lines = open(api, objects, version, only).await?;
    while let Some(line) = lines.next().await? {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let line: Line = from_slice(&line).map_err(Fault::garbled)?;
        let version = line.object.metadata.resource_version.clone();
        match line.what.as_str() {
            "ADDED" | "MODIFIED" => _ = there(seen, name, line.object),
            "DELETED" => say(seen, name, missing(name)),
            "ERROR" => return Err(Fault::Expired),
            _ => {}
        }
        if !version.is_empty() {
            *from = From::Version(version);
        }
    }
    Ok(())
}

/// Says what is in it; its version.
fn there(seen: &watch::Sender<ConfigMaps>, name: &str, map: Map) -> String {
    let version = map.metadata.resource_version;
    let binary = map
        .binary_data
        .into_iter()
        .map(|(key, Hashed(hash))| (key, Sha256::digest([&hash[..], b"binary"].concat()).into()));
    let mut keys: Vec<(String, [u8; 32])> =
        map.data.into_iter().map(|(key, Hashed(hash))| (key, hash)).chain(binary).collect();
    keys.sort_unstable();
    say(seen, name, if keys.is_empty() { missing(name) } else { Ok(keys) });
    version
}

fn missing(name: &str) -> ConfigMapSeen {
    Err((ServiceReason::ConfigMissing, format!("ConfigMap/{name} is not there or empty")))
}

/// Rights that were taken away change nothing about what was read.
fn forbidden(seen: &watch::Sender<ConfigMaps>, name: &str, fault: &Fault) {
    if !seen.borrow().iter().any(|(known, _)| **known == *name) {
        let why = format!("ConfigMap/{name} cannot be read from the API server: {fault}");
        say(seen, name, Err((ServiceReason::ConfigUnreadable, why)));
    }
}

fn say(seen: &watch::Sender<ConfigMaps>, name: &str, what: ConfigMapSeen) {
    seen.send_if_modified(|maps| {
        if maps.iter().any(|(known, before)| **known == *name && *before == what) {
            return false;
        }
        let maps = Arc::make_mut(maps);
        maps.retain(|(known, _)| **known != *name);
        maps.push((name.into(), what));
        true
    });
}

#[derive(serde::Deserialize)]
struct Line {
    #[serde(rename = "type")]
    what: String,
    object: Map,
}

/// A ConfigMap, or what a watch says instead of one.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Map {
    #[serde(default)]
    metadata: Meta,
    #[serde(default)]
    data: BTreeMap<String, Hashed>,
    #[serde(default)]
    binary_data: BTreeMap<String, Hashed>,
}

#[derive(Default, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    #[serde(default)]
    resource_version: String,
}

/// A text of which only the hash is kept.
struct Hashed([u8; 32]);

impl<'de> Deserialize<'de> for Hashed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Hasher;
        impl Visitor<'_> for Hasher {
            type Value = Hashed;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }
            fn visit_str<E>(self, text: &str) -> Result<Hashed, E> {
                Ok(Hashed(Sha256::digest(text).into()))
            }
        }
        deserializer.deserialize_str(Hasher)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(json: &str) -> Vec<(String, [u8; 32])> {
        let (seen, now) = watch::channel(ConfigMaps::default());
        assert_eq!(there(&seen, "a", serde_json::from_str(json).unwrap()), "7");
        let (name, keys) = now.borrow().first().cloned().unwrap();
        assert_eq!(&*name, "a");
        keys.unwrap_or_default()
    }

    #[test]
    fn of_a_config_map_only_the_names_of_keys_and_their_hashes_are_kept() {
        let first = keys(
            r#"{"metadata": {"resourceVersion": "7", "labels": {"a": "b"}}, "data": {"b.conf": "x\n", "a.conf": "y"}}"#,
        );
        let names: Vec<&str> = first.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a.conf", "b.conf"]);
        assert_eq!(first[1].1, <[u8; 32]>::from(Sha256::digest("x\n")));
        let again = keys(r#"{"metadata": {"resourceVersion": "7"}, "data": {"a.conf": "y", "b.conf": "x\n"}}"#);
        assert_eq!(first, again, "neither labels nor the order of keys are content");
        let binary =
            keys(r#"{"metadata": {"resourceVersion": "7"}, "binaryData": {"a.conf": "y"}, "data": {"b.conf": "x\n"}}"#);
        assert_ne!(first, binary);
        assert!(keys(r#"{"metadata": {"resourceVersion": "7"}}"#).is_empty(), "an empty one is not there");
    }
}
