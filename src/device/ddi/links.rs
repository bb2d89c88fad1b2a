//! The URLs that devices are given. Absolute (b.8.5, b.9.1, b.10.2), on the address the device used.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::model::ActionId;

use super::route::Path;
use super::{Head, Settings};
use crate::device::Artifact;

/// What may stand in a path segment as it is.
const SEGMENT: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b':').remove(b'@');

/// `{base}/{tenant}/controller/v1/{gateway}`, where every link starts.
#[derive(Debug, Clone)]
pub(super) struct Links(String);

impl Links {
    pub(super) fn new(settings: &Settings, head: &Head<'_>, path: &Path<'_>) -> Self {
        let base = match &settings.url {
            Some(url) => url.trim_end_matches('/').to_owned(),
            None => format!("{}://{}", if head.secure { "https" } else { "http" }, head.host()),
        };
        Self(format!("{base}/{}/controller/v1/{}", segment(&path.tenant), segment(&path.gateway)))
    }

    pub(super) fn attributes(&self) -> String {
        format!("{}/configData", self.0)
    }

    /// `c` is a change marker (b.1): another artifact under the same id would be another link.
    pub(super) fn deployment(&self, action: ActionId, artifact: &Artifact) -> String {
        format!("{}/deploymentBase/{action}?c={}", self.0, artifact.key.digest.module_id())
    }

    /// No query: SWUpdate appends `/feedback` (b.9.1). A leading zero: old Zephyr drops the first digit (b.0.6).
    pub(super) fn cancel(&self, action: ActionId) -> String {
        format!("{}/cancelAction/0{action}", self.0)
    }

    pub(super) fn artifact(&self, artifact: &Artifact) -> String {
        let module = artifact.key.digest.module_id();
        format!("{}/softwaremodules/{module}/artifacts/{}", self.0, segment(&artifact.file_name))
    }
}

fn segment(text: &str) -> impl std::fmt::Display {
    utf8_percent_encode(text, SEGMENT)
}
