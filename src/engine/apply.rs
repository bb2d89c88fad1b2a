//! One fact into the draft, and the verdict on it.

use std::time::Duration;

use super::allowance::ATTRIBUTE_CHANGES;
use super::attempt::{self, Then};
use super::draft::Draft;
use super::settle::settle;
use super::state::{Artifact, Member, Rollout, Served, Step};
use super::{brake, feedback, listing, wave};
use crate::model::{
    ActionId, ArtifactFact, Attributes, AttributesMode, Bytes, Client, ConfirmBy, ControllerId, Digest, Event,
    FailedReason, Order, Presence, RolloutId, Settings, Texts, Verdict, What,
};

/// A gateway may report so many bytes of attributes; the keys that it once reported are kept up to the same size.
const MOST_ATTRIBUTE_BYTES: usize = 2_048;
/// What was served is remembered for so many artifacts per gateway.
const MOST_SERVED: usize = 4;

/// Takes one event into the draft. Events of gateways that nobody declared change nothing.
pub fn apply(draft: &mut Draft, event: Event) -> Verdict {
    match event {
        Event::Started => started(draft),
        Event::StoreLost(detail) => store_lost(draft, detail),
        Event::Configured(settings, detail) => configured(draft, settings, detail),
        Event::Listed(list) => listing::apply(draft, list),
        Event::Artifact(digest, fact) => artifact(draft, digest, fact),
        Event::Seen(gateway) => seen(draft, &gateway),
        Event::Quiet(gateway) => gone(draft, &gateway, Presence::Quiet),
        Event::Offline(gateway) => gone(draft, &gateway, Presence::Offline),
        Event::Pace(gateway, interval) => pace(draft, &gateway, interval),
        Event::Polled(gateway) => polled(draft, &gateway),
        Event::Client(gateway, client) => is_client(draft, &gateway, client),
        Event::Attributes(gateway, attributes) => return report(draft, &gateway, attributes),
        Event::Fetched(gateway, action) => return fetched(draft, &gateway, action),
        Event::Requested(gateway, digest, bytes) => return requested(draft, &gateway, digest, bytes),
        Event::Served(gateway, digest) => return served(draft, &gateway, digest),
        Event::BodyEnded(gateway) => body_ended(draft, &gateway),
        Event::Feedback(gateway, action, word) => return feedback::apply(draft, &gateway, action, word),
        Event::Order(Order::Resume, who) => resume(draft, &who),
    }
    Verdict::Accepted
}

/// Connections of before are cut, so a download that fails now fails through our fault.
fn started(draft: &mut Draft) {
    let gateways: Vec<_> = draft.state.gateways.keys().cloned().collect();
    let now = draft.now.site;
    for gateway in gateways {
        draft.edit_gateway_volatile(&gateway, |gateway| (gateway.bodies, gateway.idle_since) = (0, now));
    }
    // who took its order and never asked for the artifact has no connection that we cut
    let asked = |member: &Member| member.action.as_ref().is_some_and(|action| action.requested);
    let mut cut = Vec::new();
    for (id, rollout) in &draft.state.rollouts {
        let downloading =
            rollout.members.iter().filter(|(_, member)| member.step == Step::Downloading && asked(member));
        cut.extend(downloading.map(|(gateway, _)| (*id, gateway.clone())));
    }
    for (id, gateway) in cut {
        draft.edit_action(id, &gateway, |action| action.excused = true);
    }
    draft.touch_all();
}

/// Holds and pauses are gone with the store, so nothing is offered until a person says so.
fn store_lost(draft: &mut Draft, detail: String) {
    draft.edit_site(|site| site.lost = true);
    draft.note(What::StoreLost, detail);
    draft.touch_all();
}

/// Other settings are in force from now on.
fn configured(draft: &mut Draft, settings: Settings, detail: String) {
    let before = std::mem::replace(&mut draft.state.settings, settings);
    if draft.state.settings.poll_interval < before.poll_interval {
        // they come at the interval that they were told until they have heard the new one
        let told = draft.state.gateways.iter().filter(|(_, gateway)| gateway.interval.is_none());
        let told: Vec<_> = told.map(|(id, _)| id.clone()).collect();
        for id in told {
            draft.edit_gateway(&id, |gateway| gateway.interval = Some(before.poll_interval));
        }
    }
    draft.note(What::SiteFileChanged, detail);
    draft.touch_all();
}

