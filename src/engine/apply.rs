//! One fact into the draft, and the verdict on it.

use super::draft::Draft;
use super::state::{Artifact, Gateway, Member, Step};
use super::{
    api, attributes, cancel, contact, declare, download, dropped, duplicate, feedback, gate, listing, needs, order,
    service,
};
use crate::model::{ArtifactFact, ControllerId, Digest, Event, Presence, Settings, Verdict, What};

/// Takes one event into the draft. Events of gateways that nobody declared change nothing.
pub fn apply(draft: &mut Draft, event: Event) -> Verdict {
    match event {
        Event::Started => started(draft),
        Event::StoodStill => stood_still(draft),
        Event::StoreLost(detail) => store_lost(draft, detail),
        Event::Configured(settings, detail) => configured(draft, settings, detail),
        Event::Listed(list) => listing::apply(draft, list),
        Event::ApiAwaited(cluster) => api::awaited(draft, cluster),
        Event::ApiListed(list) => return api::listed(draft, *list),
        Event::Api(cluster, fact) => return api::changed(draft, cluster, *fact),
        Event::Dropped(drop) => return dropped::apply(draft, drop),
        Event::Artifact(digest, fact) => artifact(draft, digest, fact),
        Event::Collect(digest, bytes, why) => return collect(draft, digest, bytes, &why),
        Event::Gate(key, answer, asked) => gate::said(draft, key, answer, asked),
        Event::Seen(gateway) => contact::seen(draft, &gateway),
        Event::Quiet(gateway) => contact::gone(draft, &gateway, Presence::Quiet),
        Event::Offline(gateway) => contact::gone(draft, &gateway, Presence::Offline),
        Event::Pace(gateway, interval) => contact::pace(draft, &gateway, interval),
        Event::Polled(gateway) => contact::polled(draft, &gateway),
        Event::Client(gateway, client) => contact::is_client(draft, &gateway, client),
        Event::Shared(gateway, shared) => duplicate::shared(draft, &gateway, shared),
        Event::Attributes(gateway, attributes) => return attributes::report(draft, &gateway, attributes),
        Event::Fetched(gateway, action) => return download::fetched(draft, &gateway, action),
        Event::Requested(gateway, digest, bytes) => return download::requested(draft, &gateway, digest, bytes),
        Event::Served(gateway, digest) => return download::served(draft, &gateway, digest),
        Event::Paced(gateway, time) => download::paced(draft, &gateway, time),
        Event::BodyEnded(gateway, digest, bytes) => download::body_ended(draft, &gateway, &digest, bytes),
        Event::Feedback(gateway, action, word) => return feedback::apply(draft, &gateway, action, word),
        Event::CancelFeedback(gateway, action, word) => return cancel::answered(draft, &gateway, action, &word),
        Event::Config(name, spec, fact) => return service::config(draft, &name, &spec, fact),
        Event::Unit(name, job, fact) => return service::unit(draft, &name, job, fact),
        Event::Registered(newcomer, by) => return declare::newcomer(draft, *newcomer, by),
        Event::Order(order, who) => return order::apply(draft, order, &who),
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
    tell_interval(draft);
    stood_still(draft);
    draft.touch_services();
}

/// What was known of gateways and gates is as old as the standstill: whoever should count as healthy must poll again.
fn stood_still(draft: &mut Draft) {
    draft.state.gateways.values_mut().for_each(|gateway| gateway.heard = false);
    gate::forget(draft);
    draft.touch_all();
}

/// Holds and pauses are gone with the store, so nothing is offered until a person says so.
pub(super) fn store_lost(draft: &mut Draft, detail: String) {
    draft.edit_site(|site| site.lost = true);
    draft.note(What::StoreLost, detail);
    draft.touch_all();
}

/// Other settings are in force from now on.
fn configured(draft: &mut Draft, settings: Settings, detail: String) {
    let before = std::mem::replace(&mut draft.state.settings, settings);
    draft.state.site.told.get_or_insert(before.poll_interval);
    tell_interval(draft);
    if draft.state.settings.time_zone != before.time_zone {
        draft.state.rollouts.values_mut().for_each(|rollout| rollout.windows_said = None);
    }
    draft.note(What::SiteFileChanged, detail);
    draft.touch_all();
    draft.touch_services();
}

/// Gateways come at the interval that they were told until they have heard the one that is in force now.
fn tell_interval(draft: &mut Draft) {
    let told = Some(draft.state.settings.poll_interval);
    if draft.state.site.told == told {
        return;
    }
    let state = &*draft.state;
    let comes = |(id, gateway): (&ControllerId, &Gateway)| (id.clone(), state.comes_by(gateway));
    let comes: Vec<_> = state.gateways.iter().map(comes).collect();
    for (id, by) in comes {
        draft.edit_gateway(&id, |gateway| gateway.interval = by);
    }
    draft.edit_site(|site| site.told = told);
}

fn artifact(draft: &mut Draft, digest: Digest, fact: ArtifactFact) {
    let before = draft.state.artifacts.get(&digest).cloned().unwrap_or_default();
    let after = match fact {
        ArtifactFact::Fetching(from) => return draft.note(What::ArtifactFetching, format!("{digest}: {from}")),
        ArtifactFact::Verified(sums) => Artifact { sums: Some(sums), failed: None, ..before.clone() },
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

/// Whoever keeps the files asks whether one may go. It is forgotten before it goes, so that it counts as gone from now on.
fn collect(draft: &mut Draft, digest: Digest, bytes: u64, why: &str) -> Verdict {
    if !needs::may_go(draft.state, &digest) {
        return Verdict::Needed;
    }
    let names = needs::names_of(draft.state, &digest).into_iter();
    let names: Vec<_> = names.map(|(name, version)| format!("{name} {version}")).collect();
    let called = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
    draft.note(What::ArtifactCollected, format!("{digest}{called}, {bytes} bytes: {why}"));
    draft.remove_artifact(&digest);
    Verdict::Accepted
}
