//! Who belongs to a rollout.

use std::collections::BTreeSet;

use super::draft::Draft;
use super::sequence::order_key;
use super::state::{Gateway, Member, Rollout, Step};
use super::target::choose;
use crate::model::{ControllerId, RolloutId, SkippedReason};

/// Brings the members in line with the selector: freely before the freeze, by joiners and skips after it.
pub(super) fn sync(draft: &mut Draft, id: RolloutId) {
    let Some(rollout) = draft.state.rollouts.get(&id).filter(|rollout| !rollout.replaced) else { return };
    let (frozen, spec) = (rollout.frozen.is_some(), rollout.spec.clone());
    let selected: BTreeSet<_> = draft
        .state
        .gateways
        .iter()
        .filter(|(id, gateway)| {
            // one that is no longer listed does not become a member, and stays one only after the freeze
            let step = rollout.members.get(*id).map(|member| member.step);
            (gateway.listed || (frozen && step.is_some())) && is_meant(rollout, gateway, step)
        })
        .map(|(id, _)| id.clone())
        .collect();
    let gone: Vec<_> = rollout.members.keys().filter(|id| !selected.contains(*id)).cloned().collect();
    let known = |id: &ControllerId| match rollout.members.get(id).map(|member| member.step) {
        None | Some(Step::Skipped(SkippedReason::NotSelected)) => false,
        Some(Step::Skipped(SkippedReason::NoVariant)) => choose(draft.state, rollout, id).is_none(),
        Some(_) => true,
    };
    let new: Vec<_> = selected.into_iter().filter(|id| !known(id)).collect();
    for gateway in new {
        let key = order_key(&spec.artifact.key.name, spec.artifact.key.version.as_str(), gateway.as_str());
        let member = Member::new(key, frozen, draft.now.site);
        draft.add_member(id, gateway.clone(), member);
        if frozen {
            join(draft, id, &gateway);
        }
    }
    for gateway in gone {
        if !frozen {
            draft.remove_member(id, &gateway);
        } else if draft.member(id, &gateway).is_some_and(may_leave) {
            draft.skip(id, &gateway, SkippedReason::NotSelected);
        }
    }
}

/// Does the selector mean a gateway? What one reports makes it a member; once the members are frozen it lets none go.
fn is_meant(rollout: &Rollout, gateway: &Gateway, step: Option<Step>) -> bool {
    let (selector, labels) = (&rollout.spec.selector, &gateway.spec.labels);
    let stays = || step.is_some_and(|step| step != Step::Skipped(SkippedReason::NotSelected)) && selector.keeps(labels);
    selector.selects(labels, &gateway.attributes) || (rollout.frozen.is_some() && stays())
}

/// The selector was edited: whom it no longer means, by what is known now, leaves if nothing is under way for it.
pub(super) fn edited(draft: &mut Draft, id: RolloutId) {
    let Some(rollout) = draft.state.rollouts.get(&id).filter(|rollout| rollout.frozen.is_some()) else { return };
    let meant = |gateway: &Gateway| rollout.spec.selector.selects(&gateway.spec.labels, &gateway.attributes);
    let leaves = |id: &ControllerId| draft.state.gateways.get(id).is_some_and(|gateway| !meant(gateway));
    let members = rollout.members.iter();
    let gone: Vec<_> = members.filter(|(id, m)| may_leave(m) && leaves(id)).map(|(id, _)| id.clone()).collect();
    for gateway in gone {
        draft.skip(id, &gateway, SkippedReason::NotSelected);
    }
}

/// A gateway matched after the freeze. Which file it gets is fixed now.
fn join(draft: &mut Draft, id: RolloutId, gateway: &ControllerId) {
    let Some(rollout) = draft.state.rollouts.get(&id) else { return };
    match choose(draft.state, rollout, gateway) {
        Some(variant) => draft.edit_member(id, gateway, |member| member.variant = variant),
        None => draft.skip(id, gateway, SkippedReason::NoVariant),
    }
}

/// Has the selector nothing to say to a gateway, which is a member or not? That is so of nearly all, nearly always.
pub(super) fn is_in_line(rollout: &Rollout, gateway: &Gateway, member: Option<&Member>) -> bool {
    let (frozen, step) = (rollout.frozen.is_some(), member.map(|member| member.step));
    let may = gateway.listed || (frozen && step.is_some());
    let selected = may && is_meant(rollout, gateway, step);
    rollout.replaced
        || match step {
            None | Some(Step::Skipped(SkippedReason::NotSelected)) => !selected,
            Some(Step::Waiting(_) | Step::Offered) => selected,
            Some(Step::Skipped(SkippedReason::NoVariant)) if selected => {
                rollout.spec.choose(&gateway.spec, &gateway.attributes).is_none()
            }
            Some(_) => selected || frozen,
        }
}

/// Nothing is under way for it; a cancelled order is only dropped once the gateway says so.
fn may_leave(member: &Member) -> bool {
    matches!(member.step, Step::Waiting(_) | Step::Offered) && !member.is_cancelling()
}
