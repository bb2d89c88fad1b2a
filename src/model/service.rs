//! An edge service as a person declares it: what it reads, and what is restarted when that changed.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{AllowedPath, ConfigSource, HttpUrl, Invalid, serde_as_text};

/// What people call an `EdgeService`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ServiceName(pub String);

impl fmt::Display for ServiceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An `EdgeService`, checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceSpec {
    /// What it reads; not empty.
    pub config: Vec<ConfigSource>,
    /// What is restarted.
    pub unit: UnitName,
    /// How.
    pub method: Method,
    /// So long the configuration must stay as it is before anything is restarted.
    pub settle: Duration,
    /// The least time between two restarts.
    pub min_interval: Duration,
    /// What shows that it came back; none: that systemd says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<Health>,
}

impl ServiceSpec {
    /// How long the configuration must rest when nothing is said.
    pub const SETTLE: Duration = Duration::from_secs(2);
    /// The time between two restarts when nothing is said.
    pub const MIN_INTERVAL: Duration = Duration::from_secs(10);
    /// The longest that either may be.
    pub const LONGEST: Duration = Duration::from_secs(24 * 3600);
    /// The most sources.
    pub const MOST_CONFIG: usize = 16;
}

/// How a unit takes its new configuration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Method {
    /// Stopped and started.
    #[default]
    Restart,
    /// Told to read it.
    Reload,
    /// Told to read it if it can, else stopped and started.
    ReloadOrRestart,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A file, a directory, or with `*` and `?` in its last part some files of one: absolute and plain.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConfigPath(Box<str>);

impl ConfigPath {
    /// The longest, in bytes.
    pub const LONGEST: usize = 1024;

    /// As typed.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The directory and what names of files in it must look like, if it is a pattern.
    pub fn pattern(&self) -> Option<(&str, &str)> {
        self.0.rsplit_once('/').filter(|(_, last)| last.contains(['*', '?']))
    }
}

impl FromStr for ConfigPath {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let stars = |step: &str| step.contains(['*', '?']);
        let steps: Vec<&str> = text.strip_prefix('/').unwrap_or_default().split('/').collect();
        let plain = |step: &&str| !matches!(*step, "" | "." | "..") && !step.contains(char::is_control);
        let (last, before) = steps.split_last().unwrap_or((&"", &[]));
        let alone = before.is_empty() && stars(last);
        if text.len() > Self::LONGEST || !steps.iter().all(plain) || before.iter().any(|s| stars(s)) || alone {
            let shown = super::http_url::shortened(text);
            let why = "is no absolute path of a file or directory; `*` and `?` may stand in its last part only";
            return Err(Invalid::new(format!("{shown:?} {why}")));
        }
        Ok(Self(text.into()))
    }
}

impl fmt::Display for ConfigPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

serde_as_text!(ConfigPath);

/// A systemd service: `modbus-bridge.service`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnitName(Box<str>);

impl UnitName {
    /// As systemd has it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for UnitName {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let name = text.strip_suffix(".service").unwrap_or_default();
        let plain = |b: u8| b.is_ascii_alphanumeric() || b":_.\\@-".contains(&b);
        if name.is_empty() || name.ends_with('@') || text.len() > 255 || !name.bytes().all(plain) {
            let shown = super::http_url::shortened(text);
            return Err(Invalid::new(format!("{shown:?} is no unit such as modbus-bridge.service")));
        }
        Ok(Self(text.into()))
    }
}

impl fmt::Display for UnitName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

serde_as_text!(UnitName);

/// What must hold after a restart, and how soon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Health {
    /// What.
    pub check: Check,
    /// Within this time after the restart.
    pub timeout: Duration,
}

impl Health {
    /// The time that it has when nothing is said.
    pub const TIMEOUT: Duration = Duration::from_secs(30);
    /// The longest that it may have.
    pub const LONGEST: Duration = Duration::from_secs(600);
}

/// What shows that a service is well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Check {
    /// This address of this machine answers with 2xx.
    Http(String),
    /// This port of this machine accepts a connection.
    Tcp(u16),
    /// The unit has been active so long without a break.
    UnitActiveFor(Duration),
}

impl Check {
    /// An address that may be asked: plain HTTP on this machine, as a manifest must not make the site ask any host.
    pub fn http(text: &str) -> Result<Self, Invalid> {
        let url: HttpUrl = text.parse()?;
        let host = url.as_url().host_str().unwrap_or_default();
        if url.origin().is_https() || !matches!(host, "127.0.0.1" | "localhost" | "[::1]") {
            let why = "is not on this machine; write http://127.0.0.1:PORT/PATH";
            return Err(Invalid::new(format!("{:?} {why}", url.shown())));
        }
        Ok(Self::Http(url.as_url().to_string()))
    }
}

