//! `SiteConfig`: the one configuration file, as typed and as checked.
//!
//! Owns every setting of a site and its default. A setting is here only if something uses it.

mod change;
mod file;
mod gates;
mod kubernetes;
mod load;
mod metrics;
mod registration;
mod tls;
mod tokens;
mod uplink;

use std::collections::BTreeMap;
use std::io::Read;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::model::{self, GateAllowance, Labels, Registration, Zone, format_duration, parse_duration};
use crate::resources::{
    API_VERSION, Document, FieldError, IntOrBytes, Limits, documents, parse_bytes, problems, schema_of,
};

pub use change::Change;
pub use file::{Flags, SiteFile};
pub use gates::TypedGates;
pub use kubernetes::{Kubernetes, TypedKubernetes};
pub use load::{Load, TypedConnections, TypedDownloads};
pub use metrics::TypedMetrics;
pub use registration::TypedRegistration;
pub use tls::{Tls, TypedTls};
pub use tokens::{Tokens, TypedTokens};
pub use uplink::{TypedUplink, Uplink};

/// A site's configuration, checked; all paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteConfig {
    /// What people call the site.
    pub site: String,
    /// The zone of windows that name none.
    pub time_zone: Zone,
    /// Where everything that must survive is kept.
    pub state: PathBuf,
    /// The manifest directories, read in this order.
    pub manifests: Vec<PathBuf>,
    /// The drop directory, if there is one.
    pub drops: Option<PathBuf>,
    /// How gateways are reached.
    pub devices: Devices,
    /// The group that may use the control socket, beside the process's own user.
    pub control_group: Option<String>,
    /// Bytes of the disk that artifacts never fill.
    pub disk_reserve: u64,
    /// How many members of all rollouts may be under way at once.
    pub max_in_flight: u32,
    /// What gates may ask.
    pub gates: GateAllowance,
    /// How artifacts are fetched.
    pub uplink: Uplink,
    /// The API server that it follows.
    pub kubernetes: Kubernetes,
    /// Where health and figures are served, if they are.
    pub metrics: Option<SocketAddr>,
}

/// How gateways are reached, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Devices {
    /// The device server's address.
    pub listen: SocketAddr,
    /// What the device server proves itself with; none: plain HTTP, as the site file says `insecure`.
    pub tls: Option<Tls>,
    /// What gateways without a token of their own sign in with.
    pub tokens: Tokens,
    /// What links begin with, without a slash at the end; none: the address that the device used.
    pub url: Option<String>,
    /// The tenants that are served.
    pub tenants: Vec<String>,
    /// How often gateways are told to poll; whole seconds, from 1 s to less than 24 h.
    pub poll_interval: Duration,
    /// A gateway is offline when it has not polled for so long.
    pub offline_after: Duration,
    /// The attributes that carry an artifact's version; for an artifact that is not here, the one of its own name.
    pub version_keys: BTreeMap<String, Vec<String>>,
    /// How much is taken on at once.
    pub load: Load,
    /// What becomes of gateways that nobody declared.
    pub registration: Registration,
    /// The labels that they are accepted with.
    pub registration_labels: Labels,
}

impl SiteConfig {
    /// What the disk keeps free when nothing is said.
    pub const DISK_RESERVE: u64 = 256 << 20;
    /// Members under way at once when nothing is said.
    pub const MAX_IN_FLIGHT: u32 = 100;
    /// The longest path of the state directory, in bytes: a socket's, with `/control.sock`, has at most 107.
    pub const LONGEST_STATE: usize = 94;
}

impl Devices {
    /// Is it plain HTTP where others than this machine can reach it?
    pub fn is_open(&self) -> bool {
        self.tls.is_none() && !self.listen.ip().is_loopback()
    }

    /// The poll interval when nothing is said.
    pub const POLL_INTERVAL: Duration = Duration::from_secs(60);
    /// When a gateway is offline, if nothing is said; three poll intervals if that is longer.
    pub const OFFLINE_AFTER: Duration = Duration::from_secs(600);
    /// The tenant when nothing is said: the one that clients have in their examples.
    pub const TENANT: &str = "DEFAULT";
}