fn artifact(draft: &mut Draft, digest: Digest, fact: ArtifactFact) {
    let before = draft.state.artifacts.get(&digest).cloned().unwrap_or_default();
    let after = match fact {
        ArtifactFact::Verified(sums) => Artifact { sums: Some(sums), failed: None },
        ArtifactFact::Failed(why) => Artifact { failed: Some(why), ..before.clone() },
    };
    if after == before {
        return;
    }
    match &after.failed {
        Some(why) => draft.note(What::ArtifactFailed, format!("{digest}: {why}")),
        None => draft.note(What::ArtifactVerified, digest.to_string()),
    }
    draft.set_artifact(digest, after);
}

fn seen(draft: &mut Draft, id: &ControllerId) {
    let Some(gateway) = draft.state.gateways.get(id) else { return };
    if gateway.presence == Presence::Never {
        draft.edit_gateway(id, |gateway| gateway.attributes_due = true);
        draft.note_gateway(What::FirstSeen, id, "");
    }
    draft.edit_gateway(id, |gateway| gateway.presence = Presence::Polling);
}

/// A gateway fell silent. One whose update is being watched has failed with it.
fn gone(draft: &mut Draft, id: &ControllerId, presence: Presence) {
    draft.edit_gateway(id, |gateway| gateway.presence = presence);
    for rollout in soaking(draft, id) {
        let message = Some("it stopped polling".into());
        draft.fail_attempt(rollout, id, FailedReason::Regressed, message, Then::Stop);
    }
}

/// The rollouts in which a gateway is updated and still being watched.
fn soaking(draft: &Draft, id: &ControllerId) -> Vec<RolloutId> {
    let watched = draft.state.rollouts.iter().filter(|(_, rollout)| {
        rollout.members.get(id).is_some_and(|member| member.step == Step::Updated && rollout.is_soaking(member))
    });
    watched.filter(|(_, rollout)| !is_taken_further(draft, rollout, id)).map(|(id, _)| *id).collect()
}

/// Another rollout has the gateway in hand, or took it on to a newer version: what it does now is that one's matter.
fn is_taken_further(draft: &Draft, rollout: &Rollout, id: &ControllerId) -> bool {
    let name = &rollout.spec.artifact.key.name;
    draft.state.rollouts.values().any(|other| {
        let newer = other.arrival > rollout.arrival && other.spec.artifact.key.name == *name;
        let takes = |member: &Member| match member.step {
            Step::Downloading | Step::Installing | Step::Confirming => true,
            _ => newer && member.ever_fetched(),
        };
        other.arrival != rollout.arrival && other.members.get(id).is_some_and(takes)
    })
}

fn pace(draft: &mut Draft, id: &ControllerId, interval: Duration) {
    let interval = (interval != draft.state.settings.poll_interval).then_some(interval);
    draft.edit_gateway(id, |gateway| gateway.interval = interval);
}

/// A gateway that reported success polled late enough to be believed.
fn polled(draft: &mut Draft, id: &ControllerId) {
    let now = draft.now.site;
    let believed: Vec<_> = draft
        .state
        .rollouts
        .iter()
        .filter(|(_, rollout)| {
            let from = |m: &Member| m.action.as_ref().and_then(|action| action.confirm_from);
            rollout.members.get(id).is_some_and(|m| m.step == Step::Confirming && from(m).is_some_and(|at| at <= now))
        })
        .map(|(id, _)| *id)
        .collect();
    for rollout in believed {
        draft.updated(rollout, id, "the gateway reported it and is still there");
    }
}

fn is_client(draft: &mut Draft, id: &ControllerId, client: Client) {
    draft.edit_gateway(id, |gateway| gateway.client = client);
}

