//! The gateways of the site and the members of a rollout, side by side. Both are in the order of their ids, so that one walk
//! sees both and looks up neither: with fifty thousand of them a look-up is what takes the time.

use std::collections::BTreeMap;

use super::state::{Gateway, Member, Rollout};
use crate::model::ControllerId;

/// Every gateway, and what the rollout knows of it if it is a member.
pub(super) fn beside<'s>(
    gateways: &'s BTreeMap<ControllerId, Gateway>,
    rollout: &'s Rollout,
) -> impl Iterator<Item = (&'s ControllerId, &'s Gateway, Option<&'s Member>)> {
    let mut members = rollout.members.iter().peekable();
    gateways.iter().map(move |(id, gateway)| {
        let member = members.next_if(|(member, _)| *member == id).or_else(|| {
            while members.next_if(|(member, _)| *member < id).is_some() {}
            members.next_if(|(member, _)| *member == id)
        });
        (id, gateway, member.map(|(_, member)| member))
    })
}

/// Every member whose gateway is known.
pub(super) fn members<'s>(
    gateways: &'s BTreeMap<ControllerId, Gateway>,
    rollout: &'s Rollout,
) -> impl Iterator<Item = (&'s ControllerId, &'s Gateway, &'s Member)> {
    beside(gateways, rollout).filter_map(|(id, gateway, member)| Some((id, gateway, member?)))
}
