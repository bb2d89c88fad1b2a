//! What should be true outside: computed from the state, and the same again after a crash.

use super::service;
use super::silence::LONGEST;
use super::state::{Action, Gateway, State, Step};
use crate::model::{ActionId, ArtifactSpec, Ask, ControllerId, FailedReason, SiteTime, Sums, TokenHash};

/// What one gateway may see.
#[derive(Debug, Clone, PartialEq)]
pub struct GatewayView<'s> {
    /// The hash of its token.
    pub token: Option<TokenHash>,
    /// Should it report its attributes?
    pub ask: Ask,
    /// Its open order.
    pub offer: Option<OfferView<'s>>,
    /// A poll from this time on is an event.
    pub tell_poll_from: Option<SiteTime>,
}

/// An open order.
#[derive(Debug, Clone, PartialEq)]
pub struct OfferView<'s> {
    /// Its id.
    pub action: ActionId,
    /// Is the link shown?
    pub link: bool,
    /// Is the gateway told to drop it?
    pub cancel: bool,
    /// May the gateway download?
    pub fetched: bool,
    /// Was the artifact fully served to it under this order, or does it install while it reads?
    pub served: bool,
    /// What to install.
    pub artifact: &'s ArtifactSpec,
    /// The artifact's other hashes.
    pub sums: &'s Sums,
}

/// What a gateway may see.
pub fn gateway_view<'s>(state: &'s State, id: &ControllerId) -> Option<GatewayView<'s>> {
    let gateway = state.gateways.get(id)?;
    let mut memberships = state.rollouts.values().filter_map(|rollout| Some((rollout, rollout.members.get(id)?)));
    let tell_poll_from = memberships
        .clone()
        .filter(|(_, member)| member.step == Step::Confirming)
        .find_map(|(_, member)| member.action.as_ref()?.confirm_from);
    let waits_for_version = gateway.unknown_version
        || gateway.unsettled
        || gateway.shared
        || memberships.any(|(rollout, member)| match member.step {
            Step::Confirming | Step::Failed(FailedReason::NoFeedback) => true,
            Step::Updated => rollout.is_soaking(member),
            _ => false,
        });
    let ask = match () {
        () if waits_for_version => Ask::EachInterval,
        () if gateway.attributes_due => Ask::Once,
        () => Ask::No,
    };
    Some(GatewayView { token: gateway.spec.token, ask, offer: offer(state, gateway, id), tell_poll_from })
}

fn offer<'s>(state: &'s State, gateway: &Gateway, id: &ControllerId) -> Option<OfferView<'s>> {
    let rollout = state.rollouts.get(&gateway.busy?)?;
    let member = rollout.members.get(id)?;
    let action: &Action = member.open_action()?;
    let artifact = rollout.file_for(member);
    Some(OfferView {
        action: action.id,
        link: !action.hidden && !matches!(member.step, Step::Waiting(_)),
        cancel: action.cancelling,
        fetched: action.fetched && !action.hidden,
        // under this order: one who got the file under an earlier one may be asked to try again
        served: matches!(member.step, Step::Installing | Step::Confirming | Step::Updated | Step::RolledBack),
        artifact,
        sums: state.artifacts.get(&artifact.key.digest)?.sums.as_ref()?,
    })
}

/// When the next deadline is.
pub fn next_due(state: &State) -> Option<SiteTime> {
    let silence = state.site.silence.map(|since| since.plus(LONGEST));
    state.rollouts.values().filter_map(|rollout| rollout.next_due).chain(silence).chain(service::next_due(state)).min()
}
