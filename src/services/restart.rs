//! One job about one unit, from its start to its end. Where it cannot be told whether a restart happened, the unit is asked
//! for its run, never restarted again on a guess.

use std::thread::sleep;
use std::time::{Duration, Instant};

use rustbus::wire::ObjectPath;
use rustix::time::{ClockId, clock_gettime};

use super::bus::{Bus, BusError, UnitPath, as_};
use super::health;
use crate::model::{Check, Health, Mark, Method, RestartResult, ServiceReason, UnitFact, UnitJob, UnitTask};

/// A unit may take long to stop and to start.
const LONGEST: Duration = Duration::from_secs(15 * 60);
/// How often a unit is asked again how it stands.
const STEP: Duration = Duration::from_millis(200);
/// The bus may be restarted too.
const BUS_BACK: Duration = Duration::from_secs(60);

/// How a unit stands.
struct Unit {
    load: String,
    why: String,
    active: String,
    mark: Mark,
    /// Microseconds since boot.
    active_since: u64,
    /// A job of systemd's is about it.
    busy: bool,
}

/// Does a job. It blocks, for minutes if the unit takes that long.
pub(super) fn run(job: &UnitJob) -> UnitFact {
    match &job.task {
        UnitTask::Look => look(job.unit.as_str()).unwrap_or_else(|error| refused(&error)),
        UnitTask::Restart { method, before, health } => {
            restart(job.unit.as_str(), *method, before, health.as_ref()).unwrap_or_else(|error| refused(&error))
        }
    }
}

fn refused(error: &BusError) -> UnitFact {
    let (reason, why) = explain(error);
    UnitFact::Refused(reason, why)
}

fn explain(error: &BusError) -> (ServiceReason, String) {
    let reason = match error {
        BusError::Said(name, _) => match name.rsplit('.').next().unwrap_or_default() {
            "NoSuchUnit" | "LoadFailed" | "BadUnitSetting" => ServiceReason::UnitMissing,
            "UnitMasked" => ServiceReason::UnitMasked,
            _ => ServiceReason::BusUnavailable,
        },
        _ => ServiceReason::BusUnavailable,
    };
    let denied = matches!(error, BusError::Said(name, _)
        if name.ends_with("AccessDenied") || name.ends_with("InteractiveAuthorizationRequired"));
    let more = if denied { "; this process's user needs leave to manage the unit" } else { "" };
    (reason, format!("{error}{more}"))
}

fn look(name: &str) -> Result<UnitFact, BusError> {
    let mut bus = Bus::connect()?;
    let path = bus.load(name)?;
    let unit = state(&mut bus, &path)?;
    if let Some(no) = impossible(name, &unit) {
        return Ok(no);
    }
    Ok(match unit.active.as_str() {
        "inactive" => UnitFact::Idle { mark: unit.mark },
        "active" | "reloading" => UnitFact::Ready { up: Some(up(unit.active_since)), mark: unit.mark },
        _ => UnitFact::Ready { mark: unit.mark, up: None },
    })
}

fn impossible(name: &str, unit: &Unit) -> Option<UnitFact> {
    let (reason, why) = match unit.load.as_str() {
        "loaded" => return None,
        "masked" => (ServiceReason::UnitMasked, format!("{name} is masked")),
        "not-found" => (ServiceReason::UnitMissing, format!("systemd finds no {name}")),
        other => (ServiceReason::UnitMissing, format!("systemd cannot load {name} ({other}): {}", unit.why)),
    };
    Some(UnitFact::Refused(reason, why))
}

fn state(bus: &mut Bus, path: &UnitPath) -> Result<Unit, BusError> {
    let text = |bus: &mut Bus, name: &str| bus.get(path, "Unit", name, as_::<String>);
    let load = text(bus, "LoadState")?;
    let why = match load.as_str() {
        "loaded" => String::new(),
        _ => bus.get(path, "Unit", "LoadError", as_::<(String, String)>)?.1,
    };
    let id = bus.get(path, "Unit", "InvocationID", as_::<Vec<u8>>)?;
    Ok(Unit {
        load,
        why,
        active: text(bus, "ActiveState")?,
        mark: Mark {
            invocation: crate::model::hex(&id),
            changed: bus.get(path, "Unit", "StateChangeTimestampMonotonic", as_::<u64>)?,
        },
        active_since: bus.get(path, "Unit", "ActiveEnterTimestampMonotonic", as_::<u64>)?,
        busy: bus.get(path, "Unit", "Job", as_::<(u32, ObjectPath<String>)>)?.0 != 0,
    })
}

fn up(since: u64) -> Duration {
    let now = clock_gettime(ClockId::Monotonic);
    let now = Duration::new(now.tv_sec.try_into().unwrap_or(0), now.tv_nsec.try_into().unwrap_or(0));
    now.saturating_sub(Duration::from_micros(since))
}

