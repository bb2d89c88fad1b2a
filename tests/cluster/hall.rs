//! A site that follows a cluster, and what is put into it.

use std::ops::Deref;
use std::path::Path;

use serde_json::Value;

use crate::cluster::Cluster;
use crate::device::Device;
use crate::eventually;
use crate::site::{Site, firmware, gateway, rollout};

/// A cluster, and a site that follows it under our Role.
pub struct Hall {
    pub site: Site,
    pub cluster: Cluster,
}

impl Deref for Hall {
    type Target = Site;
    fn deref(&self) -> &Site {
        &self.site
    }
}

/// The firmware that `press-fw` brings.
pub fn fw() -> Vec<u8> {
    firmware(7, 20_000)
}

/// `press-fw`, which brings line 3 to a version; `more` are further lines of its spec.
pub fn press_fw(version: &str, more: &str) -> String {
    rollout(version, &fw(), more)
}

/// A gateway of line 3.
pub fn press(name: &str) -> String {
    gateway(name, "")
}

impl Hall {
    /// Running, with its firmware in the manifest directory and nothing declared.
    pub fn new() -> Self {
        let cluster = Cluster::start();
        let hall = Self::following(cluster, "");
        hall.start();
        hall.until_linked();
        hall
    }

    /// Not started yet; `more` are further fields of `kubernetes`.
    pub fn following(cluster: Cluster, more: &str) -> Self {
        let site = Site::new();
        follow(&site, &cluster.for_a_site(), more);
        site.put("fw.bin", fw());
        Self { site, cluster }
    }

    /// With these gateways, and `press-fw` to 2.0.0, in the cluster.
    pub fn with(gateways: &[&str]) -> Self {
        let hall = Self::new();
        hall.declare(gateways);
        hall
    }

    pub fn declare(&self, gateways: &[&str]) {
        let all: Vec<String> = gateways.iter().map(|name| press(name)).chain([press_fw("2.0.0", "")]).collect();
        self.cluster.apply(&all.join("---\n"));
    }

    pub fn device(&self, name: &str) -> Device<'_> {
        let device = Device::new(&self.site, name);
        eventually("the gateway is known", || device.may_sign_in().then_some(()));
        device
    }

    /// Waits until the cluster is followed.
    pub fn until_linked(&self) {
        eventually("the API server is followed", || self.notice().is_none().then_some(()));
    }

    /// What is said about the link; none if it is well.
    pub fn notice(&self) -> Option<String> {
        let status = self.ask("/v1/status");
        let all = status["notices"].as_array().cloned().unwrap_or_default();
        all.iter().filter_map(Value::as_str).find(|notice| notice.contains("API server")).map(str::to_owned)
    }

    /// Waits until something is said about the link.
    pub fn until_notice(&self, words: &str) {
        eventually(words, || self.notice().filter(|notice| notice.contains(words)));
    }

    /// How often the gateways of `press-fw` were offered something.
    pub fn offers(&self, gateway: &str) -> usize {
        self.journalled(gateway, "Offered")
    }

    pub fn counter(&self, name: &str) -> u64 {
        self.ask("/v1/status")["counters"][name].as_u64().unwrap()
    }

    /// Has the rollout our finalizer?
    pub fn is_adopted(&self, name: &str) -> bool {
        let object = self.cluster.get(&format!("ota/{name}")).unwrap();
        let finalizers = object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
        finalizers.iter().any(|finalizer| finalizer == "lamplighter.dev/withdraw")
    }

    pub fn until_adopted(&self, name: &str) {
        eventually("the rollout is adopted", || self.is_adopted(name).then_some(()));
    }
}

/// Has a site follow a cluster.
pub fn follow(site: &Site, kubeconfig: &Path, more: &str) {
    let line = format!("kubernetes: {{kubeconfig: \"{}\"{more}}}\nlimits:", kubeconfig.display());
    site.configure("limits:", &line);
}
