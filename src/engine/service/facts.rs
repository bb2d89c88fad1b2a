//! What was read of a service's configuration, and what was seen of its unit.

use std::rc::Rc;
use std::time::Duration;

use super::decide::{Next, is_updating, next};
use crate::engine::draft::Draft;
use crate::engine::state::{Begun, LastRestart, Service};
use crate::model::{
    Config, ConfigFact, ConfigSeen, Digest, Mark, RestartResult, RestartWhy, ServiceName, ServiceReason, ServiceSpec,
    UnitFact, Verdict, What,
};

/// What could not be done is tried again so often.
const AGAIN: Duration = Duration::from_secs(60);
/// The clock of files is coarser than that of units.
const COARSE: i64 = 100;
/// So many keys that changed are named.
const MOST_NAMED: usize = 8;

/// Takes what was read by this declaration.
pub(in crate::engine) fn config(
    draft: &mut Draft,
    name: &ServiceName,
    spec: &ServiceSpec,
    fact: ConfigFact,
) -> Verdict {
    let now = draft.now.site;
    let Some(service) = draft.state.services.get(name) else { return Verdict::Unknown };
    if service.spec.config != spec.config {
        return Verdict::Unknown;
    }
    draft.edit_service_volatile(name, |service| {
        let differed = service.differs();
        match fact {
            ConfigFact::Trouble(reason, why) => service.now.trouble = Some((reason, why)),
            ConfigFact::Seen(seen) => {
                service.now.trouble = None;
                let before = service.now.seen.replace(seen);
                let hash = |seen: Option<&ConfigSeen>| seen.map(|seen| seen.config.hash);
                if hash(before.as_ref()) != hash(service.now.seen.as_ref()) {
                    service.now.since = now;
                    if !differed {
                        service.now.differs_since = now;
                    }
                }
            }
        }
    });
    draft.touch_service(name);
    Verdict::Accepted
}

/// Takes what is known of a unit after a job. One that is no longer wanted says nothing.
pub(in crate::engine) fn unit(draft: &mut Draft, name: &ServiceName, job: u64, fact: UnitFact) -> Verdict {
    let now = draft.now.site;
    let Some(service) = draft.state.services.get(name) else { return Verdict::Unknown };
    if service.now.job != job || !service.now.job_open {
        return Verdict::Unknown;
    }
    let next = next(draft.state, service, now);
    draft.edit_service_volatile(name, |service| {
        (service.now.job_open, service.now.refused) = (false, None);
    });
    draft.touch_service(name);
    match (next, fact) {
        (_, UnitFact::Refused(reason, why)) => refused(draft, name, reason, why),
        (Next::Act, UnitFact::Ended(result, text)) => ended(draft, name, result, text),
        (Next::Look(why), UnitFact::Ready { mark, up }) => ready(draft, name, why, mark, up),
        (Next::Look(RestartWhy::Ordered), UnitFact::Idle { mark }) => begin(draft, name, RestartWhy::Ordered, mark),
        (Next::Look(RestartWhy::StartedBefore), UnitFact::Idle { .. }) => {
            record(draft, name, "seen for the first time");
        }
        (Next::Look(RestartWhy::Changed), UnitFact::Idle { .. }) => {
            record(draft, name, "the unit is stopped, and reads it when it is started");
        }
        _ => {}
    }
    Verdict::Accepted
}

/// What was not done, for certain, is decided anew when it can be done.
fn refused(draft: &mut Draft, name: &ServiceName, reason: ServiceReason, why: String) {
    let again = draft.now.site.plus(AGAIN);
    let Some(service) = draft.state.services.get(name) else { return };
    if service.begun.is_some() && reason != ServiceReason::BusUnavailable {
        draft.note_service(What::RestartFailed, name, format!("{reason}: {why}"));
        draft.edit_service(name, |service| service.begun = None);
    }
    draft.edit_service_volatile(name, |service| service.now.refused = Some((reason, why, again)));
}