/// Why a site file is not accepted.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read at all.
    #[error("{file}: {why}")]
    Unreadable {
        /// The site file.
        file: PathBuf,
        /// What is wrong and what to do.
        why: String,
    },
    /// Something in it is wrong.
    #[error("{file}: {}", .errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Wrong {
        /// The site file.
        file: PathBuf,
        /// What is wrong where; never empty.
        errors: Vec<FieldError>,
    },
}

/// `SiteConfig` as typed. Fields can be overridden, as the command line does, before it is checked.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the checked struct says what they mean")]
pub struct TypedSiteConfig {
    #[schemars(length(min = 1, max = 63))]
    pub site: String,
    #[schemars(length(min = 1, max = 64))]
    pub time_zone: Option<String>,
    #[schemars(length(min = 1, max = 4096))]
    pub state: String,
    pub intake: TypedIntake,
    pub devices: TypedDevices,
    pub control: Option<TypedControl>,
    pub limits: Option<TypedLimits>,
    pub gates: Option<TypedGates>,
    pub uplink: Option<TypedUplink>,
    pub kubernetes: Option<TypedKubernetes>,
    pub metrics: Option<TypedMetrics>,
}

/// `intake` as typed.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the checked struct says what they mean")]
pub struct TypedIntake {
    #[schemars(length(min = 1, max = 16), inner(length(min = 1, max = 4096)))]
    pub manifests: Vec<String>,
    #[schemars(length(min = 1, max = 4096))]
    pub drops: Option<String>,
}

/// `devices` as typed.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the checked struct says what they mean")]
pub struct TypedDevices {
    #[schemars(length(min = 1, max = 64))]
    pub listen: String,
    pub insecure: Option<bool>,
    pub tls: Option<TypedTls>,
    pub tokens: Option<TypedTokens>,
    #[schemars(length(min = 1, max = 1024))]
    pub url: Option<String>,
    #[schemars(length(min = 1, max = 16), inner(length(min = 1, max = 64)))]
    pub tenants: Option<Vec<String>>,
    #[schemars(length(max = 32))]
    pub poll_interval: Option<String>,
    #[schemars(length(max = 32))]
    pub offline_after: Option<String>,
    pub version_keys: Option<BTreeMap<String, Vec<String>>>,
    pub connections: Option<TypedConnections>,
    pub downloads: Option<TypedDownloads>,
    pub registration: Option<TypedRegistration>,
    pub registration_labels: Option<BTreeMap<String, String>>,
}

/// `control` as typed.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the checked struct says what they mean")]
pub struct TypedControl {
    #[schemars(length(min = 1, max = 32))]
    pub group: Option<String>,
}

/// `limits` as typed.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the checked struct says what they mean")]
pub struct TypedLimits {
    pub disk_reserve: Option<IntOrBytes>,
    #[schemars(range(min = 1, max = 100_000))]
    pub max_in_flight: Option<u32>,
}

/// Reads and checks a site file.
pub fn load(file: &Path) -> Result<SiteConfig, ConfigError> {
    SiteFile { path: file.into(), flags: Flags::default() }.load()
}

/// Checks what was typed in a site file, or put in its place by flags.
fn checked(typed: TypedSiteConfig, file: &Path) -> Result<SiteConfig, ConfigError> {
    typed.check(&base(file)).map_err(|error| ConfigError::Wrong { file: file.into(), errors: vec![error] })
}

/// Reads what is in a site file, as typed.
fn parse(bytes: &[u8], file: &Path) -> Result<TypedSiteConfig, ConfigError> {
    let unreadable = |why: String| ConfigError::Unreadable { file: file.into(), why };
    let mut documents = documents(bytes);
    let document = match (documents.next(), documents.len()) {
        (Some(document), 0) => document.map_err(|error| unreadable(error.to_string()))?,
        (None, _) => {
            return Err(unreadable("is empty; write apiVersion, kind, site, state, intake and devices".into()));
        }
        _ => return Err(unreadable("has several documents; a site has one".into())),
    };
    typed(&document).map_err(|errors| ConfigError::Wrong { file: file.into(), errors })
}

/// The directory that relative paths in a site file start from; absolute, as paths get into the store, and the next start
/// may be from another directory.
pub fn base(file: &Path) -> PathBuf {
    let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    file.parent().map_or_else(|| PathBuf::from("/"), Path::to_owned)
}

