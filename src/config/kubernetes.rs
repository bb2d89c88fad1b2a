//! `kubernetes` of the site file: the API server that the site follows.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

use crate::model::{Labels, Uid};
use crate::resources::{FieldError, check_labels, is_object_name};

/// The API server that the site follows, checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kubernetes {
    /// What the file says; none: if there is one to be found.
    pub enabled: Option<bool>,
    /// The namespace; none: the one of the kubeconfig or of the pod.
    pub namespace: Option<String>,
    /// Where the server is; none: what a pod is given.
    pub kubeconfig: Option<PathBuf>,
    /// Only objects with these labels.
    pub selector: Labels,
    /// The cluster that the site belongs to, in the place of the one that it saw first.
    pub cluster: Option<Uid>,
}

impl Kubernetes {
    /// Is there one to follow? If nothing is said, whoever names a kubeconfig means it, and so does whoever starts a pod.
    pub fn is_enabled(&self) -> bool {
        let in_a_pod = || std::env::var_os("KUBERNETES_SERVICE_HOST").is_some();
        self.enabled.unwrap_or_else(|| self.kubeconfig.is_some() || in_a_pod())
    }
}

/// `kubernetes` as typed.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the checked struct says what they mean")]
pub struct TypedKubernetes {
    pub enabled: Option<bool>,
    #[schemars(length(min = 1, max = 63))]
    pub namespace: Option<String>,
    #[schemars(length(min = 1, max = 4096))]
    pub kubeconfig: Option<String>,
    pub site_selector: Option<BTreeMap<String, String>>,
    #[schemars(length(min = 36, max = 36))]
    pub cluster: Option<String>,
}

impl TypedKubernetes {
    pub(super) fn check(self, base: &Path) -> Result<Kubernetes, FieldError> {
        if let Some(namespace) = self.namespace.as_ref().filter(|name| !is_object_name(name) || name.contains('.')) {
            let why = format!("{namespace:?} is not a namespace: use lower-case letters, digits and '-'");
            return Err(FieldError::new("kubernetes.namespace", why));
        }
        let selector = self.site_selector.unwrap_or_default();
        check_labels(&selector).map_err(|(key, why)| {
            FieldError::new(format!("kubernetes.siteSelector.{key}").trim_end_matches('.'), why)
        })?;
        let cluster = self.cluster.map(|text| {
            text.parse().map_err(|error: crate::model::Invalid| FieldError::new("kubernetes.cluster", error.0))
        });
        Ok(Kubernetes {
            enabled: self.enabled,
            namespace: self.namespace,
            kubeconfig: self.kubeconfig.map(|file| base.join(file)),
            selector: selector.iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
            cluster: cluster.transpose()?,
        })
    }
}
