//! The gateways, a line each.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::engine::{Gateway, Member, Rollout, State, Step};
use crate::model::ControllerId;

/// All gateways.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GatewayList {
    /// By controller id.
    pub gateways: Vec<GatewayLine>,
}

/// A gateway.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewayLine {
    /// What people call it.
    pub name: String,
    /// How it names itself.
    pub controller_id: String,
    /// `Never`, `Polling`, `Quiet` or `Offline`.
    pub presence: String,
    /// Versions that it reported, by artifact.
    pub versions: BTreeMap<String, String>,
    /// Its part in the newest rollout that has it.
    pub member: Option<MemberLine>,
}

/// A membership.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MemberLine {
    /// In which rollout.
    pub rollout: String,
    /// How far it is.
    pub step: String,
    /// Why it waits, failed or was skipped.
    pub reason: Option<String>,
    /// Attempts used.
    pub attempts: u8,
    /// The id of its order, open or closed.
    pub action: Option<i32>,
}

/// All gateways.
pub fn gateways(state: &State) -> GatewayList {
    GatewayList { gateways: state.gateways.iter().map(|(id, gateway)| line(state, id, gateway)).collect() }
}

fn line(state: &State, id: &ControllerId, gateway: &Gateway) -> GatewayLine {
    let artifacts = state.rollouts.values().map(|rollout| &rollout.spec.artifact.key.name);
    let versions = artifacts
        .filter_map(|name| Some((name.clone(), state.settings.version_of(gateway, name)?.to_string())))
        .collect();
    GatewayLine {
        name: gateway.spec.name.clone(),
        controller_id: id.to_string(),
        presence: gateway.presence.to_string(),
        versions,
        member: newest(state, id).map(|(rollout, member)| member_line(rollout, member)),
    }
}

/// A gateway's part in the newest rollout that has it.
pub(super) fn newest<'s>(state: &'s State, id: &ControllerId) -> Option<(&'s Rollout, &'s Member)> {
    let memberships = state.rollouts.values().filter_map(|rollout| Some((rollout, rollout.members.get(id)?)));
    memberships.max_by_key(|(rollout, _)| rollout.arrival)
}

fn member_line(rollout: &Rollout, member: &Member) -> MemberLine {
    MemberLine {
        rollout: rollout.identity.to_string(),
        step: member.step_name().into(),
        reason: reason(member),
        attempts: member.attempts,
        action: member.action.as_ref().map(|action| action.id.get()),
    }
}

/// The reason that goes with a step; of one on its way back, how far it is.
pub(super) fn reason(member: &Member) -> Option<String> {
    let far = || (member.step_name() != member.step.name()).then(|| member.step.name().to_owned());
    step_reason(member.step).or_else(far)
}

/// The reason that goes with a step.
pub(super) fn step_reason(step: Step) -> Option<String> {
    match step {
        Step::Waiting(reason) => Some(reason.to_string()),
        Step::Failed(reason) => Some(reason.to_string()),
        Step::Skipped(reason) => Some(reason.to_string()),
        _ => None,
    }
}