/// What services may read and restart. Nothing, if nothing is said: an object must not become root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServiceAllowance {
    /// The units.
    pub units: Vec<AllowedUnit>,
    /// The files.
    pub paths: Vec<AllowedPath>,
}

impl ServiceAllowance {
    /// May this unit be restarted?
    pub fn allows(&self, unit: &UnitName) -> bool {
        self.units.iter().any(|allowed| matches(&allowed.0, unit.as_str()))
    }

    /// The rule that allows a source.
    pub fn path(&self, path: &ConfigPath) -> Option<&AllowedPath> {
        // a pattern is allowed as the directory that it is about
        let path = path.pattern().map_or(path.as_str(), |(dir, _)| dir);
        self.paths.iter().find(|allowed| allowed.covers(path))
    }
}

/// A unit, or with `*` those whose names look like it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedUnit(String);

impl FromStr for AllowedUnit {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let example = text.replace(['*', '?'], "x");
        if text.starts_with(['*', '?']) || example.parse::<UnitName>().is_err() {
            let shown = super::http_url::shortened(text);
            let why = "is no unit such as modbus-bridge.service or modbus-*.service";
            return Err(Invalid::new(format!("{shown:?} {why}")));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for AllowedUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Does a name look like the pattern? `*` stands for any number of characters, `?` for one.
pub fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    // where to go on when a `*` has to take one more
    let (mut at, mut in_name, mut back) = (0, 0, None);
    while let Some(byte) = name.get(in_name) {
        match pattern.get(at) {
            Some(b'*') => {
                at += 1;
                back = Some((at, in_name));
            }
            Some(b'?') => (at, in_name) = (at + 1, in_name + 1),
            Some(wanted) if wanted == byte => (at, in_name) = (at + 1, in_name + 1),
            _ => match back {
                Some((star, taken)) => {
                    back = Some((star, taken + 1));
                    (at, in_name) = (star, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern.get(at..).unwrap_or_default().iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_means_what_people_mean() {
        for (pattern, name) in
            [("a*c", "abbc"), ("a*c", "ac"), ("*", ""), ("a?c", "abc"), ("*.conf", "x.conf"), ("a*b*c", "aXbYbc")]
        {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("a*c", "abb"),
            ("a?c", "ac"),
            ("", "a"),
            ("*.conf", "x.conf.bak"),
            ("modbus-*.service", "x-modbus-1.service"),
        ] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn a_path_is_absolute_and_plain_and_has_stars_only_at_its_end() {
        for good in ["/etc/edge", "/etc/edge/*.conf", "/etc/edge/a.conf"] {
            assert!(good.parse::<ConfigPath>().is_ok(), "{good}");
        }
        for bad in ["", "/", "etc", "/etc/../x", "/etc/*/x", "/*", "/a//b", "/a/", "/a\nb"] {
            assert!(bad.parse::<ConfigPath>().is_err(), "{bad:?}");
        }
        let some: ConfigPath = "/etc/edge/*.conf".parse().unwrap();
        assert_eq!(some.pattern(), Some(("/etc/edge", "*.conf")));
    }

    #[test]
    fn only_units_and_paths_on_the_list_are_allowed() {
        let allowance = ServiceAllowance {
            units: vec!["modbus-*.service".parse().unwrap()],
            paths: vec!["/etc/edge/**".parse().unwrap(), "/etc/one".parse().unwrap()],
        };
        let unit = |text: &str| allowance.allows(&text.parse().unwrap());
        assert!(unit("modbus-bridge.service") && !unit("sshd.service") && !unit("x-modbus-1.service"));
        let path = |text: &str| allowance.path(&text.parse().unwrap()).is_some();
        assert!(path("/etc/edge") && path("/etc/edge/a/b") && path("/etc/edge/*.conf") && path("/etc/one"));
        assert!(!path("/etc/edge2") && !path("/etc") && !path("/etc/*.conf") && !path("/etc/one/x"));
        assert!("*.service".parse::<AllowedUnit>().is_err(), "everything is not a list");
        for bad in ["", ".service", "a", "a.target", "a@.service", "a b.service", "../x.service"] {
            assert!(bad.parse::<UnitName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn only_this_machine_is_asked() {
        assert!(Check::http("http://127.0.0.1:8080/healthz").is_ok() && Check::http("http://[::1]/x").is_ok());
        for bad in ["https://127.0.0.1/x", "http://169.254.169.254/x", "http://127.0.0.1.evil.example/x"] {
            assert!(Check::http(bad).is_err(), "{bad}");
        }
    }
}
