//! An object as the server sends it, decoded to what matters: no managed fields, and of its status only a fingerprint.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::mark::{Since, mark};
use super::{CLAIM, FINALIZER};
use crate::model::{Identity, ObjectName, ServiceName, Uid};

/// Which of our kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Gateway,
    Rollout,
    Service,
}

impl Kind {
    pub const ALL: [Self; 3] = [Self::Gateway, Self::Rollout, Self::Service];

    /// As it stands in paths.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Gateway => "edgegateways",
            Self::Rollout => "otarollouts",
            Self::Service => "edgeservices",
        }
    }

    /// As it stands in objects.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gateway => "EdgeGateway",
            Self::Rollout => "OtaRollout",
            Self::Service => "EdgeService",
        }
    }

    pub fn of(name: &ObjectName) -> Self {
        match name {
            ObjectName::Gateway(_) => Self::Gateway,
            ObjectName::Rollout(_) => Self::Rollout,
            ObjectName::Service(_) => Self::Service,
        }
    }

    pub fn object(self, name: String) -> ObjectName {
        match self {
            Self::Gateway => ObjectName::Gateway(name),
            Self::Rollout => ObjectName::Rollout(Identity(name)),
            Self::Service => ObjectName::Service(ServiceName(name)),
        }
    }
}

/// A page of a list. Whatever lacks one of these is no list, and above all no empty one.
#[derive(Debug, Deserialize)]
pub(super) struct Page {
    pub metadata: PageMeta,
    pub items: Vec<Guarded>,
}

/// An object, or what is wrong with it: one that nobody can read must not hide the others.
#[derive(Debug)]
pub(super) struct Guarded(pub Result<Item, String>);

impl<'de> Deserialize<'de> for Guarded {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Value::deserialize(deserializer)?;
        Ok(Self(serde_json::from_value(object).map_err(|error| error.to_string())))
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PageMeta {
    pub resource_version: String,
    #[serde(default, rename = "continue")]
    pub next: String,
}

/// An object.
#[derive(Debug, Deserialize)]
pub(super) struct Item {
    pub metadata: Meta,
    #[serde(default)]
    pub spec: Value,
    #[serde(default)]
    status: Value,
}

/// Of an object's metadata what matters.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Meta {
    pub name: String,
    pub uid: Uid,
    #[serde(default)]
    pub generation: i64,
    #[serde(default)]
    pub resource_version: String,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
    #[serde(default)]
    deletion_timestamp: Option<String>,
    #[serde(default)]
    finalizers: Vec<String>,
}

impl Item {
    /// Somebody deleted it, and it goes once its finalizers are gone.
    pub fn is_deleted(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    /// It carries our finalizer.
    pub fn is_adopted(&self) -> bool {
        self.metadata.finalizers.iter().any(|finalizer| finalizer == FINALIZER)
    }

    /// It carries our finalizer and this site's claim: a store of this site had it once.
    pub fn was_adopted_by(&self, site: &str) -> bool {
        self.is_adopted() && self.metadata.annotations.get(CLAIM).is_some_and(|claim| claim == site)
    }

    /// It says that it belongs to this site, or to none.
    pub fn may_be_ours(&self, site: &str) -> bool {
        self.metadata.annotations.get(CLAIM).is_none_or(|claim| claim == site)
    }

    /// What its status says, so that the same need not be written again; none if it says nothing.
    pub fn mark(&self, kind: Kind) -> Option<u64> {
        (!self.status.is_null()).then(|| mark(kind, &self.status))
    }

    /// Since when its conditions are as they are.
    pub fn since(&self) -> Since {
        Since::of(&self.status)
    }
}

/// A line of a watch.
#[derive(Debug, Deserialize)]
pub(super) struct Line {
    #[serde(rename = "type")]
    pub what: String,
    pub object: Value,
}
