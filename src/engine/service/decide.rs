//! What a service waits for, and whether its unit is asked or restarted now.

use std::time::Duration;

use crate::engine::draft::Draft;
use crate::engine::state::{Service, State, Step};
use crate::model::{RestartResult, RestartWhy, ServiceName, ServiceReason, SiteTime};

/// A configuration that never comes to rest is taken as it is after so many times `settle`.
const LONGEST_SETTLE: u32 = 10;

/// How a service stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServicePhase {
    /// Its unit runs with the configuration that is there.
    Ready,
    /// It will, for all that is known.
    Reconciling(ServiceReason, String),
    /// Something else than this site must do something.
    Stalled(ServiceReason, String),
}

/// What is to be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Nothing.
    Rest,
    /// Nothing before something happens, or it is that time.
    Wait(ServiceReason, Option<SiteTime>),
    /// Ask how the unit stands: it may be to be restarted.
    Look(RestartWhy),
    /// See that a restart that was decided happens.
    Act,
}

/// Decides for the services that were touched, are due, or wait for an installation.
pub(in crate::engine) fn settle(draft: &mut Draft) {
    let now = draft.now.site;
    let due = |service: &Service| {
        service.now.due.is_some_and(|at| at <= now) || service.now.waits == Some(ServiceReason::NodeUpdating)
    };
    let due: Vec<_> = draft.state.services.iter().filter(|(_, s)| due(s)).map(|(name, _)| name.clone()).collect();
    let mut names = draft.take_touched_services();
    names.extend(due);
    for name in names {
        look(draft, &name);
    }
}

fn look(draft: &mut Draft, name: &ServiceName) {
    let now = draft.now.site;
    let Some(service) = draft.state.services.get(name) else { return };
    let next = next(draft.state, service, now);
    let job = service.now.job_open;
    draft.edit_service_volatile(name, |service| {
        let standing = &mut service.now;
        (standing.waits, standing.due) = match next {
            Next::Wait(reason, at) => (Some(reason), at),
            _ => (None, None),
        };
        standing.job_open = matches!(next, Next::Look(_) | Next::Act);
        if standing.job_open && !job {
            // a number that no earlier state gave, also one that was lost with its commit
            standing.job = now.0.max(standing.job + 1);
        }
    });
}

/// What is to be done about a service.
pub(super) fn next(state: &State, service: &Service, now: SiteTime) -> Next {
    let standing = &service.now;
    let refused = standing.refused.as_ref().filter(|(_, _, again)| *again > now);
    let refused = refused.map(|(reason, _, again)| Next::Wait(*reason, Some(*again)));
    if service.begun.is_some() {
        return refused.unwrap_or(Next::Act);
    }
    if !service.listed {
        return Next::Wait(ServiceReason::Unlisted, None);
    }
    if !state.settings.services.allows(&service.spec.unit) {
        return Next::Wait(ServiceReason::UnitRefused, None);
    }
    let ordered = service.ordered.is_some() && (standing.seen.is_some() || service.applied.is_some());
    if !ordered {
        if let Some((reason, _)) = &standing.trouble {
            return Next::Wait(*reason, None);
        }
        if standing.seen.is_none() {
            return Next::Wait(ServiceReason::NotRead, None);
        }
    }
    let why = match (ordered, &service.applied) {
        (true, _) => RestartWhy::Ordered,
        (false, None) => RestartWhy::StartedBefore,
        (false, Some(_)) if service.differs() => RestartWhy::Changed,
        (false, Some(_)) => return Next::Rest,
    };
    if why == RestartWhy::Changed
        && let Some(wait) = too_soon(service, now)
    {
        return wait;
    }
    if why != RestartWhy::StartedBefore && is_updating(state) {
        return Next::Wait(ServiceReason::NodeUpdating, None);
    }
    refused.unwrap_or(Next::Look(why))
}

fn too_soon(service: &Service, now: SiteTime) -> Option<Next> {
    let (standing, spec) = (&service.now, &service.spec);
    let settled = standing.since.plus(spec.settle).min(standing.differs_since.plus(spec.settle * LONGEST_SETTLE));
    let again = service.last.as_ref().map(|last| last.at.plus(spec.min_interval));
    match again {
        _ if settled > now => Some(Next::Wait(ServiceReason::Settling, Some(settled))),
        Some(again) if again > now => Some(Next::Wait(ServiceReason::TooSoon, Some(again))),
        _ => None,
    }
}

/// Is firmware being installed on the machine on which the units run?
pub(super) fn is_updating(state: &State) -> bool {
    let Some(node) = &state.settings.node else { return false };
    let mut members = state.rollouts.values().filter_map(|rollout| rollout.members.get(node));
    members.any(|member| member.step == Step::Installing)
}

/// How a service stands.
pub fn service_phase(state: &State, service: &Service, now: SiteTime) -> ServicePhase {
    let last = service.last.as_ref();
    match next(state, service, now) {
        Next::Rest => match last.map(|last| (last.result, &last.text)) {
            Some((RestartResult::Failed, text)) => ServicePhase::Stalled(ServiceReason::RestartFailed, text.clone()),
            Some((RestartResult::Unhealthy, text)) => ServicePhase::Stalled(ServiceReason::Unhealthy, text.clone()),
            _ => ServicePhase::Ready,
        },
        Next::Wait(reason, _) if reason.is_stalled() => ServicePhase::Stalled(reason, words(service, reason)),
        Next::Wait(reason, at) => {
            let in_ = at.map(|at| crate::model::format_duration(whole(at.since(now))));
            ServicePhase::Reconciling(reason, in_.map(|in_| format!("for another {in_}")).unwrap_or_default())
        }
        Next::Look(RestartWhy::StartedBefore) => ServicePhase::Reconciling(ServiceReason::Recording, String::new()),
        Next::Look(_) | Next::Act => ServicePhase::Reconciling(ServiceReason::Restarting, String::new()),
    }
}

fn whole(time: Duration) -> Duration {
    Duration::from_secs(time.as_secs().max(1))
}

fn words(service: &Service, reason: ServiceReason) -> String {
    let of_config = service.now.trouble.as_ref().filter(|(is, _)| *is == reason).map(|(_, why)| why.clone());
    let of_unit = service.now.refused.as_ref().filter(|(is, ..)| *is == reason).map(|(_, why, _)| why.clone());
    of_config.or(of_unit).unwrap_or_default()
}
