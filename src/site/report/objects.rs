//! What is said in the API about its objects.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::gateways::{newest, reason};
use super::service::line as service_line;
use super::why::wall_time;
use crate::engine::{self, Gateway, Member, Phase, Rollout, ServicePhase, State, Step, summary};
use crate::kube::{Condition, Report, Show, Truth};
use crate::model::{
    ArtifactSpec, ControllerId, DeclaredBy, Digest, Dispute, Identity, Now, ObjectName, Presence, ServiceName,
    StandingOrder, Uid,
};
use crate::resources::{
    ArtifactStatus, EdgeGatewayStatus, EdgeServiceStatus, EndedStatus, FailureStatus, LastRestart, OrderStatus,
    OtaRolloutStatus, Summary, UpdateStatus, WaveStatus, typed,
};

/// So many failures are named, the newest first.
const MOST_FAILURES: usize = 10;
/// So many updates of a gateway that ended are named.
const MOST_ENDED: usize = 5;
/// Words of gateways and people are cut here.
const LONGEST: usize = 256;

/// What the site says about an object of this uid; none if it does not have it. `fetched`: how much of a file came so far.
pub fn object(
    state: &State,
    now: Now,
    (name, uid): (&ObjectName, Uid),
    fetched: impl Fn(&Digest) -> Option<u64>,
) -> Option<Report> {
    if let Some(dispute) = state.api.disputes.iter().find(|dispute| dispute.api.0 == uid) {
        return Some(disputed(dispute));
    }
    if let Some(refusal) = state.api.refused.get(name) {
        return Some(Report::not_accepted(uid, &refusal.why));
    }
    match name {
        ObjectName::Rollout(object) => rollout(state, now, object, fetched),
        ObjectName::Gateway(name) => gateway(state, name),
        ObjectName::Service(name) => service(state, now, name),
    }
}

/// A rollout that came by a drop and that the API does not show, but for objects of these names.
pub fn unshown(state: &State, but: &[String]) -> Option<Show> {
    let mut unshown = engine::unshown(state).filter_map(|rollout| Some((rollout, &rollout.object.as_ref()?.0)));
    let (rollout, object) = unshown.find(|(_, object)| !but.contains(object))?;
    let spec = serde_json::to_value(typed(&rollout.spec)).ok()?;
    Some(Show { object: object.clone(), rollout: rollout.identity.to_string(), spec })
}

fn disputed(dispute: &Dispute) -> Report {
    let why = format!(
        "{} is in a manifest directory of the site too; neither counts until one of the two is gone",
        dispute.manifest.name()
    );
    let conditions = ready("Stalled", "DeclaredTwice", &why);
    Report { uid: dispute.api.0, conditions: conditions.into(), fields: Map::new() }
}

/// The three conditions that kstatus knows: one of them holds.
fn ready(which: &str, reason: &str, message: &str) -> [Condition; 3] {
    ["Ready", "Reconciling", "Stalled"].map(|kind| {
        let holds = kind == which;
        // a rollout that is not ready says there why: it is the condition that people look at
        let speaks = holds || kind == "Ready";
        Condition::new(kind, holds, reason, if speaks { message } else { "" })
    })
}

fn rollout(state: &State, now: Now, object: &Identity, fetched: impl Fn(&Digest) -> Option<u64>) -> Option<Report> {
    let is_it = |rollout: &&Rollout| !rollout.replaced && rollout.object_name() == object;
    let rollout = state.rollouts.values().find(is_it)?;
    let DeclaredBy::Api(uid) = rollout.origin else { return None };
    let (which, reason, message) = match engine::phase(state, rollout, now.site) {
        Phase::Ready => ("Ready", "Done".into(), String::new()),
        // a countdown would be news all the time; until when is in the wave
        Phase::Reconciling(crate::model::ReconcilingReason::Soaking, _) => {
            ("Reconciling", "Soaking".into(), "the wave is updated and is being watched".into())
        }
        Phase::Reconciling(reason, message) => ("Reconciling", reason.to_string(), message),
        Phase::Stalled(reason, message) => ("Stalled", reason.to_string(), message),
    };
    let identity = || rollout.identity.clone();
    let status = OtaRolloutStatus {
        origin: Some(if rollout.object.is_some() { "Drop" } else { "Api" }.into()),
        summary: Some(counts(rollout)),
        wave: wave(state, rollout, now),
        artifact: Some(artifact(state, rollout, fetched)),
        failures: failures(state, rollout),
        orders: orders(state, [StandingOrder::Pause(identity()), StandingOrder::Cancel(identity())]),
        started_at: rollout.began.and_then(wall_time),
        finished_at: rollout.ended.and_then(wall_time),
        ..OtaRolloutStatus::default()
    };
    Some(Report { uid, conditions: ready(which, &reason, &message).into(), fields: fields(&status) })
}