/// Merges reported attributes, and looks at what they say about the gateway's updates.
fn report(draft: &mut Draft, id: &ControllerId, report: Attributes) -> Verdict {
    let Some(gateway) = draft.state.gateways.get(id) else { return Verdict::Unknown };
    let before = gateway.attributes.clone();
    let mut after = if report.mode == AttributesMode::Replace { Default::default() } else { before.clone() };
    for (key, value) in report.data {
        match value.filter(|_| report.mode != AttributesMode::Remove) {
            Some(value) => after.insert(key, value),
            None => after.remove(&key),
        }
    }
    if after.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>() > MOST_ATTRIBUTE_BYTES {
        return Verdict::OverQuota;
    }
    if after != before && !draft.allows(id, ATTRIBUTE_CHANGES, |gateway| &mut gateway.attribute_changes) {
        return Verdict::OverQuota;
    }
    let versioned: Vec<_> =
        draft.state.rollouts.values().map(|rollout| rollout.spec.artifact.key.name.clone()).collect();
    let former: Vec<_> = before.keys().filter(|key| !after.contains_key(key)).map(str::to_owned).collect();
    draft.edit_gateway(id, |gateway| {
        gateway.attributes = after;
        gateway.attributes_due = false;
        gateway.former_keys.retain(|key| !gateway.attributes.contains_key(key));
        let mut room = MOST_ATTRIBUTE_BYTES.saturating_sub(gateway.former_keys.iter().map(String::len).sum());
        for key in former {
            if let Some(left) = room.checked_sub(key.len()) {
                room = left;
                gateway.former_keys.insert(key);
            }
        }
    });
    let known = draft.state.gateways.get(id).is_some_and(|gateway| {
        versioned.iter().any(|artifact| draft.state.settings.version_of(gateway, artifact).is_some())
    });
    if known {
        draft.edit_gateway(id, |gateway| gateway.unknown_version = false);
    }
    observe(draft, id, &before);
    Verdict::Accepted
}

/// A reported version may end an update either way.
fn observe(draft: &mut Draft, id: &ControllerId, before: &Texts) {
    let rollouts: Vec<_> = draft.state.rollouts.keys().copied().collect();
    for rollout_id in rollouts {
        let Some(rollout) = draft.state.rollouts.get(&rollout_id) else { continue };
        let Some((member, gateway)) = rollout.members.get(id).zip(draft.state.gateways.get(id)) else { continue };
        let name = &rollout.spec.artifact.key.name;
        let Some(version) = draft.state.settings.version_of(gateway, name) else { continue };
        let changed = draft.state.settings.keys_of(name).find_map(|key| before.get(key)) != Some(version.as_str());
        let arrived = wave::has_target(rollout, Some(&version));
        let overdue = member.action.as_ref().is_some_and(|action| action.overdue);
        let soaking = rollout.is_soaking(member) && !is_taken_further(draft, rollout, id);
        match member.step {
            Step::Downloading | Step::Installing | Step::Confirming | Step::Failed(FailedReason::NoFeedback)
                if arrived =>
            {
                draft.updated(rollout_id, id, "the gateway reports the version");
            }
            Step::Confirming if overdue => {
                let message = Some(format!("it reports {version}"));
                draft.edit_member(rollout_id, id, |member| member.reported = Some(version));
                draft.fail_attempt(rollout_id, id, FailedReason::WrongVersion, message, Then::RetryLater);
            }
            Step::Installing | Step::Confirming if !arrived => {
                let by_version = attempt::proof(draft.state, rollout, gateway) == ConfirmBy::ReportedVersion;
                draft.edit_member(rollout_id, id, |member| {
                    member.reported = Some(version);
                    // under `Auto` a first report makes the version the proof: a poll proves nothing any more
                    if let Some(order) = member.action.as_mut().filter(|_| by_version) {
                        order.confirm_from = None;
                    }
                });
            }
            Step::Updated if !arrived && changed && soaking => {
                let message = Some(format!("it fell back to {version}"));
                draft.fail_attempt(rollout_id, id, FailedReason::Regressed, message, Then::Stop);
            }
            _ => {}
        }
    }
}

/// The gateway asks for its order: the brakes are decided again, with everything that happened before.
fn fetched(draft: &mut Draft, id: &ControllerId, action: ActionId) -> Verdict {
    settle(draft);
    let Some((rollout_id, rollout)) = busy(draft, id) else { return Verdict::Withdrawn };
    let Some(member) = rollout.members.get(id) else { return Verdict::Withdrawn };
    let Some(order) = member.open_action().filter(|order| order.id == action && !order.hidden) else {
        return Verdict::Withdrawn;
    };
    if order.fetched {
        return Verdict::Deploy;
    }
    if member.step != Step::Offered {
        return Verdict::Withdrawn;
    }
    let standing = brake::standing(draft.state, draft.now.site, (rollout_id, rollout), (id, member));
    let others = brake::Load::of(draft.state, rollout_id).without_one();
    if let Some(reason) = standing.or_else(|| brake::room(draft.state, rollout, others)) {
        draft.withdraw(rollout_id, id, reason);
        return Verdict::Withdrawn;
    }
    let deadline = draft.now.site.plus(rollout.spec.deadlines.download);
    draft.edit_member(rollout_id, id, |member| {
        member.not_fetched = 0;
        member.reported = None;
        if let Some(order) = &mut member.action {
            (order.fetched, order.ever_fetched, order.deadline) = (true, true, Some(deadline));
            // what cut an earlier download does not excuse this one
            order.excused = false;
        }
    });
    draft.step(rollout_id, id, Step::Downloading);
    draft.note_member(What::Fetched, rollout_id, id, format!("action {action}"));
    Verdict::Deploy
}

