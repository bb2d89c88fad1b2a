//! The engine's state as records, and back. What is derived or not worth a write is left out here and nowhere else.

mod service;

use std::rc::Rc;

use crate::engine::{
    Action, Artifact, Changes, Frozen, Gateway, Member, Rollout, Served, Settings, Site, State, Step, Tripped, Wave,
    order_key,
};
use crate::model::{ActionId, RolloutId, SiteTime, WaitingReason};
use crate::store::{
    ActionRecord, ArtifactRecord, Batch, DropRecord, FrozenRecord, GatewayRecord, MemberRecord, OrderRecord,
    RolloutRecord, ServedRecord, SiteRecord, Snapshot, StepRecord, TrippedRecord, WaveRecord,
};

/// What a step changed, as one transaction. Its time is filled in at the commit.
pub(super) fn batch(state: &State, changes: Changes) -> Batch {
    let member = |(rollout, gateway): &(RolloutId, _)| state.rollouts.get(rollout)?.members.get(gateway);
    Batch {
        site: changes.site.then(|| site_record(&state.site)),
        time: Default::default(),
        gateways: with(changes.gateways, |id| state.gateways.get(id).map(gateway_record)),
        rollouts: with(changes.rollouts, |id| state.rollouts.get(id).map(rollout_record)),
        members: with(changes.members, |id| member(id).map(member_record)),
        artifacts: changes
            .artifacts
            .into_iter()
            .filter_map(|digest| {
                let Some(artifact) = state.artifacts.get(&digest) else { return Some((digest, None)) };
                let (sums, names, kept) = (artifact.sums.clone()?, artifact.names.clone(), artifact.kept.clone());
                Some((digest, Some(ArtifactRecord { sums, names, kept })))
            })
            .collect(),
        drops: with(changes.drops, |digest| state.drops.get(digest).map(|order| DropRecord { order: *order })),
        orders: with(changes.orders, |order| state.orders.get(order).cloned().map(OrderRecord)),
        services: with(changes.services, |name| state.services.get(name).map(service::record)),
        journal: changes.journal,
    }
}

fn with<K, V>(keys: impl IntoIterator<Item = K>, value: impl Fn(&K) -> Option<V>) -> Vec<(K, Option<V>)> {
    keys.into_iter().map(|key| (value(&key), key)).map(|(value, key)| (key, value)).collect()
}

/// The state that the records describe.
pub(super) fn state(snapshot: Snapshot, settings: Settings, action_base: ActionId) -> State {
    let site = snapshot.site.as_ref().map_or_else(|| new_site(action_base), site);
    let mut state = State {
        settings,
        site,
        strange_ids: snapshot.gateways.values().flat_map(|record| record.strange_ids.iter().copied()).collect(),
        gateways: snapshot.gateways.into_iter().map(|(id, record)| (id, gateway(record))).collect(),
        rollouts: snapshot.rollouts.into_iter().map(|(id, record)| (id, rollout(record))).collect(),
        artifacts: snapshot
            .artifacts
            .into_iter()
            .map(|(digest, record)| {
                (digest, Artifact { sums: Some(record.sums), failed: None, names: record.names, kept: record.kept })
            })
            .collect(),
        drops: snapshot.drops.into_iter().map(|(digest, record)| (digest, record.order)).collect(),
        orders: snapshot.orders.into_iter().map(|(order, OrderRecord(given))| (order, given)).collect(),
        services: snapshot.services.into_iter().map(|(name, record)| (name, service::service(record))).collect(),
        gates: Default::default(),
        awake_since: SiteTime::default(),
        listed: false,
        refused: Vec::new(),
        api: Default::default(),
    };
    for ((rollout_id, id), record) in snapshot.members {
        let Some(rollout) = state.rollouts.get_mut(&rollout_id) else { continue };
        let artifact = &rollout.spec.artifact.key;
        let key = order_key(&artifact.name, artifact.version.as_str(), id.as_str());
        let member = Member { key, ..member(record) };
        if let (Some(gateway), true) = (state.gateways.get_mut(&id), member.open_action().is_some()) {
            gateway.busy = Some(rollout_id);
        }
        if let (Some(gateway), true) = (state.gateways.get_mut(&id), member.is_unsettled()) {
            gateway.unsettled = true;
        }
        rollout.members.insert(id, member);
    }
    state
}

