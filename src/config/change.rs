//! What another site file changes: which fields take effect while a site runs, and which wait for its next start.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::PathBuf;

use super::{Devices, SiteConfig, Tls};
use crate::model::{Labels, format_duration};

/// A field as people type it, and its value as they read it; equal values read equal.
type Field = (&'static str, fn(&SiteConfig) -> String);

/// These take effect at once.
const LIVE: &[Field] = &[
    ("timeZone", |site| site.time_zone.to_string()),
    ("intake.manifests", |site| files(&site.manifests)),
    ("devices.url", |site| or_none(site.devices.url.as_ref())),
    ("devices.tenants", |site| site.devices.tenants.join(", ")),
    ("devices.pollInterval", |site| format_duration(site.devices.poll_interval)),
    ("devices.offlineAfter", |site| format_duration(site.devices.offline_after)),
    ("devices.versionKeys", |site| keys(&site.devices.version_keys)),
    ("devices.connections.total", |site| site.devices.load.connections.to_string()),
    ("devices.connections.perAddress", |site| site.devices.load.per_address.to_string()),
    ("devices.downloads.concurrent", |site| site.devices.load.downloads.to_string()),
    ("devices.downloads.bytesPerSecond", |site| {
        or_none(site.devices.load.bytes_per_second.map(|rate| bytes(rate.get())).as_ref())
    }),
    ("devices.registration", |site| site.devices.registration.to_string()),
    ("devices.registrationLabels", |site| labels(&site.devices.registration_labels)),
    ("gates.allowPaths", |site| list(&site.gates.paths)),
    ("gates.allowHosts", |site| list(&site.gates.hosts)),
    ("limits.diskReserve", |site| bytes(site.disk_reserve)),
    ("limits.maxInFlight", |site| site.max_in_flight.to_string()),
    ("uplink.bytesPerSecond", |site| or_none(site.uplink.bytes_per_second.map(|rate| bytes(rate.get())).as_ref())),
    ("uplink.caFiles", |site| files(&site.uplink.ca_files)),
    ("uplink.credentials", |site| {
        let by_host: Vec<_> =
            site.uplink.credentials.iter().map(|(host, file)| format!("{host} {}", file.display())).collect();
        or_none(Some(&by_host.join(", ")))
    }),
];

/// These are what a running site stands on.
const AT_START: &[Field] = &[
    ("site", |site| site.site.clone()),
    ("state", |site| site.state.display().to_string()),
    ("intake.drops", |site| file(site.drops.as_ref())),
    ("devices.listen", |site| site.devices.listen.to_string()),
    ("devices.tls.certificate", |site| tls_file(site, |tls| Some(&tls.certificate))),
    ("devices.tls.key", |site| tls_file(site, |tls| Some(&tls.key))),
    ("devices.tls.clientCa", |site| tls_file(site, |tls| tls.client_ca.as_ref())),
    ("devices.insecure", |site| site.devices.tls.is_none().to_string()),
    ("devices.tokens.siteSecretFile", |site| file(site.devices.tokens.site_secret.as_ref())),
    ("devices.tokens.gatewayTokenFile", |site| file(site.devices.tokens.gateway_token.as_ref())),
    ("control.group", |site| or_none(site.control_group.as_ref())),
    ("kubernetes.enabled", |site| or_none(site.kubernetes.enabled.as_ref())),
    ("kubernetes.namespace", |site| or_none(site.kubernetes.namespace.as_ref())),
    ("kubernetes.kubeconfig", |site| file(site.kubernetes.kubeconfig.as_ref())),
    ("kubernetes.siteSelector", |site| labels(&site.kubernetes.selector)),
    ("kubernetes.cluster", |site| or_none(site.kubernetes.cluster.as_ref())),
    ("metrics.listen", |site| or_none(site.metrics.as_ref())),
];

/// The longest value that is shown; scripts and people have the file.
const LONGEST: usize = 120;

/// What another site file means for a running site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What is in force from now on: of what must wait, the old.
    pub config: SiteConfig,
    /// What changed by it, as `devices.pollInterval is 30s, was 1m`.
    pub changed: Vec<String>,
    /// The fields in which the file says something else, to be in force from the next start on.
    pub waiting: Vec<&'static str>,
}

impl SiteConfig {
    /// What `new` means for a site that runs with this one.
    pub fn change_to(&self, new: SiteConfig) -> Change {
        let differs = |(_, value): &&Field| value(self) != value(&new);
        let changed = LIVE
            .iter()
            .filter(differs)
            .map(|(field, value)| format!("{field} is {}, was {}", shown(&value(&new)), shown(&value(self))));
        let changed = changed.collect();
        let waiting = AT_START.iter().filter(differs).map(|(field, _)| *field).collect();
        let devices = Devices {
            listen: self.devices.listen,
            tls: self.devices.tls.clone(),
            tokens: self.devices.tokens.clone(),
            ..new.devices
        };
        let config = Self {
            site: self.site.clone(),
            state: self.state.clone(),
            control_group: self.control_group.clone(),
            drops: self.drops.clone(),
            kubernetes: self.kubernetes.clone(),
            metrics: self.metrics,
            devices,
            ..new
        };
        Change { config, changed, waiting }
    }

    /// Every field, and whether a change of it takes effect while a site runs.
    pub fn fields() -> impl Iterator<Item = (&'static str, bool)> {
        let live = LIVE.iter().map(|(field, _)| (*field, true));
        live.chain(AT_START.iter().map(|(field, _)| (*field, false)))
    }
}