/// The gateway asks for bytes; they may leave only under an order that it has in hand.
fn requested(draft: &mut Draft, id: &ControllerId, digest: Digest, bytes: Bytes) -> Verdict {
    let Some(rollout) = in_hand(draft, id, &digest) else { return Verdict::Withdrawn };
    draft.edit_action(rollout, id, |order| order.requested = true);
    match bytes {
        Bytes::Some => {
            remember(draft, id, digest, false);
            draft.edit_gateway_volatile(id, |gateway| gateway.bodies = gateway.bodies.saturating_add(1));
        }
        // it has the whole file from an earlier attempt
        Bytes::None if draft.state.gateways.get(id).is_some_and(|gateway| gateway.fully_served(&digest)) => {
            begin_install(draft, rollout, id);
        }
        Bytes::None => {}
    }
    Verdict::Deploy
}

/// The last byte is about to leave: the gateway can install from now on.
fn served(draft: &mut Draft, id: &ControllerId, digest: Digest) -> Verdict {
    if in_hand(draft, id, &digest).is_none() {
        take_again(draft, id, &digest);
    }
    let Some(rollout_id) = in_hand(draft, id, &digest) else { return Verdict::Withdrawn };
    remember(draft, id, digest, true);
    begin_install(draft, rollout_id, id);
    Verdict::Deploy
}

/// A download outlived its deadline, and its order is offered again: while it goes on no gateway fetches anything, so its
/// end counts as the fetch. The brakes are decided again all the same.
fn take_again(draft: &mut Draft, id: &ControllerId, digest: &Digest) {
    let lapsed = busy(draft, id).filter(|(_, rollout)| rollout.spec.artifact.key.digest == *digest);
    let order = lapsed.and_then(|(_, rollout)| rollout.members.get(id)?.open_action());
    if let Some(action) = order.filter(|order| order.ever_fetched).map(|order| order.id) {
        fetched(draft, id, action);
    }
}

/// The gateway has all it needs.
fn begin_install(draft: &mut Draft, rollout_id: RolloutId, id: &ControllerId) {
    let Some(rollout) = draft.state.rollouts.get(&rollout_id) else { return };
    if rollout.members.get(id).is_none_or(|member| member.step != Step::Downloading) {
        return;
    }
    let deadline = draft.now.site.plus(rollout.spec.deadlines.install);
    draft.edit_action(rollout_id, id, |order| {
        (order.deadline, order.excused) = (Some(deadline), false);
    });
    draft.step(rollout_id, id, Step::Installing);
    draft.note_member(What::Served, rollout_id, id, "");
}

fn body_ended(draft: &mut Draft, id: &ControllerId) {
    let now = draft.now.site;
    draft.edit_gateway_volatile(id, |gateway| {
        gateway.bodies = gateway.bodies.saturating_sub(1);
        gateway.idle_since = now;
    });
}

fn remember(draft: &mut Draft, id: &ControllerId, digest: Digest, fully: bool) {
    draft.edit_gateway(id, |gateway| match gateway.served.iter_mut().find(|served| served.digest == digest) {
        Some(served) => served.fully |= fully,
        None => {
            if gateway.served.len() >= MOST_SERVED {
                gateway.served.remove(0);
            }
            gateway.served.push(Served { digest, fully });
        }
    });
}

/// The rollout whose order a gateway has open.
fn busy<'d>(draft: &'d Draft, id: &ControllerId) -> Option<(RolloutId, &'d Rollout)> {
    let rollout = draft.state.gateways.get(id)?.busy?;
    Some((rollout, draft.state.rollouts.get(&rollout)?))
}

/// The rollout whose order for this artifact a gateway has fetched and not ended.
fn in_hand(draft: &Draft, id: &ControllerId, digest: &Digest) -> Option<RolloutId> {
    let (rollout_id, rollout) = busy(draft, id)?;
    let order = rollout.members.get(id)?.open_action()?;
    (order.fetched && !order.hidden && rollout.spec.artifact.key.digest == *digest).then_some(rollout_id)
}

fn resume(draft: &mut Draft, who: &str) {
    draft.note(What::Ordered, format!("resume, by {who}"));
    if draft.state.site.lost {
        draft.edit_site(|site| site.lost = false);
        draft.touch_all();
    }
}
