//! From the text of a scenario to what can be played: everything checked, with where it is wrong.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::cast::Cast;
use super::expect::Expectation;
use super::script::Script;
use super::typed::TypedScenario;
use super::{Scenario, Setting};
use crate::config;
use crate::model::parse_duration;
use crate::resources::{API_VERSION, Document, FieldError, documents, is_object_name, problems, schema_of};
use crate::site;

/// Why a scenario cannot be played: everything that is wrong, with where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("; "))]
pub struct Refused(pub Vec<String>);

impl From<FieldError> for Refused {
    fn from(error: FieldError) -> Self {
        Self(vec![error.to_string()])
    }
}

/// When nothing is said: a Monday.
const STARTS: &str = "2027-03-01T08:00:00Z";
/// How long a scenario lasts at most, if it does not come to an end before.
const LASTS: Duration = Duration::from_secs(7 * 86_400);

pub(super) fn scenario(text: &str, seed: u64) -> Result<Scenario, Refused> {
    let mut documents = documents(text.as_bytes());
    let document = match (documents.next(), documents.len()) {
        (Some(document), 0) => document.map_err(|error| Refused(vec![error.to_string()]))?,
        _ => return Err(Refused(vec!["should be one document".into()])),
    };
    let found = problems(&schema_of::<TypedScenario>(), "", &document.value);
    if !found.is_empty() {
        return Err(Refused(found.iter().map(ToString::to_string).collect()));
    }
    let typed: TypedScenario =
        serde_json::from_value(document.value).map_err(|error| Refused(vec![error.to_string()]))?;
    checked(typed, seed)
}

fn checked(typed: TypedScenario, seed: u64) -> Result<Scenario, Refused> {
    if !is_object_name(&typed.scenario) {
        return Err(FieldError::new("scenario", "should have lower-case letters, digits and '-'").into());
    }
    let setting = setting(&typed)?;
    let lasts = typed.lasts.as_deref().map_or(Ok(LASTS), |text| duration("lasts", text))?;
    let mut random = fastrand::Rng::with_seed(seed);
    let cast = Cast::of(&typed.gateways, &mut random)?;
    let script = Script::of(&typed, &cast, setting.engine.poll_interval, &mut random)?;
    let expect = typed.expect.iter().enumerate();
    let expect = expect.map(|(at, typed)| Expectation::of(&format!("expect[{at}]"), typed, &cast, &mut random));
    Ok(Scenario {
        expect: expect.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect(),
        name: typed.scenario,
        about: typed.about.split_whitespace().collect::<Vec<_>>().join(" "),
        setting,
        lasts: u64::try_from(lasts.as_millis()).unwrap_or(u64::MAX),
        cast,
        script,
    })
}

pub(super) fn duration(field: &str, text: &str) -> Result<Duration, FieldError> {
    parse_duration(text).map_err(|error| FieldError::new(field, error.0))
}

/// A time of the scenario, in milliseconds from its beginning.
pub(super) fn moment(field: &str, text: &str) -> Result<u64, FieldError> {
    Ok(u64::try_from(duration(field, text)?.as_millis()).unwrap_or(u64::MAX))
}

/// A time of the wall clock, in Unix milliseconds.
pub(super) fn wall(field: &str, text: &str) -> Result<i64, FieldError> {
    let time: Result<jiff::Timestamp, _> = text.parse();
    time.map(jiff::Timestamp::as_millisecond)
        .map_err(|_| FieldError::new(field, format!("{text:?} is not a time such as {STARTS}")))
}

/// The site, by a site file in which only what is said differs from one for a trial.
fn setting(typed: &TypedScenario) -> Result<Setting, FieldError> {
    let mut file = json!({
        "apiVersion": API_VERSION,
        "kind": "SiteConfig",
        "site": typed.scenario,
        "state": "/var/lib/lamplighter",
        "intake": {"manifests": ["/manifests"], "drops": "/drops"},
        "devices": {"listen": "127.0.0.1:0", "insecure": true},
    });
    merge(&mut file, &typed.site);
    let at_site = |error: FieldError| FieldError::new(format!("site.{}", error.field), error.why);
    let document = Document { line: 1, value: file };
    let wrong = |errors: Vec<FieldError>| errors.into_iter().next().unwrap_or_else(|| FieldError::new("", "is wrong"));
    let file = config::typed(&document).map_err(wrong).map_err(at_site)?;
    let config = file.check(Path::new("/")).map_err(at_site)?;
    Ok(Setting { engine: site::settings(&config), starts: wall("starts", typed.starts.as_deref().unwrap_or(STARTS))? })
}

fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (_, Value::Null) => {}
        (into, from) => *into = from.clone(),
    }
}
