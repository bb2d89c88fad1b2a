//! A service as a record, and back.

use std::rc::Rc;

use crate::engine::{Begun, LastRestart, Service};
use crate::store::{BegunRecord, LastRestartRecord, ServiceRecord};

pub(super) fn record(service: &Service) -> ServiceRecord {
    let begun = |begun: &Begun| BegunRecord {
        config: (*begun.config).clone(),
        before: begun.before.clone(),
        why: begun.why,
        at: begun.at,
    };
    let last = |last: &LastRestart| {
        let LastRestart { at, wall, why, result, text } = last.clone();
        LastRestartRecord { at, wall, why, result, text }
    };
    ServiceRecord {
        spec: (*service.spec).clone(),
        origin: service.origin,
        listed: service.listed,
        applied: service.applied.as_deref().cloned(),
        begun: service.begun.as_ref().map(begun),
        ordered: service.ordered.clone(),
        restarts: service.restarts,
        last: service.last.as_ref().map(last),
    }
}

pub(super) fn service(record: ServiceRecord) -> Service {
    let begun = |BegunRecord { config, before, why, at }| Begun { config: Rc::new(config), before, why, at };
    let last = |LastRestartRecord { at, wall, why, result, text }| LastRestart { at, wall, why, result, text };
    Service {
        spec: Rc::new(record.spec),
        origin: record.origin,
        listed: record.listed,
        applied: record.applied.map(Rc::new),
        begun: record.begun.map(begun),
        ordered: record.ordered,
        restarts: record.restarts,
        last: record.last.map(last),
        now: Default::default(),
    }
}