fn read_bounded(file: &Path) -> Result<Vec<u8>, String> {
    let cannot = |error: std::io::Error| format!("cannot be read: {error}");
    let metadata = std::fs::metadata(file).map_err(cannot)?;
    if !metadata.is_file() {
        return Err("is not a plain file".into());
    }
    if metadata.len() > Limits::FILE_BYTES {
        return Err(format!("has {} bytes; a site file has at most {}", metadata.len(), Limits::FILE_BYTES));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(file).map_err(cannot)?.take(Limits::FILE_BYTES).read_to_end(&mut bytes).map_err(cannot)?;
    Ok(bytes)
}

/// A document as a site file, or everything that is wrong with its shape.
pub fn typed(document: &Document) -> Result<TypedSiteConfig, Vec<FieldError>> {
    let text = |field: &str| document.value.get(field).and_then(|value| value.as_str());
    let head = |field: &str, wanted: &str| match text(field) {
        Some(text) if text == wanted => None,
        _ => Some(FieldError::new(field, format!("should be {wanted}"))),
    };
    let mut found: Vec<_> =
        [head("apiVersion", API_VERSION), head("kind", "SiteConfig")].into_iter().flatten().collect();
    let mut fields = document.value.clone();
    if let Some(fields) = fields.as_object_mut() {
        fields.remove("apiVersion");
        fields.remove("kind");
    }
    found.extend(problems(&schema_of::<TypedSiteConfig>(), "", &fields));
    if !found.is_empty() {
        return Err(found);
    }
    serde_json::from_value(fields).map_err(|error| vec![FieldError::new("document", error.to_string())])
}

impl TypedSiteConfig {
    /// Checks every value and fills in what is not said. Relative paths start from `base`.
    pub fn check(self, base: &Path) -> Result<SiteConfig, FieldError> {
        if !crate::resources::is_object_name(&self.site) {
            return Err(FieldError::new("site", "should have lower-case letters, digits, '-' and '.', such as hall-7"));
        }
        let time_zone =
            self.time_zone.as_deref().map_or_else(|| Ok(Zone::utc()), str::parse).map_err(at("timeZone"))?;
        let state = base.join(self.state);
        if state.as_os_str().len() > SiteConfig::LONGEST_STATE {
            let why = format!(
                "{} has {} bytes; use a path of at most {}, for the control socket in it",
                state.display(),
                state.as_os_str().len(),
                SiteConfig::LONGEST_STATE
            );
            return Err(FieldError::new("state", why));
        }
        let limits = self.limits.unwrap_or_default();
        let reserve =
            limits.disk_reserve.map(|text| parse_bytes(&text.0).map_err(at("limits.diskReserve"))).transpose()?;
        let manifests: Vec<PathBuf> = self.intake.manifests.iter().map(|dir| base.join(dir)).collect();
        let drops = self.intake.drops.map(|dir| base.join(dir));
        if drops.as_ref().is_some_and(|drops| manifests.contains(drops) || *drops == state) {
            let why = "is a manifest directory or the state directory too; use one of its own, as people write into it";
            return Err(FieldError::new("intake.drops", why));
        }
        let devices = self.devices.check(base)?;
        let metrics = self.metrics.unwrap_or_default().check(devices.listen)?;
        Ok(SiteConfig {
            site: self.site,
            time_zone,
            state,
            manifests,
            drops,
            devices,
            control_group: self.control.and_then(|control| control.group),
            disk_reserve: reserve.unwrap_or(SiteConfig::DISK_RESERVE),
            max_in_flight: limits.max_in_flight.unwrap_or(SiteConfig::MAX_IN_FLIGHT),
            gates: self.gates.unwrap_or_default().check()?,
            uplink: self.uplink.unwrap_or_default().check(base)?,
            kubernetes: self.kubernetes.unwrap_or_default().check(base)?,
            metrics,
        })
    }
}

impl TypedDevices {
    fn check(self, base: &Path) -> Result<Devices, FieldError> {
        let poll_interval = self.poll_interval()?;
        self.says_how_secure()?;
        let listen = self.listen()?;
        Ok(Devices {
            listen,
            url: self.url()?,
            poll_interval,
            offline_after: self.offline_after(poll_interval)?,
            tls: self.tls.map(|tls| tls.check(base)),
            tokens: self.tokens.unwrap_or_default().check(base),
            tenants: tenants(self.tenants)?,
            version_keys: version_keys(self.version_keys.unwrap_or_default())?,
            load: load::check(self.connections, self.downloads, listen)?,
            registration: self.registration.unwrap_or_default().into(),
            registration_labels: registration::labels(self.registration_labels)?,
        })
    }

    fn listen(&self) -> Result<SocketAddr, FieldError> {
        self.listen.parse().map_err(|_| {
            let why = format!("{:?} is not an address such as 0.0.0.0:8443", self.listen);
            FieldError::new("devices.listen", why)
        })
    }

    /// Plain HTTP is nobody's default.
    fn says_how_secure(&self) -> Result<(), FieldError> {
        match (&self.tls, self.insecure) {
            (Some(_), Some(true)) => {
                let why = "is true although there is devices.tls; gateways would not know which: keep one of the two";
                Err(FieldError::new("devices.insecure", why))
            }
            (None, None | Some(false)) => {
                let why = "is missing: name a certificate and its key (`lamplighter init` makes them), or, for a trial on \
                           this machine, write `insecure: true` instead";
                Err(FieldError::new("devices.tls", why))
            }
            _ => Ok(()),
        }
    }

    fn url(&self) -> Result<Option<String>, FieldError> {
        let Some(url) = &self.url else { return Ok(None) };
        let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://")).unwrap_or_default();
        let host = rest.split('/').next().unwrap_or_default();
        let allowed = |b: u8| b.is_ascii_graphic() && !b"\"<>\\^`{|}?#@".contains(&b);
        if host.is_empty() || !rest.bytes().all(allowed) {
            return Err(FieldError::new(
                "devices.url",
                format!("{url:?} is not a URL such as https://updates.hall-7:8443"),
            ));
        }
        Ok(Some(url.trim_end_matches('/').to_owned()))
    }

    fn poll_interval(&self) -> Result<Duration, FieldError> {
        let field = "devices.pollInterval";
        let Some(text) = &self.poll_interval else { return Ok(Devices::POLL_INTERVAL) };
        let interval = parse_duration(text).map_err(at(field))?;
        let day = Duration::from_secs(86_400);
        if interval.subsec_millis() != 0 || interval.is_zero() || interval >= day {
            return Err(FieldError::new(field, format!("is {text}; use whole seconds, from 1s to less than 24h")));
        }
        Ok(interval)
    }

    fn offline_after(&self, poll_interval: Duration) -> Result<Duration, FieldError> {
        let field = "devices.offlineAfter";
        let Some(text) = &self.offline_after else { return Ok(Devices::OFFLINE_AFTER.max(poll_interval * 3)) };
        let after = parse_duration(text).map_err(at(field))?;
        let least = poll_interval * 2;
        if after <= least {
            let why = format!(
                "is {}; a gateway may be late for a poll, so use more than two poll intervals ({})",
                format_duration(after),
                format_duration(least)
            );
            return Err(FieldError::new(field, why));
        }
        Ok(after)
    }
}

fn at(field: &'static str) -> impl Fn(model::Invalid) -> FieldError {
    move |error| FieldError::new(field, error.0)
}

fn tenants(typed: Option<Vec<String>>) -> Result<Vec<String>, FieldError> {
    let tenants = typed.unwrap_or_else(|| vec![Devices::TENANT.to_owned()]);
    for (index, tenant) in tenants.iter().enumerate() {
        if !tenant.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b)) || tenant.starts_with('.') {
            let why = format!("{tenant:?} is a part of URLs; use letters, digits, '-', '_' and '.'");
            return Err(FieldError::new(format!("devices.tenants[{index}]"), why));
        }
    }
    Ok(tenants)
}

fn version_keys(typed: BTreeMap<String, Vec<String>>) -> Result<BTreeMap<String, Vec<String>>, FieldError> {
    for (name, keys) in &typed {
        if keys.is_empty() || keys.len() > 8 || keys.iter().any(|key| key.is_empty() || key.len() > 64) {
            let why = "should be a list of 1 to 8 attribute names of at most 64 characters each";
            return Err(FieldError::new(format!("devices.versionKeys.{name}"), why));
        }
    }
    Ok(typed)
}
