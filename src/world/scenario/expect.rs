//! What must be true of a world at a time, or at its end.

use serde_json::Value;

use super::cast::Cast;
use super::read::moment;
use super::typed::{Count, TypedExpectation};
use super::who::chosen;
use crate::engine::{self, Phase, Rollout, State, Step};
use crate::model::{ControllerId, What};
use crate::resources::FieldError;
use crate::world::play::World;

/// One thing that must be true.
#[derive(Debug)]
pub(super) struct Expectation {
    /// When, in milliseconds; none: at the end.
    pub at: Option<u64>,
    /// In words.
    pub what: String,
    check: Check,
}

#[derive(Debug)]
enum Check {
    /// A rollout's phase, or its reason.
    Phase(String, String),
    Reason(String, String),
    Steps(String, String, Range),
    Rows(What, Range),
    /// Each of these gateways.
    Run(Vec<usize>, String),
    Installed(Vec<usize>, Range),
    Touched(Vec<usize>, bool),
    Wait(Vec<usize>, String),
}

/// How many may be.
#[derive(Debug, Clone, Copy)]
struct Range(u64, u64);

impl Expectation {
    pub fn of(
        field: &str,
        typed: &TypedExpectation,
        cast: &Cast,
        random: &mut fastrand::Rng,
    ) -> Result<Vec<Self>, FieldError> {
        let at = typed.at.as_deref().map(|text| moment(&format!("{field}.at"), text)).transpose()?;
        let mut checks = Vec::new();
        let about_rollout = typed.phase.is_some() || typed.reason.is_some() || !typed.steps.is_empty();
        match &typed.rollout {
            Some(rollout) => about(rollout, field, typed, &mut checks)?,
            None if about_rollout => {
                return Err(FieldError::new(
                    format!("{field}.rollout"),
                    "is missing: which one has phase, reason or steps?",
                ));
            }
            None => {}
        }
        for (kind, count) in &typed.rows {
            let field = format!("{field}.rows.{kind}");
            let what: What = kind.parse().map_err(|error: crate::model::Invalid| FieldError::new(&field, error.0))?;
            let range = range(&field, count)?;
            checks.push((format!("the journal has {range} rows {what}"), Check::Rows(what, range)));
        }
        let who = chosen(&format!("{field}.who"), typed.who.as_ref(), 0..cast.roles.len(), cast, random)?;
        let each = match who.as_slice() {
            [one] => cast.name(*one).to_owned(),
            many => format!("each of {} gateways", many.len()),
        };
        if let Some(version) = &typed.run {
            checks.push((format!("{each} runs {version}"), Check::Run(who.clone(), version.clone())));
        }
        if let Some(count) = &typed.installed {
            let range = range(&format!("{field}.installed"), count)?;
            checks.push((format!("{each} installed {range} ×"), Check::Installed(who.clone(), range)));
        }
        if let Some(touched) = typed.touched {
            let was = if touched { "was given an order" } else { "was never given an order" };
            checks.push((format!("{each} {was}"), Check::Touched(who.clone(), touched)));
        }
        if let Some(reason) = &typed.wait {
            checks.push((format!("{each} waits for {reason}"), Check::Wait(who, reason.clone())));
        }
        if checks.is_empty() {
            return Err(FieldError::new(field, "expects nothing"));
        }
        Ok(checks.into_iter().map(|(what, check)| Self { at, what, check }).collect())
    }

    /// What is true instead, if it does not hold.
    pub fn judge(&self, world: &World) -> Option<String> {
        let state = world.site.as_ref().map(|site| site.core.state());
        let rollout = |name: &str| state.and_then(|state| newest(state, name));
        let phase = |name: &str| {
            let (site, state, rollout) = (world.site.as_ref()?, state?, rollout(name)?);
            Some(words(&engine::phase(state, rollout, site.time(world.now))))
        };
        let unless = |holds: bool, found: String| (!holds).then_some(found);
        match &self.check {
            Check::Phase(name, wanted) => {
                let found = phase(name).map_or_else(|| "no such rollout".to_owned(), |(phase, _)| phase);
                unless(found == *wanted, found)
            }
            Check::Reason(name, wanted) => {
                let found = phase(name).map_or_else(|| "no such rollout".to_owned(), |(_, reason)| reason);
                unless(found == *wanted, found)
            }
            Check::Steps(name, step, range) => {
                let members = rollout(name).into_iter().flat_map(|rollout| rollout.members.values());
                let count = members.filter(|member| is_at(member.step, step)).count();
                unless(range.has(count), count.to_string())
            }
            Check::Rows(what, range) => {
                let count = world.journal.iter().filter(|(_, row)| row.what == *what).count();
                unless(range.has(count), count.to_string())
            }
            Check::Run(who, version) => others(world, who, |at| {
                let runs = world.devices.get(at).map_or("", |device| device.runs.as_str());
                (runs != version).then(|| format!("runs {runs}"))
            }),
            Check::Installed(who, range) => others(world, who, |at| {
                let count = world.devices.get(at).map_or(0, |device| device.installs.len());
                (!range.has(count)).then(|| format!("installed {count} ×"))
            }),
            Check::Touched(who, wanted) => others(world, who, |at| {
                let touched = world.devices.get(at).is_some_and(|device| device.touched);
                (touched != *wanted).then(|| if touched { "was given one".into() } else { "was given none".into() })
            }),
            Check::Wait(who, reason) => others(world, who, |at| {
                let id = world.devices.get(at).map(|device| &device.role.id)?;
                let steps = state.map(|state| steps(state, id)).unwrap_or_default();
                let waits = steps.iter().any(|step| step == reason);
                (!waits).then(|| format!("is {}", steps.join(", ")))
            }),
        }
    }
}

