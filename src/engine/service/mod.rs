//! Services: which unit is restarted, and when. What was applied once is never applied again before something else was.

mod decide;
mod facts;

use std::rc::Rc;

pub(super) use decide::settle;
pub use decide::{ServicePhase, service_phase};
pub(super) use facts::{config, unit};

use super::draft::Draft;
use super::state::{Service, State};
use crate::model::{
    DeclaredBy, ServiceName, ServiceSpec, SiteTime, UnitJob, UnitName, UnitTask, Verdict, Watched, What,
};

/// Declared and forgotten services together; beyond it those that nobody declares any more are forgotten.
const MOST_SERVICES: usize = 2_000;

/// A service as it is declared now. Other sources or another unit are seen for the first time again: that a person edits the
/// object is no change of what the service reads.
pub(super) fn declare(draft: &mut Draft, name: ServiceName, spec: ServiceSpec, origin: DeclaredBy) {
    let Some(known) = draft.state.services.get(&name) else {
        make_room(draft);
        return draft.add_service(name, Service::new(Rc::new(spec), origin));
    };
    if *known.spec == spec && known.listed && known.origin == origin {
        return;
    }
    if known.listed && !known.origin.is_manifest() && origin.is_manifest() {
        draft.note_service(What::TakenOver, &name, "");
    }
    draft.edit_service(&name, |service| {
        if service.spec.config != spec.config || service.spec.unit != spec.unit {
            (service.applied, service.begun) = (None, None);
            service.now = super::state::Standing { job: service.now.job, ..Default::default() };
        }
        if service.spec.unit != spec.unit {
            service.last = None;
        }
        if *service.spec != spec {
            service.spec = Rc::new(spec);
        }
        (service.origin, service.listed) = (origin, true);
    });
}

/// Another service of the API that restarts a unit already.
pub(super) fn restarter<'s>(state: &'s State, unit: &UnitName, name: &ServiceName) -> Option<&'s ServiceName> {
    let mut others = state.services.iter().filter(|(other, _)| *other != name);
    let holds = |service: &Service| service.listed && service.origin.is_api() && service.spec.unit == *unit;
    others.find(|(_, service)| holds(service)).map(|(name, _)| name)
}

/// What is no longer declared is remembered, so that the same again restarts nothing.
pub(super) fn unlist(draft: &mut Draft, is_gone: impl Fn(&ServiceName, &DeclaredBy) -> bool) {
    let gone = |(name, service): &(&ServiceName, &Service)| service.listed && is_gone(name, &service.origin);
    for name in draft.state.services.iter().filter(gone).map(|(name, _)| name.clone()).collect::<Vec<_>>() {
        draft.edit_service(&name, |service| service.listed = false);
    }
}

fn make_room(draft: &mut Draft) {
    if draft.state.services.len() < MOST_SERVICES {
        return;
    }
    let gone = draft.state.services.iter().filter(|(_, service)| !service.listed);
    for name in gone.map(|(name, _)| name.clone()).collect::<Vec<_>>() {
        draft.remove_service(&name);
    }
}

/// A person wants a unit restarted. Twice before it happened is once.
pub(super) fn restart(draft: &mut Draft, name: &ServiceName, who: &str) -> Verdict {
    let Some(service) = draft.state.services.get(name) else { return Verdict::Unknown };
    if service.ordered.is_some() {
        return Verdict::Already;
    }
    draft.note_service(What::Ordered, name, format!("restart, by {who}"));
    draft.edit_service(name, |service| {
        service.ordered = Some(who.to_owned());
        service.now.refused = None;
    });
    Verdict::Accepted
}

/// What is to be read, and for whom.
pub fn watched(state: &State) -> Vec<Watched> {
    let listed = state.services.iter().filter(|(_, service)| service.listed);
    listed.map(|(name, service)| (name.clone(), service.spec.clone())).collect()
}

/// What is to be done about units.
pub fn unit_jobs(state: &State) -> Vec<UnitJob> {
    let open = state.services.iter().filter(|(_, service)| service.now.job_open);
    let job = |(name, service): (&ServiceName, &Service)| UnitJob {
        service: name.clone(),
        number: service.now.job,
        unit: service.spec.unit.clone(),
        task: match &service.begun {
            None => UnitTask::Look,
            Some(begun) => UnitTask::Restart {
                method: service.spec.method,
                before: begun.before.clone(),
                health: service.spec.health.clone(),
            },
        },
    };
    open.map(job).collect()
}

/// When the next service is due.
pub(super) fn next_due(state: &State) -> Option<SiteTime> {
    state.services.values().filter_map(|service| service.now.due).min()
}
