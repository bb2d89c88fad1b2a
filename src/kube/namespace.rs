//! Our namespace: its uid says which cluster answers, and its end is the end of all that is in it.
//!
//! When it is deleted, the server takes our rights away along with everything else, in no particular order, and a pod of ours
//! first of all; but not before five seconds have passed. So its end is watched.

use serde::Deserialize;
use serde_json::from_slice;
use tracing::debug;

use super::connection::{Api, Lines, given_up_after};
use super::fault::Fault;
use super::objects::Objects;
use super::settings::Patience;
use crate::model::Uid;

/// What is known of it.
#[derive(Deserialize)]
pub(super) struct Namespace {
    metadata: Meta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    uid: Uid,
    #[serde(default)]
    deletion_timestamp: Option<String>,
}

impl Namespace {
    /// As it is now.
    pub async fn look(api: &Api, objects: &Objects) -> Result<Self, Fault> {
        objects.count(false);
        let body = api.get(&format!("/api/v1/namespaces/{}", api.namespace())).await?;
        from_slice(&body).map_err(Fault::garbled)
    }

    /// Which cluster it is in.
    pub fn cluster(&self) -> Uid {
        self.metadata.uid
    }

    /// Somebody deleted it, which cannot be taken back.
    pub fn ends(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }
}

/// A watch over it; without the right to watch it there is none, and it is looked at now and then.
pub(super) struct Watch(Option<Lines>);

impl Watch {
    /// Begins with how it is now.
    pub async fn begin(api: &Api, objects: &Objects) -> Result<Self, Fault> {
        let (_, seconds) = Patience::WATCH;
        // the old way to say it: of a list with a selector the server does not see that it is in our namespace, and a Role
        // gives no right to it
        let path = format!("/api/v1/watch/namespaces/{}?timeoutSeconds={seconds}", api.namespace());
        objects.count(false);
        match api.lines(&path, given_up_after(seconds)).await {
            Ok(lines) => Ok(Self(Some(lines))),
            Err(fault @ Fault::Refused(..)) => {
                debug!(%fault, "the namespace cannot be watched");
                Ok(Self(None))
            }
            Err(fault) => Err(fault),
        }
    }

    /// Waits until it ends; whether it does, or else the watch is over.
    pub async fn ends(&mut self) -> Result<bool, Fault> {
        #[derive(Deserialize)]
        struct Line {
            object: Namespace,
        }
        let Some(lines) = &mut self.0 else { return Ok(false) };
        while let Some(line) = lines.next().await? {
            // whatever else is said comes again, or is said by the other watches
            if from_slice::<Line>(&line).is_ok_and(|line| line.object.ends()) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