fn new_site(action_base: ActionId) -> Site {
    Site {
        action_base,
        action_next: action_base,
        rollout_next: RolloutId(1),
        arrivals: 0,
        lost: false,
        silence: None,
        silence_over: SiteTime::default(),
        told: None,
        cluster: None,
    }
}

fn site_record(site: &Site) -> SiteRecord {
    let Site { action_base, action_next, rollout_next, arrivals, lost, silence, silence_over, told, cluster } = *site;
    SiteRecord { action_base, action_next, rollout_next, arrivals, lost, silence, silence_over, told, cluster }
}

fn site(record: &SiteRecord) -> Site {
    let SiteRecord { action_base, action_next, rollout_next, arrivals, lost, silence, silence_over, told, cluster } =
        *record;
    Site { action_base, action_next, rollout_next, arrivals, lost, silence, silence_over, told, cluster }
}

fn gateway_record(gateway: &Gateway) -> GatewayRecord {
    let gateway = gateway.clone();
    let served = gateway.served.iter().map(|s| ServedRecord { digest: s.digest, fully: s.fully }).collect();
    GatewayRecord {
        spec: gateway.spec,
        origin: gateway.origin,
        listed: gateway.listed,
        presence: gateway.presence,
        failed: gateway.failed,
        silent_since: gateway.silent_since,
        acted_at: gateway.acted_at,
        interval: gateway.interval,
        client: gateway.client,
        attributes: gateway.attributes,
        former_keys: gateway.former_keys,
        attributes_due: gateway.attributes_due,
        unknown_version: gateway.unknown_version,
        duplicate: gateway.duplicate,
        strange_ids: gateway.strange_ids,
        served,
        previous: gateway.previous,
    }
}

fn gateway(record: GatewayRecord) -> Gateway {
    Gateway {
        spec: record.spec,
        origin: record.origin,
        listed: record.listed,
        presence: record.presence,
        heard: false,
        failed: record.failed,
        silent_since: record.silent_since,
        acted_at: record.acted_at,
        interval: record.interval,
        client: record.client,
        attributes: record.attributes,
        former_keys: record.former_keys,
        attributes_due: record.attributes_due,
        unknown_version: record.unknown_version,
        duplicate: record.duplicate,
        shared: false,
        sightings: Vec::new(),
        strange_ids: record.strange_ids,
        served: record.served.iter().map(|s| Served { digest: s.digest, fully: s.fully }).collect(),
        previous: record.previous,
        busy: None,
        unsettled: false,
        bodies: 0,
        idle_since: SiteTime::default(),
        paced: Default::default(),
        late_words: Default::default(),
        attribute_changes: Default::default(),
    }
}

fn rollout_record(rollout: &Rollout) -> RolloutRecord {
    RolloutRecord {
        identity: rollout.identity.clone(),
        arrival: rollout.arrival,
        spec: (*rollout.spec).clone(),
        origin: rollout.origin,
        object: rollout.object.clone(),
        listed: rollout.listed,
        unlisted_at: rollout.unlisted_at,
        replaced: rollout.replaced,
        frozen: rollout.frozen.as_ref().map(|frozen| FrozenRecord {
            total: frozen.total,
            waves: frozen.waves.iter().map(wave_record).collect(),
            rollback: frozen.rollback,
        }),
        tripped: rollout.tripped.as_ref().map(|t| TrippedRecord {
            at: t.at,
            wave: t.wave,
            failures: t.failures,
            limit: t.limit,
        }),
        cancelled: rollout.cancelled,
        deleted: rollout.deleted,
        approved: rollout.approved.clone(),
        began: rollout.began,
        ready_at: rollout.ready_at,
        ended: rollout.ended,
        backs: rollout.backs.clone(),
        rolled_back_at: rollout.rolled_back_at,
        retried: rollout.retried.clone(),
    }
}

