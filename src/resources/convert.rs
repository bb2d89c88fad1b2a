//! *As typed → model*: every value checked, every default filled in, here and nowhere else.

mod artifact;
mod brakes;
mod service;
mod waves;
mod windows;

use std::path::PathBuf;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::labels::{Labels, check_labels};
use super::{
    ConfirmBy, Deadlines, EdgeGateway, FailureAction, FieldError, IntOrPercent, OtaRollout, OtaRolloutSpec, SecretRef,
    Strategy, parse_bytes,
};
use crate::model::{self, Bounds, GatewaySpec, Identity, RolloutSpec, Selector, Texts, format_duration};

/// What a manifest's meaning depends on beside itself.
#[derive(Debug, Clone)]
pub struct Setting {
    /// The directory in which the manifest lies; `file:` sources are in it.
    pub dir: PathBuf,
    /// The poll interval that gateways are told.
    pub poll_interval: Duration,
    /// May it name Secrets? An object of the API may.
    pub secrets: bool,
}

type Checked<T> = Result<T, FieldError>;

pub use service::service;

/// What an object is called.
fn name(metadata: &ObjectMeta) -> Checked<String> {
    metadata.name.clone().ok_or_else(|| FieldError::new("metadata.name", "is missing; it has no default"))
}

/// Checks a rollout.
pub fn rollout(object: &OtaRollout, setting: &Setting) -> Checked<(Identity, RolloutSpec)> {
    let spec = &object.spec;
    let name = name(&object.metadata)?;
    let selector = Selector { match_labels: selector("spec.selector", spec.selector.match_labels.as_ref())? };
    let strategy = strategy(spec.strategy.as_ref(), &selector)?;
    let (artifact, variants) = artifact::files(&spec.artifact, setting)?;
    let max_bytes = max_bytes(spec, &artifact, variants.as_ref())?;
    let checked = RolloutSpec {
        artifact,
        variants,
        approved_waves: waves::approved(spec, &strategy.waves)?,
        selector,
        strategy,
        gates: brakes::gates(spec.gates.as_ref())?,
        deadlines: deadlines(spec.deadlines.as_ref(), setting.poll_interval)?,
        attempts: attempts(spec)?,
        max_bytes,
        confirm_by: match spec.confirm_by {
            None | Some(ConfirmBy::Auto) => model::ConfirmBy::Auto,
            Some(ConfirmBy::ReportedVersion) => model::ConfirmBy::ReportedVersion,
            Some(ConfirmBy::Feedback) => model::ConfirmBy::Feedback,
        },
        windows: windows::windows(spec, setting.poll_interval)?,
        allow_downgrade: spec.allow_downgrade.unwrap_or(false),
        paused: spec.paused.unwrap_or(false),
        cancelled: spec.cancelled.unwrap_or(false),
        retry_token: spec.retry_token.clone(),
    };
    Ok((Identity(name), checked))
}

/// Checks a gateway. The token of a Secret that it may name is not known here.
pub fn gateway(object: &EdgeGateway, setting: &Setting) -> Checked<GatewaySpec> {
    let name = name(&object.metadata)?;
    let spec = &object.spec;
    if let Some(key) =
        object.metadata.labels.iter().flatten().map(|(key, _)| key).find(|key| key.starts_with(Selector::ATTRIBUTE))
    {
        let why = "begins as what gateways report themselves does in selectors; give the label another name";
        return Err(FieldError::new(format!("metadata.labels.{key}"), why));
    }
    let token = spec.auth.as_ref().and_then(|auth| auth.token_sha256.as_deref());
    if let Some(secret) = spec.auth.as_ref().and_then(|auth| auth.token_secret_ref.as_ref()) {
        check_secret(secret, token.is_some(), setting)?;
    }
    Ok(GatewaySpec {
        controller_id: parse("spec.controllerId", spec.controller_id.as_deref().unwrap_or(&name))?,
        name,
        labels: object.metadata.labels.as_ref().map(texts).unwrap_or_default(),
        token: token.map(|token| parse("spec.auth.tokenSha256", token)).transpose()?,
        hold: spec.hold.unwrap_or(false),
    })
}

fn check_secret(secret: &SecretRef, has_token: bool, setting: &Setting) -> Checked<()> {
    let refuse = |field: &str, why: &str| Err(FieldError::new(format!("spec.auth.tokenSecretRef{field}"), why));
    let plain = |b: u8, more: &[u8]| b.is_ascii_alphanumeric() || more.contains(&b);
    let lower = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let name = secret.name.as_bytes();
    let is_name = name.iter().all(|b| !b.is_ascii_uppercase() && plain(*b, b".-"));
    match &secret.key {
        _ if has_token => refuse("", "stands beside tokenSha256; say one of them"),
        _ if !(is_name && lower(name.first()) && lower(name.last())) => {
            refuse(".name", "is no name of a Secret: lower-case letters, digits, '-' and '.'")
        }
        Some(key) if key.is_empty() || !key.bytes().all(|b| plain(b, b"._-")) => {
            refuse(".key", "is no key of a Secret: letters, digits, '-', '.' and '_'")
        }
        _ if !setting.secrets => {
            refuse("", "names a Secret, which only an EdgeGateway of the API can; write tokenSha256 instead")
        }
        _ => Ok(()),
    }
}

