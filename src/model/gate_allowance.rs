//! What gates may ask: a manifest must not make the site probe any file and any host.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use super::{HttpUrl, Invalid, Origin};

/// The files and hosts that gates may ask. Nothing, if nothing is said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GateAllowance {
    /// The files.
    pub paths: Vec<AllowedPath>,
    /// The hosts.
    pub hosts: Vec<AllowedHost>,
}

impl GateAllowance {
    /// The rule that allows a file, which is an absolute path without `.` and `..`.
    pub fn path(&self, path: &str) -> Option<&AllowedPath> {
        self.paths.iter().find(|allowed| allowed.allows(path))
    }

    /// May this address be asked?
    pub fn allows(&self, url: &HttpUrl) -> bool {
        let origin = url.origin();
        self.hosts.iter().any(|host| host.origins.contains(&origin))
    }
}

/// A file, or what is in a directory (`/permits/*`), or anywhere beneath it (`/permits/**`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedPath {
    base: String,
    reach: Reach,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    Itself,
    InIt,
    Beneath,
}

impl AllowedPath {
    fn allows(&self, path: &str) -> bool {
        let below = path.strip_prefix(&self.base).and_then(|rest| rest.strip_prefix('/'));
        match self.reach {
            Reach::Itself => path == self.base,
            Reach::InIt => below.is_some_and(|name| !name.contains('/')),
            Reach::Beneath => below.is_some(),
        }
    }

    /// Does it allow a file, or all that is in a directory?
    pub(super) fn covers(&self, path: &str) -> bool {
        self.allows(path) || (path == self.base && self.reach != Reach::Itself)
    }

    /// The file, or the directory that no link may lead out of.
    pub fn base(&self) -> &Path {
        Path::new(&self.base)
    }
}

impl FromStr for AllowedPath {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let (base, reach) = match text {
            _ if text.ends_with("/**") => (text.trim_end_matches("/**"), Reach::Beneath),
            _ if text.ends_with("/*") => (text.trim_end_matches("/*"), Reach::InIt),
            _ => (text, Reach::Itself),
        };
        let steps = base.strip_prefix('/').map(|base| base.split('/'));
        let plain = |step: &str| !matches!(step, "" | "." | "..") && !step.contains('*') && !step.contains('\0');
        if steps.is_some_and(|mut steps| steps.all(plain)) {
            return Ok(Self { base: base.to_owned(), reach });
        }
        let why =
            "is not an absolute path such as /permits/** (all beneath it), /permits/* (all in it) or /permits/line3";
        Err(Invalid::new(format!("{:?} {why}", super::http_url::shortened(text))))
    }
}

impl fmt::Display for AllowedPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stars = match self.reach {
            Reach::Itself => "",
            Reach::InIt => "/*",
            Reach::Beneath => "/**",
        };
        write!(f, "{}{stars}", self.base)
    }
}

/// A host, at one port: `plc.local` (80 for http, 443 for https), `plc.local:8080`, or with its scheme.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedHost {
    typed: String,
    origins: Vec<Origin>,
}

impl FromStr for AllowedHost {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let full = if text.contains("://") {
            vec![text.into()]
        } else {
            vec![format!("http://{text}"), format!("https://{text}")]
        };
        let origins = full.iter().map(|text| text.parse::<Origin>()).collect::<Result<_, _>>();
        let origins = origins.map_err(|_| {
            let shown = super::http_url::shortened(text);
            Invalid::new(format!("{shown:?} is no host; write HOST or HOST:PORT, such as plc.local:8080"))
        })?;
        Ok(Self { typed: text.to_owned(), origins })
    }
}

impl fmt::Display for AllowedHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.typed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(rule: &str, path: &str) -> bool {
        rule.parse::<AllowedPath>().unwrap().allows(path)
    }

    #[test]
    fn a_path_is_itself_or_what_is_in_it_or_beneath_it() {
        assert!(path("/permits/**", "/permits/3") && path("/permits/**", "/permits/a/3"));
        assert!(path("/permits/*", "/permits/3") && !path("/permits/*", "/permits/a/3"));
        assert!(path("/permits/3", "/permits/3") && !path("/permits/3", "/permits/33"));
        assert!(!path("/permits/**", "/permits") && !path("/permits/**", "/permits2/3"));
        for bad in ["permits/**", "/**", "/*", "/a/../b", "/a/*/b", "/a/b*", "/", ""] {
            assert!(bad.parse::<AllowedPath>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_rule_that_lets_a_file_be_asked_says_where_it_may_lie() {
        let paths = ["/permits/*", "/doors/3"].map(|rule| rule.parse().unwrap()).into();
        let allowance = GateAllowance { paths, hosts: vec![] };
        assert_eq!(allowance.path("/permits/3").map(AllowedPath::base), Some(Path::new("/permits")));
        assert!(allowance.path("/permits/a/3").is_none() && allowance.path("/else/3").is_none());
    }

    #[test]
    fn a_rule_is_shown_as_it_was_typed() {
        for rule in ["/permits/**", "/permits/*", "/permits/3"] {
            assert_eq!(rule.parse::<AllowedPath>().unwrap().to_string(), rule);
        }
        assert_eq!("plc.local:8080".parse::<AllowedHost>().unwrap().to_string(), "plc.local:8080");
    }

    #[test]
    fn a_host_is_meant_with_its_port() {
        let allows = |host: &str, url: &str| {
            let allowance = GateAllowance { paths: vec![], hosts: vec![host.parse().unwrap()] };
            allowance.allows(&url.parse().unwrap())
        };
        assert!(allows("plc.local", "http://plc.local/x") && allows("plc.local", "https://plc.local/x"));
        assert!(!allows("plc.local", "http://plc.local:8080/x"));
        assert!(allows("plc.local:8080", "http://PLC.local:8080/x"));
        assert!(!allows("https://plc.local", "http://plc.local/x"));
        for bad in ["", "plc/x", "a b", "u:p@plc"] {
            assert!(bad.parse::<AllowedHost>().is_err(), "{bad:?}");
        }
    }
}