fn ready(draft: &mut Draft, name: &ServiceName, why: RestartWhy, mark: Mark, up: Option<Duration>) {
    if why != RestartWhy::StartedBefore {
        return begin(draft, name, why, mark);
    }
    let Some(service) = draft.state.services.get(name) else { return };
    let changed = service.now.seen.as_ref().and_then(|seen| seen.changed);
    let started = draft.now.wall.zip(up).map(|(now, up)| now - i64::try_from(up.as_millis()).unwrap_or(i64::MAX));
    let older = started.zip(changed).is_some_and(|(started, changed)| started + COARSE < changed);
    if older && !is_updating(draft.state) {
        begin(draft, name, why, mark);
    } else if !older {
        record(draft, name, "seen for the first time");
    }
}

/// The unit needs no restart for what was read.
fn record(draft: &mut Draft, name: &ServiceName, why: &str) {
    let Some(service) = draft.state.services.get(name) else { return };
    let Some(seen) = &service.now.seen else { return };
    let (config, text) = (seen.config.clone(), becomes(service, &seen.config));
    draft.note_service(What::ConfigRecorded, name, format!("{text}: {why}"));
    draft.edit_service(name, |service| service.applied = Some(config));
}

/// Committed before anybody acts on it.
fn begin(draft: &mut Draft, name: &ServiceName, why: RestartWhy, before: Mark) {
    let at = draft.now.site;
    let Some(service) = draft.state.services.get(name) else { return };
    let seen = service.now.seen.as_ref().map(|seen| &seen.config);
    let Some(config) = seen.or(service.applied.as_ref()).cloned() else { return };
    let because = match why {
        RestartWhy::Changed => "its configuration changed".to_owned(),
        RestartWhy::StartedBefore => "seen for the first time, and the unit was started before it changed".to_owned(),
        RestartWhy::Ordered => format!("ordered by {}", service.ordered.as_deref().unwrap_or("somebody")),
    };
    let detail = format!("{} {}, {}: {because}", service.spec.method, service.spec.unit, becomes(service, &config));
    draft.note_service(What::RestartBegun, name, detail);
    draft.edit_service(name, |service| service.begun = Some(Begun { config, before, why, at }));
}

fn ended(draft: &mut Draft, name: &ServiceName, result: RestartResult, text: String) {
    let wall = draft.now.wall;
    let Some(service) = draft.state.services.get(name) else { return };
    let Some(begun) = service.begun.clone() else { return };
    let what = if result == RestartResult::Done { What::Restarted } else { What::RestartFailed };
    let said = if text.is_empty() { String::new() } else { format!(": {text}") };
    draft.note_service(what, name, format!("{} with {}{said}", service.spec.unit, short(&begun.config.hash)));
    draft.edit_service(name, |service| {
        service.begun = None;
        service.applied = Some(begun.config);
        service.restarts = service.restarts.saturating_add(1);
        if begun.why == RestartWhy::Ordered {
            service.ordered = None;
        }
        service.last = Some(LastRestart { at: begun.at, wall, why: begun.why, result, text });
    });
}

/// `1234… is now 5678…, changed: a.conf, b.conf`.
fn becomes(service: &Service, config: &Rc<Config>) -> String {
    let Some(before) = &service.applied else { return short(&config.hash) };
    if before.hash == config.hash {
        return format!("{} as before", short(&config.hash));
    }
    let keys = config.changed_from(before);
    let more = keys.len().saturating_sub(MOST_NAMED);
    let mut named = keys.into_iter().take(MOST_NAMED).collect::<Vec<_>>().join(", ");
    if more > 0 {
        named = format!("{named} and {more} more");
    }
    let named = if named.is_empty() { String::new() } else { format!(", changed: {named}") };
    format!("{} is now {}{named}", short(&before.hash), short(&config.hash))
}

fn short(hash: &Digest) -> String {
    hash.to_string().chars().take("sha256:".len() + 12).collect()
}