fn parse<T: std::str::FromStr<Err = model::Invalid>>(field: &str, text: &str) -> Checked<T> {
    text.parse().map_err(|error: model::Invalid| FieldError::new(field, error.0))
}

fn texts(labels: &Labels) -> Texts {
    labels.iter().map(|(key, value)| (key.clone(), value.clone())).collect()
}

fn selector(at: &str, labels: Option<&Labels>) -> Checked<Texts> {
    let Some(labels) = labels else { return Ok(Texts::new()) };
    check_labels(labels)
        .map_err(|(key, why)| FieldError::new(format!("{at}.matchLabels.{key}").trim_end_matches('.'), why))?;
    Ok(texts(labels))
}

fn strategy(typed: Option<&Strategy>, selector: &Selector) -> Checked<model::Strategy> {
    let mut strategy = model::Strategy::default();
    let Some(typed) = typed else { return Ok(strategy) };
    if let Some(waves) = &typed.waves {
        strategy.waves = waves::waves(waves, selector)?;
    }
    if let Some(amount) = typed.max_in_flight.as_ref() {
        strategy.max_in_flight = self::amount("spec.strategy.maxInFlight", amount)?;
    }
    if let Some(amount) = typed.max_failures.as_ref() {
        strategy.max_failures = self::amount("spec.strategy.maxFailures", amount)?;
    }
    strategy.spread = brakes::spread(typed.spread.as_ref())?;
    if typed.failure_action == Some(FailureAction::Rollback) {
        strategy.failure_action = model::FailureAction::Rollback;
    }
    Ok(strategy)
}

fn amount(field: &str, typed: &IntOrPercent) -> Checked<model::Amount> {
    typed.amount().map_err(|error| FieldError::new(field, error.0))
}

fn duration(field: &str, text: &str) -> Checked<Duration> {
    model::parse_duration(text).map_err(|error| FieldError::new(field, error.0))
}

fn deadlines(typed: Option<&Deadlines>, poll_interval: Duration) -> Checked<model::Deadlines> {
    let default = model::Deadlines::default();
    let least = poll_interval * Bounds::POLLS_PER_DEADLINE;
    let one = |field: &str, text: Option<&String>, default: Duration| {
        let field = format!("spec.deadlines.{field}");
        let deadline = text.map_or(Ok(default), |text| duration(&field, text))?;
        if deadline >= least {
            return Ok(deadline);
        }
        let default = if text.is_none() { " (the default)" } else { "" };
        let why = format!(
            "is {}{default}, which is shorter than {} polls of {}; use at least {}",
            format_duration(deadline),
            Bounds::POLLS_PER_DEADLINE,
            format_duration(poll_interval),
            format_duration(least)
        );
        Err(FieldError::new(field, why))
    };
    let typed = typed.cloned().unwrap_or_default();
    Ok(model::Deadlines {
        download: one("download", typed.download.as_ref(), default.download)?,
        install: one("install", typed.install.as_ref(), default.install)?,
        confirm: one("confirm", typed.confirm.as_ref(), default.confirm)?,
        cancel: one("cancel", typed.cancel.as_ref(), default.cancel)?,
    })
}

fn max_bytes(
    spec: &OtaRolloutSpec,
    artifact: &model::ArtifactSpec,
    variants: Option<&model::Variants>,
) -> Checked<Option<u64>> {
    let Some(typed) = &spec.max_bytes else { return Ok(None) };
    let bytes = parse_bytes(&typed.0).map_err(|error| FieldError::new("spec.maxBytes", error.0))?;
    let others = variants.iter().flat_map(|variants| &variants.others).map(|variant| variant.artifact.size);
    let size = others.fold(artifact.size, u64::max);
    if bytes < size {
        let why = format!("is {bytes}, less than the artifact's {size}: nobody could download it");
        return Err(FieldError::new("spec.maxBytes", why));
    }
    Ok(Some(bytes))
}

fn attempts(spec: &OtaRolloutSpec) -> Checked<u8> {
    let Some(attempts) = spec.attempts else { return Ok(Bounds::ATTEMPTS) };
    u8::try_from(attempts)
        .ok()
        .filter(|attempts| (1..=Bounds::MOST_ATTEMPTS).contains(attempts))
        .ok_or_else(|| FieldError::new("spec.attempts", format!("is {attempts}; use 1 to {}", Bounds::MOST_ATTEMPTS)))
}
