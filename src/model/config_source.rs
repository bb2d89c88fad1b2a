//! A place that the configuration of a service comes from.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::{ConfigPath, Invalid, ServiceReason, serde_as_text};

/// Where configuration is read. As text a path, or `ConfigMap/NAME`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConfigSource {
    /// Files of this machine.
    Path(ConfigPath),
    /// A ConfigMap of the site's namespace in the API server, by its name.
    ConfigMap(Box<str>),
}

const CONFIG_MAP: &str = "ConfigMap/";

impl ConfigSource {
    /// A ConfigMap, by its name as Kubernetes allows them.
    pub fn config_map(name: &str) -> Result<Self, Invalid> {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'.';
        let ends = |c: char| c.is_ascii_alphanumeric();
        if name.len() > 253 || !name.bytes().all(plain) || !name.starts_with(ends) || !name.ends_with(ends) {
            let shown = super::http_url::shortened(name);
            return Err(Invalid::new(format!("{shown:?} is no name of a ConfigMap such as modbus-config")));
        }
        Ok(Self::ConfigMap(name.into()))
    }
}

impl FromStr for ConfigSource {
    type Err = Invalid;
    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text.strip_prefix(CONFIG_MAP) {
            Some(name) => Self::config_map(name),
            None => text.parse().map(Self::Path),
        }
    }
}

impl fmt::Display for ConfigSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => path.fmt(f),
            Self::ConfigMap(name) => write!(f, "{CONFIG_MAP}{name}"),
        }
    }
}

serde_as_text!(ConfigSource);

/// A ConfigMap as the API server has it: the hash of each key, in the order of the keys, and nothing of their content; or why
/// it cannot be read.
pub type ConfigMapSeen = Result<Vec<(String, [u8; 32])>, (ServiceReason, String)>;

/// What is known of ConfigMaps, by their names. One that was not read yet is not among them.
pub type ConfigMaps = Arc<Vec<(Box<str>, ConfigMapSeen)>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_a_path_or_a_config_map_and_is_read_as_it_is_written() {
        for good in ["/etc/edge", "/etc/edge/*.conf", "ConfigMap/modbus", "ConfigMap/a.b-c"] {
            assert_eq!(good.parse::<ConfigSource>().unwrap().to_string(), good);
        }
        for bad in ["", "modbus", "ConfigMap/", "ConfigMap/../x", "ConfigMap/-a", "ConfigMap/A", "ConfigMap/a?watch=1"]
        {
            assert!(bad.parse::<ConfigSource>().is_err(), "{bad}");
        }
    }
}