fn fields(status: &impl serde::Serialize) -> Map<String, Value> {
    match serde_json::to_value(status) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

fn counts(rollout: &Rollout) -> Summary {
    let counted = summary(rollout);
    let count = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
    Summary {
        total: count(counted.total),
        pending: count(counted.pending),
        updating: count(counted.updating),
        updated: count(counted.updated),
        failed: count(counted.failed),
        skipped: count(counted.skipped),
        offline: count(counted.offline),
        rolled_back: count(counted.rolled_back),
    }
}

fn wave(state: &State, rollout: &Rollout, now: Now) -> Option<WaveStatus> {
    let (at, of, until) = engine::wave_now(state, rollout)?;
    let number = |number: usize| i32::try_from(number).unwrap_or(i32::MAX);
    let soak_until = until.and_then(|until| {
        let left = Duration::from_secs(until.since(now.site).as_secs());
        let at = Timestamp::from_millisecond(now.wall?).ok()?.checked_add(left).ok()?;
        wall_time(at.as_millisecond())
    });
    Some(WaveStatus { index: number(at + 1), of: number(of), soak_until })
}

/// Of several files the furthest behind.
fn artifact(state: &State, rollout: &Rollout, fetched: impl Fn(&Digest) -> Option<u64>) -> ArtifactStatus {
    let of = |file: &ArtifactSpec| match state.artifacts.get(&file.key.digest) {
        Some(known) if known.failed.is_some() => (0, "Failed"),
        Some(known) if known.sums.is_some() => (2, "Verified"),
        _ => (1, "Wanted"),
    };
    let files = engine::files_in_use(state, rollout);
    let furthest = files.min_by_key(|file| of(file)).unwrap_or(&rollout.spec.artifact);
    let (place, word) = of(furthest);
    let bytes = if place == 2 { Some(furthest.size) } else { fetched(&furthest.key.digest) };
    ArtifactStatus { state: word.into(), bytes: bytes.and_then(|bytes| i64::try_from(bytes).ok()) }
}

/// Those of these that stand.
fn orders(state: &State, which: impl IntoIterator<Item = StandingOrder>) -> Vec<OrderStatus> {
    let cut = |text: &str| text.chars().take(LONGEST).collect::<String>();
    let line = |order: StandingOrder| {
        let given = state.orders.get(&order)?;
        Some(OrderStatus {
            order: order.title().into(),
            by: cut(&given.by),
            at: given.wall.and_then(wall_time),
            reason: given.reason.as_deref().map(cut),
        })
    };
    which.into_iter().filter_map(line).collect()
}

fn failures(state: &State, rollout: &Rollout) -> Vec<FailureStatus> {
    let failed = rollout.members.iter().filter(|(_, member)| matches!(member.step, Step::Failed(_)));
    let mut failed: Vec<_> = failed.collect();
    failed.sort_by_key(|(_, member)| std::cmp::Reverse(member.since));
    let line = |(id, member): (&ControllerId, &Member)| FailureStatus {
        gateway: state.gateways.get(id).map_or_else(|| id.to_string(), |gateway| gateway.spec.name.clone()),
        reason: reason(member).unwrap_or_default(),
        message: member.message.as_deref().unwrap_or_default().chars().take(LONGEST).collect(),
    };
    failed.into_iter().take(MOST_FAILURES).map(line).collect()
}

fn service(state: &State, now: Now, name: &ServiceName) -> Option<Report> {
    let service = state.services.get(name)?;
    let DeclaredBy::Api(uid) = service.origin else { return None };
    let line = service_line(state, name, service, now.site);
    let message = match engine::service_phase(state, service, now.site) {
        // how long it waits still would be news all the time
        ServicePhase::Reconciling(reason, _) => reason.meaning(),
        ServicePhase::Stalled(reason, _) if line.message.is_empty() => reason.meaning(),
        _ => &line.message,
    };
    let mut conditions: Vec<_> = ready(&line.phase, &line.reason, message).into();
    let more = [("WatchDegraded", &line.watch_degraded), ("ConfigSourceStatic", &line.config_source_static)];
    for (kind, why) in more {
        conditions.extend(why.as_ref().map(|why| Condition::new(kind, true, kind, why)));
    }
    let status = EdgeServiceStatus {
        applied_hash: line.applied_hash,
        observed_hash: line.observed_hash,
        restarts: i32::try_from(line.restarts).unwrap_or(i32::MAX),
        last_restart: line.last_restart.map(|last| LastRestart {
            time: last.time,
            reason: last.reason,
            result: last.result,
            message: last.message.chars().take(LONGEST).collect(),
        }),
        ..EdgeServiceStatus::default()
    };
    Some(Report { uid, conditions, fields: fields(&status) })
}

fn gateway(state: &State, name: &str) -> Option<Report> {
    let named = |(_, gateway): &(_, &Gateway)| gateway.spec.name == name && gateway.origin.is_api();
    let found = || state.gateways.iter().filter(named);
    let (id, gateway) = found().find(|(_, gateway)| gateway.listed).or_else(|| found().next())?;
    let DeclaredBy::Api(uid) = gateway.origin else { return None };
    let membership = newest(state, id);
    let (which, why, message) = standing(membership.map(|(_, member)| member));
    let mut conditions: Vec<Condition> = vec![online(gateway.presence)];
    conditions.extend(ready(which, &why, message));
    let artifacts = state.rollouts.values().map(|rollout| &rollout.spec.artifact.key.name);
    let versions = artifacts
        .filter_map(|name| Some((name.clone(), state.settings.version_of(gateway, name)?.to_string())))
        .collect();
    let update = membership.map(|(rollout, member)| UpdateStatus {
        rollout: rollout.identity.to_string(),
        step: member.step.name().into(),
        reason: reason(member),
        attempt: member.attempts.into(),
        action: member.action.as_ref().map(|action| action.id.get()),
    });
    let status = EdgeGatewayStatus {
        versions,
        update,
        history: history(state, id),
        orders: orders(state, [StandingOrder::Hold(id.clone())]),
        ..EdgeGatewayStatus::default()
    };
    Some(Report { uid, conditions, fields: fields(&status) })
}

/// How its last updates ended, the newest first.
fn history(state: &State, id: &ControllerId) -> Vec<EndedStatus> {
    let parts = state.rollouts.values().filter_map(|rollout| Some((rollout, rollout.members.get(id)?)));
    let mut ended: Vec<_> = parts.filter(|(_, member)| member.step.is_terminal()).collect();
    ended.sort_by_key(|(rollout, member)| std::cmp::Reverse((member.since, rollout.arrival)));
    let line = |(rollout, member): (&Rollout, &Member)| EndedStatus {
        rollout: rollout.identity.to_string(),
        version: rollout.spec.artifact.key.version.to_string(),
        step: member.step.name().into(),
        reason: reason(member),
    };
    ended.into_iter().take(MOST_ENDED).map(line).collect()
}

fn online(presence: Presence) -> Condition {
    let (status, reason) = match presence {
        Presence::Polling | Presence::Quiet => (Truth::True, "Polling"),
        Presence::Offline => (Truth::False, "Silent"),
        Presence::Never => (Truth::Unknown, "NeverSeen"),
    };
    Condition::new("Online", status, reason, "")
}

/// How a gateway stands by its part in the newest rollout.
fn standing(member: Option<&Member>) -> (&'static str, String, &str) {
    let Some(member) = member else { return ("Ready", "NoRollout".into(), "") };
    let word = reason(member).unwrap_or_else(|| member.step.name().into());
    match member.step {
        Step::Updated | Step::Skipped(_) => ("Ready", word, ""),
        Step::Failed(reason) => ("Stalled", word, member.message.as_deref().unwrap_or(reason.meaning())),
        Step::RolledBack => ("Stalled", word, "it is back on the version that it had before"),
        Step::Waiting(reason) => ("Reconciling", word, reason.meaning()),
        _ => ("Reconciling", word, ""),
    }
}
