//! What rollouts would do, in which order.

use serde::{Deserialize, Serialize};

use super::gateways::step_reason;
use super::names;
use super::order::OrderLine;
use super::stops::stops;
use crate::engine::{self, Plan, Planned, PlannedWave, State, Step};
use crate::model::{Intent, Now, Refusal, RolloutId, SiteTime};

use super::status::RefusalLine;

/// What rollouts would do.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plans {
    /// A process runs; otherwise this is what its store says.
    #[serde(default = "super::yes")]
    pub running: bool,
    /// When the store was last written, RFC 3339; only of a site that does not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved_at: Option<String>,
    /// The newest first.
    pub plans: Vec<PlanLine>,
    /// What would not be accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusalLine>,
}

/// What a rollout would do.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanLine {
    /// Its name.
    pub rollout: String,
    /// What it brings: name and version.
    pub artifact: String,
    /// Its members are frozen: waves and order stay.
    pub frozen: bool,
    /// So many members, joiners not counted.
    pub gateways: u32,
    /// How many of them may be under way at once.
    pub max_in_flight: LimitLine,
    /// So many are.
    pub in_flight: u32,
    /// So many failures stop it.
    pub max_failures: LimitLine,
    /// What holds it as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<String>,
    /// What that means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meaning: Option<String>,
    /// Who stops it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stops: Vec<OrderLine>,
    /// Its waves, in order.
    pub waves: Vec<PlannedWaveLine>,
    /// Who follows after the last wave.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joiners: Vec<PlannedLine>,
    /// Older rollouts of the artifact from which it takes gateways over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub takes_over: Vec<TakenLine>,
}

/// A limit, as it was written and what it comes to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LimitLine {
    /// As the spec says it: `10%`.
    pub says: String,
    /// What that is here.
    pub count: u32,
}

/// A wave.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedWaveLine {
    /// What it is called.
    pub name: String,
    /// It opens only once a person approves it, and nobody has.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_approval: bool,
    /// How many members.
    pub size: u32,
    /// How long it is watched after its last member came to an end.
    pub soak_for_seconds: u64,
    /// So many failures in it stop the rollout.
    pub max_failures: u32,
    /// It opened.
    pub opened: bool,
    /// It is proven.
    pub proven: bool,
    /// Its members, in the order in which they are offered.
    pub members: Vec<PlannedLine>,
}

/// A member.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedLine {
    /// What people call its gateway.
    pub gateway: String,
    /// How it names itself.
    pub controller_id: String,
    /// Where it stands, and why.
    pub step: String,
    /// Why it waits, failed or is skipped; of one that waits nothing: it is offered at once, as far as there is room.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What would hold it, were its wave open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub then: Option<String>,
    /// It needs nothing from this rollout.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skipped: bool,
}

/// An older rollout of the artifact.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TakenLine {
    /// Its name.
    pub rollout: String,
    /// How many of its gateways are taken over.
    pub gateways: u32,
}

/// What the site's rollouts would do, or one of them. Errors are lower-case fragments.
pub fn plans(state: &State, now: SiteTime, of: Option<&str>) -> Result<Plans, String> {
    let wanted = of.map(|name| names::rollout(state, name)).transpose()?;
    let current = state.rollouts.iter().filter(|(_, rollout)| !rollout.replaced);
    let chosen = current.filter(|(_, rollout)| wanted.as_ref().is_none_or(|wanted| rollout.identity == *wanted));
    let chosen: Vec<_> = chosen.map(|(id, _)| *id).collect();
    Ok(Plans { running: true, saved_at: None, plans: lines(state, now, chosen), refused: Vec::new() })
}

/// What the site would do were these objects declared; nothing of it stays.
pub fn plans_with(state: &State, now: Now, intents: Vec<Intent>, refused: Vec<Refusal>) -> Plans {
    let (state, concerned) = engine::declared(state, now, intents);
    let refused = refused.into_iter().map(|refusal| RefusalLine { what: refusal.what, why: refusal.why }).collect();
    Plans { running: true, saved_at: None, plans: lines(&state, now.site, concerned), refused }
}

fn lines(state: &State, now: SiteTime, mut of: Vec<RolloutId>) -> Vec<PlanLine> {
    of.sort_by_key(|id| std::cmp::Reverse(state.rollouts.get(id).map(|rollout| rollout.arrival)));
    of.into_iter().filter_map(|id| Some(plan_line(state, now, &engine::plan(state, id, now)?))).collect()
}

fn plan_line(state: &State, now: SiteTime, plan: &Plan<'_>) -> PlanLine {
    let rollout = plan.rollout;
    let (key, strategy) = (&rollout.spec.artifact.key, &rollout.spec.strategy);
    PlanLine {
        rollout: rollout.identity.to_string(),
        artifact: format!("{} {}", key.name, key.version),
        frozen: rollout.frozen.is_some(),
        gateways: plan.total,
        max_in_flight: LimitLine { says: strategy.max_in_flight.to_string(), count: plan.in_flight.0 },
        in_flight: plan.in_flight.1,
        max_failures: LimitLine { says: strategy.max_failures.to_string(), count: plan.max_failures },
        holds: plan.halt.map(|reason| reason.to_string()),
        meaning: plan.halt.map(|reason| reason.meaning().into()),
        stops: stops(state, rollout, now),
        waves: plan.waves.iter().map(|wave| wave_line(state, wave)).collect(),
        joiners: plan.joiners.iter().map(|member| member_line(state, member)).collect(),
        takes_over: plan
            .takes_over
            .iter()
            .map(|(identity, gateways)| TakenLine { rollout: identity.to_string(), gateways: *gateways })
            .collect(),
    }
}

fn wave_line(state: &State, planned: &PlannedWave<'_>) -> PlannedWaveLine {
    let wave = &planned.wave;
    PlannedWaveLine {
        name: wave.name.clone(),
        needs_approval: planned.needs_approval,
        size: wave.size,
        soak_for_seconds: wave.soak.as_secs(),
        max_failures: planned.max_failures,
        opened: wave.opened_at.is_some(),
        proven: wave.proven_at.is_some(),
        members: planned.members.iter().map(|member| member_line(state, member)).collect(),
    }
}

fn member_line(state: &State, planned: &Planned<'_>) -> PlannedLine {
    let gateway = state.gateways.get(planned.gateway);
    let (step, why) = match (planned.skip, planned.step) {
        (Some(skip), _) => ("Skipped", Some(skip.to_string())),
        (None, Step::Waiting(_)) => ("Waiting", planned.holds.map(|reason| reason.to_string())),
        (None, step) => (step.name(), step_reason(step)),
    };
    PlannedLine {
        gateway: gateway.map_or_else(|| planned.gateway.to_string(), |gateway| gateway.spec.name.clone()),
        controller_id: planned.gateway.to_string(),
        step: step.into(),
        reason: why,
        then: if planned.skip.is_some() { None } else { planned.then.map(|reason| reason.to_string()) },
        skipped: planned.skip.is_some(),
    }
}
