//! Gates: a fact of the plant that must hold before each offer, asked for by a file or over HTTP.

use std::fmt;
use std::str::FromStr;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};

use super::{GatewaySpec, HttpUrl, Invalid, serde_as_text};

/// A gate of a rollout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GateSpec {
    /// What people call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What is asked.
    pub question: GateQuestion,
}

impl GateSpec {
    /// The most gates of one rollout.
    pub const MOST: usize = 8;

    /// What is asked for one gateway, or why nothing can be asked.
    pub fn key(&self, gateway: &GatewaySpec) -> Result<GateKey, String> {
        match &self.question {
            GateQuestion::File(path) => path.rendered(gateway).map(GateKey::File),
            GateQuestion::Http(url) => url.rendered(gateway).map(GateKey::Http),
        }
    }
}

/// What is asked, with labels in braces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum GateQuestion {
    /// Open while this file is there.
    File(FileTemplate),
    /// Open while a GET of this address is answered with 2xx.
    Http(HttpTemplate),
}

impl fmt::Display for GateQuestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.fmt(f),
            Self::Http(url) => url.fmt(f),
        }
    }
}

/// One question, whichever gateways it is asked for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum GateKey {
    /// Is this file there? Absolute, without `.` and `..`.
    File(String),
    /// What does this address answer?
    Http(String),
}

impl fmt::Display for GateKey {
    /// Without what stands behind a question mark, which may be a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => f.write_str(path),
            Self::Http(url) => match url.split_once('?') {
                Some((address, _)) => write!(f, "{address}?…"),
                None => f.write_str(url),
            },
        }
    }
}

/// What a gate said. Whatever is not open holds; the texts complete "the gate is closed: …".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateAnswer {
    /// Go on.
    Open,
    /// It said no.
    Closed(String),
    /// It could not be asked, or did not say.
    Unknown(String),
}

/// An absolute path with labels in braces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileTemplate(String);

/// An `http:` or `https:` address with labels in braces behind its host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpTemplate(String);

/// The longest path and address, in bytes, with its braces and after they are filled in.
const LONGEST: usize = 1024;

/// Letters and digits stay, and what a label may have beside them.
const IN_URL: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

impl FileTemplate {
    /// The path for one gateway, or why there is none.
    fn rendered(&self, gateway: &GatewaySpec) -> Result<String, String> {
        let path = filled(&self.0, gateway, |name, value| {
            let plain = !value.contains('/') && !value.chars().any(char::is_control) && !matches!(value, "." | "..");
            if plain { Ok(value.to_owned()) } else { Err(format!("its {name} {value:?} is no part of a path")) }
        })?;
        if is_plain_path(&path) { Ok(path) } else { Err(format!("{path:?} is not a plain path")) }
    }
}

impl HttpTemplate {
    fn rendered(&self, gateway: &GatewaySpec) -> Result<String, String> {
        let url = filled(&self.0, gateway, |_, value| Ok(utf8_percent_encode(value, IN_URL).to_string()))?;
        // a label of dots would lead to another path
        let dots = url.split(['/', '?']).any(|step| matches!(step, "." | ".."));
        if dots || url.parse::<HttpUrl>().is_err() || url.len() > LONGEST {
            return Err(format!("{url:?} is not a plain address"));
        }
        Ok(url)
    }
}

/// The template with every brace filled in.
fn filled(
    template: &str,
    gateway: &GatewaySpec,
    fit: impl Fn(&str, &str) -> Result<String, String>,
) -> Result<String, String> {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, name, after)) = next_brace(rest) {
        let value = match name {
            "controllerId" => Some(gateway.controller_id.as_str()),
            "name" => Some(gateway.name.as_str()),
            label => gateway.labels.get(label),
        };
        let value = value.filter(|value| !value.is_empty()).ok_or_else(|| format!("it has no label {name}"))?;
        text += before;
        text += &fit(name, value)?;
        rest = after;
    }
    Ok(text + rest)
}

/// What stands before a brace, in it and after it.
fn next_brace(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('{')?;
    let (name, after) = rest.split_once('}')?;
    Some((before, name, after))
}

/// Absolute, without empty steps, `.`, `..` and control characters, and not endless.
fn is_plain_path(path: &str) -> bool {
    let steps = path.strip_prefix('/').map(|path| path.split('/'));
    let plain = |step: &str| !matches!(step, "" | "." | "..") && !step.chars().any(char::is_control);
    path.len() <= LONGEST && steps.is_some_and(|mut steps| steps.all(plain))
}

