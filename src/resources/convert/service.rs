//! An `EdgeService`, checked.

use std::time::Duration;

use super::{Checked, duration, name, parse};
use crate::model::{self, Check, Health, Method, ServiceName, ServiceSpec, format_duration};
use crate::resources::{ConfigSource, EdgeService, FieldError, RestartMethod, ServiceHealth};

/// Checks a service.
pub fn service(object: &EdgeService) -> Checked<(ServiceName, ServiceSpec)> {
    let name = name(&object.metadata)?;
    let spec = &object.spec;
    let mut config: Vec<model::ConfigSource> = Vec::new();
    for (index, typed) in spec.config.iter().enumerate() {
        let (field, source) = source(&format!("spec.config[{index}]"), typed)?;
        if config.contains(&source) {
            return Err(FieldError::new(field, "stands there twice; keep one"));
        }
        config.push(source);
    }
    if config.is_empty() || config.len() > ServiceSpec::MOST_CONFIG {
        let why = format!("has {} entries; give 1 to {}", config.len(), ServiceSpec::MOST_CONFIG);
        return Err(FieldError::new("spec.config", why));
    }
    let checked = ServiceSpec {
        config,
        unit: parse("spec.restart.unit", &spec.restart.unit)?,
        method: match spec.restart.method {
            None | Some(RestartMethod::Restart) => Method::Restart,
            Some(RestartMethod::Reload) => Method::Reload,
            Some(RestartMethod::ReloadOrRestart) => Method::ReloadOrRestart,
        },
        settle: at_most("spec.settle", spec.settle.as_deref(), ServiceSpec::SETTLE, ServiceSpec::LONGEST)?,
        min_interval: at_most(
            "spec.minInterval",
            spec.min_interval.as_deref(),
            ServiceSpec::MIN_INTERVAL,
            ServiceSpec::LONGEST,
        )?,
        health: spec.health.as_ref().map(health).transpose()?,
    };
    Ok((ServiceName(name), checked))
}

/// A source, and the field that says it.
fn source(field: &str, typed: &ConfigSource) -> Checked<(String, model::ConfigSource)> {
    match (&typed.path, &typed.config_map) {
        (Some(path), None) => {
            let field = format!("{field}.path");
            let path = parse(&field, path)?;
            Ok((field, model::ConfigSource::Path(path)))
        }
        (None, Some(name)) => {
            let field = format!("{field}.configMap");
            let map =
                model::ConfigSource::config_map(name).map_err(|error| FieldError::new(field.as_str(), error.0))?;
            Ok((field, map))
        }
        _ => Err(FieldError::new(field, "should have exactly one of path and configMap")),
    }
}

fn health(typed: &ServiceHealth) -> Checked<Health> {
    let timeout = at_most("spec.health.timeout", typed.timeout.as_deref(), Health::TIMEOUT, Health::LONGEST)?;
    let check = match (&typed.http, typed.tcp, &typed.unit_active_for) {
        (Some(url), None, None) => Check::http(url).map_err(|error| FieldError::new("spec.health.http", error.0))?,
        (None, Some(port), None) => {
            let port = u16::try_from(port).ok().filter(|port| *port > 0);
            Check::Tcp(port.ok_or_else(|| FieldError::new("spec.health.tcp", "is no port; use 1 to 65535"))?)
        }
        (None, None, Some(text)) => {
            let field = "spec.health.unitActiveFor";
            let active = duration(field, text)?;
            if active >= timeout {
                let why = format!(
                    "is {}, which is not less than the time that it has for that ({}); raise spec.health.timeout",
                    format_duration(active),
                    format_duration(timeout)
                );
                return Err(FieldError::new(field, why));
            }
            Check::UnitActiveFor(active)
        }
        _ => return Err(FieldError::new("spec.health", "should have exactly one of http, tcp and unitActiveFor")),
    };
    Ok(Health { check, timeout })
}

fn at_most(field: &str, text: Option<&str>, default: Duration, most: Duration) -> Checked<Duration> {
    let Some(text) = text else { return Ok(default) };
    let time = duration(field, text)?;
    if time > most {
        return Err(FieldError::new(field, format!("is {text}; use at most {}", format_duration(most))));
    }
    Ok(time)
}