fn shown(value: &str) -> String {
    match value.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", value.get(..at).unwrap_or_default()),
        None => value.to_owned(),
    }
}

fn or_none(value: Option<&impl ToString>) -> String {
    value.map(ToString::to_string).filter(|text| !text.is_empty()).unwrap_or_else(|| "none".into())
}

fn file(path: Option<&PathBuf>) -> String {
    or_none(path.map(|path| path.display().to_string()).as_ref())
}

fn tls_file(site: &SiteConfig, which: impl Fn(&Tls) -> Option<&PathBuf>) -> String {
    file(site.devices.tls.as_ref().and_then(which))
}

fn files(paths: &[PathBuf]) -> String {
    let paths: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
    or_none(Some(&paths.join(", ")))
}

fn list(items: &[impl Display]) -> String {
    let items: Vec<_> = items.iter().map(ToString::to_string).collect();
    or_none(Some(&items.join(", ")))
}

fn keys(keys: &BTreeMap<String, Vec<String>>) -> String {
    let keys: Vec<_> = keys.iter().map(|(name, keys)| format!("{name}: {}", keys.join(" or "))).collect();
    or_none(Some(&keys.join(", ")))
}

fn labels(labels: &Labels) -> String {
    let labels: Vec<_> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    or_none(Some(&labels.join(", ")))
}

/// As people type it, if it is a whole number of a unit.
fn bytes(count: u64) -> String {
    let units: [(u32, &dyn Display); 3] = [(30, &"Gi"), (20, &"Mi"), (10, &"Ki")];
    let whole = units.into_iter().find(|(shift, _)| count > 0 && count.trailing_zeros() >= *shift);
    whole.map_or_else(|| count.to_string(), |(shift, unit)| format!("{}{unit}", count >> shift))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Load, SiteFile, TypedSiteConfig};
    use crate::resources::schema_of;

    const HALL: &str = "{apiVersion: lamplighter.dev/v1alpha1, kind: SiteConfig, site: hall-7, state: /s, \
        intake: {manifests: [/m]}, devices: {listen: \"127.0.0.1:80\", insecure: true}";

    fn site(more: &str) -> SiteConfig {
        let file = SiteFile { path: "/etc/site.yaml".into(), flags: Default::default() };
        file.check(format!("{HALL}{more}}}").as_bytes()).unwrap()
    }

    #[test]
    fn what_can_change_is_taken_and_what_cannot_is_named() {
        let old = site("");
        let mut new = site(", limits: {diskReserve: 1Gi}, uplink: {bytesPerSecond: 2000}, control: {group: ops}");
        new.devices.poll_interval = std::time::Duration::from_secs(30);
        new.devices.listen = "127.0.0.1:81".parse().unwrap();
        let Change { config, changed, waiting } = old.change_to(new.clone());
        let said = [
            "devices.pollInterval is 30s, was 1m",
            "limits.diskReserve is 1Gi, was 256Mi",
            "uplink.bytesPerSecond is 2000, was none",
        ];
        assert_eq!(changed, said);
        assert_eq!(waiting, ["devices.listen", "control.group"]);
        assert_eq!(config.devices.listen, old.devices.listen);
        assert_eq!((config.control_group.as_ref(), config.disk_reserve), (None, 1 << 30));
        let again = config.change_to(new);
        assert!(again.changed.is_empty(), "{again:?}");
        assert_eq!(again.waiting, ["devices.listen", "control.group"], "until the next start");
    }

    #[test]
    fn how_much_is_taken_on_and_who_is_let_in_changes_while_the_site_runs() {
        let old = site("");
        let mut new = old.clone();
        let bytes_per_second = std::num::NonZeroU64::new(64 << 10);
        new.devices.load = Load { connections: 100, per_address: 9, downloads: 3, bytes_per_second };
        new.devices.registration = crate::model::Registration::Accept;
        new.devices.registration_labels = [("line".into(), "3".into())].into();
        let Change { config, changed, waiting } = old.change_to(new.clone());
        let said = [
            "devices.connections.total is 100, was 48",
            "devices.connections.perAddress is 9, was 48",
            "devices.downloads.concurrent is 3, was 24",
            "devices.downloads.bytesPerSecond is 64Ki, was none",
            "devices.registration is Accept, was Refuse",
            "devices.registrationLabels is line=3, was none",
        ];
        assert_eq!((changed, waiting), (said.map(str::to_owned).to_vec(), Vec::<&str>::new()));
        assert_eq!(config.devices, new.devices);
    }

    #[test]
    fn every_field_is_known_to_change_or_to_wait() {
        let mut known: Vec<_> = SiteConfig::fields().map(|(field, _)| field.to_owned()).collect();
        known.sort();
        let schema = serde_json::to_value(schema_of::<TypedSiteConfig>()).unwrap();
        let mut typed = leaves(&schema, "");
        typed.sort();
        assert_eq!(known, typed, "each belongs into LIVE or AT_START");
    }

    fn leaves(schema: &serde_json::Value, path: &str) -> Vec<String> {
        match schema["properties"].as_object() {
            Some(fields) => {
                let dot = if path.is_empty() { "" } else { "." };
                fields.iter().flat_map(|(name, field)| leaves(field, &format!("{path}{dot}{name}"))).collect()
            }
            None => vec![path.to_owned()],
        }
    }

    #[test]
    fn a_long_value_is_cut() {
        assert_eq!(shown(&"ä".repeat(LONGEST)).chars().count(), LONGEST);
        assert!(shown(&"ä".repeat(LONGEST + 1)).ends_with("ä…"));
    }
}