fn rollout(record: RolloutRecord) -> Rollout {
    Rollout {
        identity: record.identity,
        arrival: record.arrival,
        spec: Rc::new(record.spec),
        origin: record.origin,
        object: record.object,
        listed: record.listed,
        unlisted_at: record.unlisted_at,
        replaced: record.replaced,
        frozen: record.frozen.map(|frozen| Frozen {
            total: frozen.total,
            waves: (1..).zip(frozen.waves).map(wave).collect(),
            rollback: frozen.rollback,
        }),
        tripped: record.tripped.map(|t| Tripped { at: t.at, wave: t.wave, failures: t.failures, limit: t.limit }),
        cancelled: record.cancelled,
        deleted: record.deleted,
        approved: record.approved,
        began: record.began,
        ready_at: record.ready_at,
        ended: record.ended,
        backs: record.backs,
        rolled_back_at: record.rolled_back_at,
        rollback_stalled: false,
        retried: record.retried,
        conflict: false,
        members: Default::default(),
        // at once: what is due is not on disk
        next_due: Some(SiteTime::default()),
        windows_said: None,
    }
}

fn wave_record(wave: &Wave) -> WaveRecord {
    let Wave { name, size, asked, selector, approval, min_updated, soak, opened_at, proven_at } = wave.clone();
    WaveRecord { name, size, asked, selector, approval, min_updated, soak, opened_at, proven_at }
}

/// One of before waves had names is called by its place, from 1.
fn wave((place, record): (u16, WaveRecord)) -> Wave {
    let WaveRecord { name, size, asked, selector, approval, min_updated, soak, opened_at, proven_at } = record;
    let name = if name.is_empty() { place.to_string() } else { name };
    Wave { name, size, asked, selector, approval, min_updated, soak, opened_at, proven_at }
}

fn member_record(member: &Member) -> MemberRecord {
    MemberRecord {
        wave: member.wave,
        joiner: member.joiner,
        variant: member.variant,
        back: member.back,
        reverting: member.reverting,
        step: match member.step {
            Step::Waiting(_) => StepRecord::Waiting,
            Step::Offered => StepRecord::Offered,
            Step::Downloading => StepRecord::Downloading,
            Step::Installing => StepRecord::Installing,
            Step::Confirming => StepRecord::Confirming,
            Step::Updated => StepRecord::Updated,
            Step::RolledBack => StepRecord::RolledBack,
            Step::Failed(reason) => StepRecord::Failed(reason),
            Step::Skipped(reason) => StepRecord::Skipped(reason),
        },
        since: member.since,
        attempts: member.attempts,
        excuses: member.excuses,
        not_fetched: member.not_fetched,
        retry_at: member.retry_at,
        action: member.action.as_ref().map(action_record),
        spent: member.spent,
        message: member.message.clone(),
        reported: member.reported.clone(),
    }
}

fn member(record: MemberRecord) -> Member {
    Member {
        wave: record.wave,
        joiner: record.joiner,
        variant: record.variant,
        back: record.back,
        reverting: record.reverting,
        key: 0,
        step: match record.step {
            // decided again at the first step
            StepRecord::Waiting => Step::Waiting(WaitingReason::Unlisted),
            StepRecord::Offered => Step::Offered,
            StepRecord::Downloading => Step::Downloading,
            StepRecord::Installing => Step::Installing,
            StepRecord::Confirming => Step::Confirming,
            StepRecord::Updated => Step::Updated,
            StepRecord::RolledBack => Step::RolledBack,
            StepRecord::Failed(reason) => Step::Failed(reason),
            StepRecord::Skipped(reason) => Step::Skipped(reason),
        },
        since: record.since,
        attempts: record.attempts,
        excuses: record.excuses,
        not_fetched: record.not_fetched,
        retry_at: record.retry_at,
        action: record.action.map(action),
        spent: record.spent,
        message: record.message,
        reported: record.reported,
    }
}

fn action_record(action: &Action) -> ActionRecord {
    let Action {
        id,
        aliases,
        open,
        fetched,
        ever_fetched,
        requested,
        excused,
        overdue,
        hidden,
        cancelling,
        confirm_from,
        deadline,
    } = action.clone();
    ActionRecord {
        id,
        aliases,
        open,
        fetched,
        ever_fetched,
        requested,
        excused,
        overdue,
        hidden,
        cancelling,
        confirm_from,
        deadline,
    }
}

fn action(record: ActionRecord) -> Action {
    let ActionRecord {
        id,
        aliases,
        open,
        fetched,
        ever_fetched,
        requested,
        excused,
        overdue,
        hidden,
        cancelling,
        confirm_from,
        deadline,
    } = record;
    Action {
        id,
        aliases,
        open,
        fetched,
        ever_fetched,
        requested,
        excused,
        overdue,
        hidden,
        cancelling,
        confirm_from,
        deadline,
    }
}
