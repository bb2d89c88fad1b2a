//! `uplink` of the site file: how artifacts are fetched.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

use crate::model::Origin;
use crate::resources::{FieldError, IntOrBytes, parse_bytes};

/// How artifacts are fetched, checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Uplink {
    /// What all fetches together may use; none: no limit.
    pub bytes_per_second: Option<NonZeroU64>,
    /// PEM files of authorities that count beside the system's.
    pub ca_files: Vec<PathBuf>,
    /// Files with `USER:PASSWORD` or `Bearer TOKEN`, by the host that they are for.
    pub credentials: BTreeMap<Origin, PathBuf>,
}

impl Uplink {
    /// Slower than this, no fetch ever ends: it would count as stuck.
    pub const LEAST_BYTES_PER_SECOND: u64 = 1024;
    /// Hosts with a password of their own.
    pub const MOST_CREDENTIALS: usize = 64;
}

/// `uplink` as typed.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the checked struct says what they mean")]
pub struct TypedUplink {
    pub bytes_per_second: Option<IntOrBytes>,
    #[schemars(length(max = 16), inner(length(min = 1, max = 4096)))]
    pub ca_files: Option<Vec<String>>,
    pub credentials: Option<BTreeMap<String, String>>,
}

impl TypedUplink {
    /// Relative paths start from `base`.
    pub(super) fn check(self, base: &Path) -> Result<Uplink, FieldError> {
        let typed = self.credentials.unwrap_or_default();
        if typed.len() > Uplink::MOST_CREDENTIALS {
            let why = format!("has {} hosts; at most {} have a password", typed.len(), Uplink::MOST_CREDENTIALS);
            return Err(FieldError::new("uplink.credentials", why));
        }
        let mut credentials = BTreeMap::new();
        for (host, file) in typed {
            let wrong = |why: String| FieldError::new(format!("uplink.credentials.{host}"), why);
            let origin: Origin = host.parse().map_err(|error: crate::model::Invalid| wrong(error.0))?;
            if file.is_empty() || file.len() > 4096 {
                return Err(wrong("should be the path of a file with one line, USER:PASSWORD or Bearer TOKEN".into()));
            }
            if credentials.insert(origin, base.join(file)).is_some() {
                return Err(wrong("is the same host as another one; keep one of them".into()));
            }
        }
        Ok(Uplink {
            bytes_per_second: self.bytes_per_second.map(|typed| rate(&typed)).transpose()?,
            ca_files: self.ca_files.unwrap_or_default().iter().map(|file| base.join(file)).collect(),
            credentials,
        })
    }
}

fn rate(typed: &IntOrBytes) -> Result<NonZeroU64, FieldError> {
    let field = "uplink.bytesPerSecond";
    let rate = parse_bytes(&typed.0).map_err(|error| FieldError::new(field, error.0))?;
    NonZeroU64::new(rate).filter(|rate| rate.get() >= Uplink::LEAST_BYTES_PER_SECOND).ok_or_else(|| {
        let why = format!("is {}; use at least 1Ki, or leave it out for no limit", typed.0);
        FieldError::new(field, why)
    })
}