fn about(
    rollout: &str,
    field: &str,
    typed: &TypedExpectation,
    checks: &mut Vec<(String, Check)>,
) -> Result<(), FieldError> {
    if let Some(phase) = &typed.phase {
        checks.push((format!("{rollout} is {phase}"), Check::Phase(rollout.into(), phase.clone())));
    }
    if let Some(reason) = &typed.reason {
        checks.push((format!("{rollout} is so for {reason}"), Check::Reason(rollout.into(), reason.clone())));
    }
    for (step, count) in &typed.steps {
        let range = range(&format!("{field}.steps.{step}"), count)?;
        let check = Check::Steps(rollout.into(), step.clone(), range);
        checks.push((format!("{range} members of {rollout} are {step}"), check));
    }
    Ok(())
}

/// The first few of these gateways that are not as they should be.
fn others(world: &World, who: &[usize], found: impl Fn(usize) -> Option<String>) -> Option<String> {
    let wrong: Vec<_> = who.iter().filter_map(|at| Some((*at, found(*at)?))).collect();
    let name = |at: usize| world.devices.get(at).map_or("?", |device| device.role.id.as_str());
    let first: Vec<_> = wrong.iter().take(3).map(|(at, found)| format!("{} {found}", name(*at))).collect();
    let more = if wrong.len() > 3 { format!(", and {} more", wrong.len() - 3) } else { String::new() };
    (!wrong.is_empty()).then(|| first.join(", ") + &more)
}

/// A step by its name, or by its reason.
fn is_at(step: Step, wanted: &str) -> bool {
    step.name() == wanted || reason(step).is_some_and(|reason| reason == wanted)
}

fn reason(step: Step) -> Option<String> {
    match step {
        Step::Waiting(reason) => Some(reason.to_string()),
        Step::Failed(reason) => Some(reason.to_string()),
        Step::Skipped(reason) => Some(reason.to_string()),
        _ => None,
    }
}

/// What a gateway is doing in all rollouts.
fn steps(state: &State, id: &ControllerId) -> Vec<String> {
    let members = state.rollouts.values().filter_map(|rollout| rollout.members.get(id));
    members.map(|member| reason(member.step).unwrap_or_else(|| member.step.name().into())).collect()
}

/// The newest revision of a rollout.
pub(super) fn newest<'s>(state: &'s State, name: &str) -> Option<&'s Rollout> {
    let named = state.rollouts.values().filter(|rollout| rollout.identity.0 == name);
    named.max_by_key(|rollout| rollout.arrival)
}

/// A phase and its reason.
pub(super) fn words(phase: &Phase) -> (String, String) {
    match phase {
        Phase::Ready => ("Ready".into(), String::new()),
        Phase::Reconciling(reason, _) => ("Reconciling".into(), reason.to_string()),
        Phase::Stalled(reason, _) => ("Stalled".into(), reason.to_string()),
    }
}

impl Range {
    fn has(self, count: usize) -> bool {
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        (self.0..=self.1).contains(&count)
    }
}

impl std::fmt::Display for Range {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self(least, most) if least == most => least.fmt(f),
            Self(least, u64::MAX) => write!(f, "at least {least}"),
            Self(least, most) => write!(f, "{least} to {most}"),
        }
    }
}

fn range(field: &str, count: &Count) -> Result<Range, FieldError> {
    let wrong = || FieldError::new(field, "should be a count such as 5, \"3..5\", \"3..\" or \"..5\"");
    let text = match &count.0 {
        Value::Number(number) => return number.as_u64().map(|count| Range(count, count)).ok_or_else(wrong),
        Value::String(text) => text,
        _ => return Err(wrong()),
    };
    let number = |text: &str, default: u64| match text {
        "" => Ok(default),
        text => text.parse::<u64>().map_err(|_| wrong()),
    };
    match text.split_once("..") {
        Some((least, most)) => Ok(Range(number(least, 0)?, number(most, u64::MAX)?)),
        None => number(text, 0).map(|count| Range(count, count)),
    }
}