fn restart(name: &str, method: Method, before: &Mark, check: Option<&Health>) -> Result<UnitFact, BusError> {
    let mut bus = Bus::connect()?;
    let unit = rested(&mut bus, name)?;
    if let Some(no) = impossible(name, &unit) {
        return Ok(no);
    }
    if has_happened(method, before, &unit.mark) {
        return Ok(ended(&mut bus, name, &unit, check, "it had been restarted already"));
    }
    bus.hear_jobs()?;
    let mut note = "";
    let mut result = issue(&mut bus, name, method, before)?;
    if result == "failed" && service_result(&mut bus, name)? == "start-limit-hit" {
        bus.reset_failed(name)?;
        note = "it had been started too often (start-limit-hit), which was reset once";
        result = issue(&mut bus, name, method, before)?;
    }
    let unit = rested(&mut bus, name)?;
    if result == "done" || (result == "canceled" && has_happened(method, before, &unit.mark)) {
        return Ok(ended(&mut bus, name, &unit, check, note));
    }
    let why = match result.as_str() {
        "failed" => format!("the job failed: {}", service_result(&mut bus, name)?),
        "canceled" => "another job took the place of ours".to_owned(),
        other => format!("the job ended with {other}"),
    };
    let note = if note.is_empty() { String::new() } else { format!("; {note}") };
    Ok(UnitFact::Ended(RestartResult::Failed, format!("{why}{note}")))
}

/// Begins the job and waits for its end. Once it is begun, a bus that breaks off is no reason to begin it again.
fn issue(bus: &mut Bus, name: &str, method: Method, before: &Mark) -> Result<String, BusError> {
    let call = match method {
        Method::Restart => "RestartUnit",
        Method::Reload => "ReloadUnit",
        Method::ReloadOrRestart => "ReloadOrRestartUnit",
    };
    let ended = match bus.begin(call, name) {
        Ok(job) => bus.end(&job, LONGEST),
        Err(BusError::Said(error, words)) if error.ends_with("JobTypeNotApplicable") => {
            return Ok(format!("a refusal: {words}; use another spec.restart.method"));
        }
        Err(error @ BusError::Said(..)) => return Err(error),
        Err(error) => Err(error),
    };
    let Err(error) = ended else { return ended };
    let until = Instant::now() + BUS_BACK;
    while Instant::now() < until {
        sleep(STEP);
        let Ok(mut again) = Bus::connect() else { continue };
        let Ok(unit) = rested(&mut again, name) else { continue };
        *bus = again;
        bus.hear_jobs()?;
        return if has_happened(method, before, &unit.mark) { Ok("done".into()) } else { Err(error) };
    }
    Err(error)
}

/// How the unit stands once no job is about it: an earlier one may be ours.
fn rested(bus: &mut Bus, name: &str) -> Result<Unit, BusError> {
    let until = Instant::now() + LONGEST;
    let path = bus.load(name)?;
    loop {
        let unit = state(bus, &path)?;
        if !unit.busy || Instant::now() >= until {
            return Ok(unit);
        }
        sleep(STEP);
    }
}

fn service_result(bus: &mut Bus, name: &str) -> Result<String, BusError> {
    let path = bus.load(name)?;
    bus.get(&path, "Service", "Result", as_::<String>)
}

/// A reload has no id of its own, but the state changes for it.
fn has_happened(method: Method, before: &Mark, now: &Mark) -> bool {
    before.invocation != now.invocation || (method != Method::Restart && before.changed != now.changed)
}

fn ended(bus: &mut Bus, name: &str, unit: &Unit, check: Option<&Health>, note: &str) -> UnitFact {
    if unit.active == "failed" {
        let result = service_result(bus, name).unwrap_or_default();
        return UnitFact::Ended(RestartResult::Failed, format!("it ended at once: {result}"));
    }
    let well = check.map_or(Ok(()), |health| match &health.check {
        Check::Http(url) => health::until(health.timeout, || health::http(url)),
        Check::Tcp(port) => health::until(health.timeout, || health::tcp(*port)),
        Check::UnitActiveFor(time) => health::until(health.timeout, || active_for(bus, name, *time)),
    });
    match well {
        Ok(()) => UnitFact::Ended(RestartResult::Done, note.to_owned()),
        Err(why) => UnitFact::Ended(RestartResult::Unhealthy, why),
    }
}

fn active_for(bus: &mut Bus, name: &str, time: Duration) -> Result<(), String> {
    let path = bus.load(name).map_err(|error| error.to_string())?;
    let unit = state(bus, &path).map_err(|error| error.to_string())?;
    match unit.active.as_str() {
        "active" if up(unit.active_since) >= time => Ok(()),
        "active" => Err("it was not active for long enough".into()),
        other => Err(format!("it is {other}")),
    }
}