/// Checks the braces; the template with each of them replaced by a letter.
fn without_braces(template: &str) -> Result<String, Invalid> {
    let shown = super::http_url::shortened(template);
    let invalid = |why: String| Invalid::new(format!("{shown:?} {why}"));
    if template.len() > LONGEST {
        return Err(invalid(format!("is longer than {LONGEST} characters")));
    }
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, name, after)) = next_brace(rest) {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./".contains(&b);
        if name.is_empty() || !name.bytes().all(plain) {
            let why = "is no label's name; write {line} for the value of the label line, {name} or {controllerId}";
            return Err(invalid(format!("has {{{name}}}, which {why}")));
        }
        text += before;
        text.push('x');
        rest = after;
    }
    text += rest;
    if text.contains(['{', '}']) {
        return Err(invalid("has a brace without its other half; write {line} for the value of the label line".into()));
    }
    Ok(text)
}

impl FromStr for FileTemplate {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if !is_plain_path(&without_braces(text)?) {
            let shown = super::http_url::shortened(text);
            let why = "is not an absolute path without '//', '.' and '..', such as /permits/{line}";
            return Err(Invalid::new(format!("{shown:?} {why}")));
        }
        Ok(Self(text.to_owned()))
    }
}

impl FromStr for HttpTemplate {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let url: HttpUrl = without_braces(text)?.parse()?;
        let host = text.split("://").nth(1).and_then(|rest| rest.split(['/', '?']).next()).unwrap_or(text);
        if host.contains('{') {
            let why =
                "has a brace in its host: whom to ask must be fixed, as gates.allowHosts of the site file names it";
            return Err(Invalid::new(format!("{:?} {why}", url.shown())));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for FileTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for HttpTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

serde_as_text!(FileTemplate);
serde_as_text!(HttpTemplate);

#[cfg(test)]
mod tests {
    use super::*;

    fn gateway(labels: &[(&str, &str)]) -> GatewaySpec {
        let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        GatewaySpec { name: "press".into(), controller_id: "a:b".parse().unwrap(), labels, token: None, hold: false }
    }

    fn file(template: &str, labels: &[(&str, &str)]) -> Result<String, String> {
        template.parse::<FileTemplate>().unwrap().rendered(&gateway(labels))
    }

    fn http(template: &str, labels: &[(&str, &str)]) -> Result<String, String> {
        template.parse::<HttpTemplate>().unwrap().rendered(&gateway(labels))
    }

    #[test]
    fn braces_are_filled_with_labels_the_name_and_the_controller_id() {
        assert_eq!(file("/permits/line-{line}/{name}", &[("line", "3")]), Ok("/permits/line-3/press".into()));
        assert_eq!(file("/permits/{example.com/line}", &[("example.com/line", "3")]), Ok("/permits/3".into()));
        assert_eq!(http("http://plc/{controllerId}?l={line}", &[("line", "3")]), Ok("http://plc/a%3Ab?l=3".into()));
    }

    #[test]
    fn no_label_leads_out_of_the_path_that_was_written() {
        for value in ["..", ".", "a/b", "a\nb", ""] {
            assert!(file("/permits/{line}", &[("line", value)]).is_err(), "{value:?}");
        }
        assert!(file("/permits/.{line}", &[("line", ".")]).is_err());
        assert_eq!(file("/permits/{line}", &[]), Err("it has no label line".into()));
        assert_eq!(http("http://plc/{line}/x", &[("line", "a/../?b#c")]), Ok("http://plc/a%2F..%2F%3Fb%23c/x".into()));
        assert!(http("http://plc/{line}/x", &[("line", "..")]).is_err());
    }

    #[test]
    fn what_could_never_be_asked_is_refused_when_it_is_typed() {
        for bad in ["permits/{line}", "/a/../b", "/a//b", "/{", "/a}", "/{}", "/{a b}", "/a/", "/a\n", ""] {
            assert!(bad.parse::<FileTemplate>().is_err(), "{bad:?}");
        }
        for bad in ["/a", "http://{line}/x", "http://plc:{port}/x", "ftp://plc/x", "http://u:p@plc/x", "http://plc/{"] {
            assert!(bad.parse::<HttpTemplate>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_thousand_and_24_characters_are_not_too_long_and_one_more_is() {
        let template = |length: usize| format!("http://plc/{}", "x".repeat(length - 11));
        assert!(
            template(LONGEST).parse::<HttpTemplate>().is_ok() && template(LONGEST + 1).parse::<HttpTemplate>().is_err()
        );
        let filled = |length: usize| http("http://plc/{line}", &[("line", &"x".repeat(length - 11))]);
        assert!(filled(LONGEST).is_ok() && filled(LONGEST + 1).is_err());
    }

    #[test]
    fn a_template_is_shown_as_it_was_typed() {
        for url in ["http://plc/{line}?a=b", "https://plc:8443/x"] {
            assert_eq!(url.parse::<HttpTemplate>().unwrap().to_string(), url);
        }
    }

    #[test]
    fn a_key_shows_no_password() {
        assert_eq!(GateKey::Http("http://plc/x?key=secret".into()).to_string(), "http://plc/x?…");
    }
}
