//! Finding what a person means by a name.

use strsim::damerau_levenshtein;

use crate::engine::{Gateway, State};
use crate::model::{ControllerId, Identity, ServiceName};

/// So many names are offered to who mistyped one.
const MOST_NEAR: usize = 3;

/// A gateway, by its controller id or by its name. One that got another controller id is there twice, and the manifests
/// know the newer.
pub(super) fn gateway<'s>(state: &'s State, who: &str) -> Option<(&'s ControllerId, &'s Gateway)> {
    let called = || state.gateways.iter().filter(|(_, gateway)| gateway.spec.name == who);
    let named = || called().find(|(_, gateway)| gateway.listed).or_else(|| called().next());
    state.gateways.get_key_value(who).or_else(named)
}

/// What is said when no gateway is called so.
pub fn no_such_gateway(state: &State, who: &str) -> String {
    let gateways = state.gateways.iter();
    let names = gateways.flat_map(|(id, gateway)| [gateway.spec.name.as_str(), id.as_str()]);
    format!("there is no gateway {who:?}; {}`lamplighter status --gateways` lists them", did_you_mean(who, names))
}

/// A rollout, by its name: one that is there, or that an order still stands for.
pub(super) fn rollout(state: &State, who: &str) -> Result<Identity, String> {
    let orders = state.orders.iter().filter_map(|(order, _)| order.rollout().map(|identity| identity.0.clone()));
    let mut names: Vec<String> =
        state.rollouts.values().map(|rollout| rollout.identity.0.clone()).chain(orders).collect();
    names.sort_unstable();
    names.dedup();
    if names.iter().any(|name| name == who) {
        return Ok(Identity(who.to_owned()));
    }
    let near = did_you_mean(who, names.iter().map(String::as_str));
    Err(format!("there is no rollout {who:?}; {near}`lamplighter status` lists them"))
}

/// A service, by its name.
pub(super) fn service(state: &State, who: &str) -> Result<ServiceName, String> {
    if let Some((name, _)) = state.services.iter().find(|(name, _)| name.0 == who) {
        return Ok(name.clone());
    }
    let near = did_you_mean(who, state.services.keys().map(|name| name.0.as_str()));
    Err(format!("there is no service {who:?}; {near}`lamplighter status` lists them"))
}

/// `did you mean press-1, press-2? `, or nothing.
fn did_you_mean<'n>(who: &str, names: impl Iterator<Item = &'n str>) -> String {
    let wanted: String = who.to_lowercase().chars().take(80).collect();
    let distance = |name: &str| {
        let name = name.to_lowercase();
        let within = wanted.len() > 2 && name.contains(&wanted);
        let far = if within { 1 } else { damerau_levenshtein(&wanted, &name) };
        (far <= 1 + wanted.len() / 5).then_some(far)
    };
    let mut near: Vec<_> = names.filter_map(|name| Some((distance(name)?, name))).collect();
    near.sort_unstable();
    near.dedup();
    let near: Vec<_> = near.iter().take(MOST_NEAR).map(|(_, name)| *name).collect();
    if near.is_empty() { String::new() } else { format!("did you mean {}? ", near.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_offered_and_far_ones_are_not() {
        let names = ["press-1", "press-2", "saw-1", "line-3-press-17"];
        let near = |who| did_you_mean(who, names.into_iter());
        assert_eq!(near("pres-1"), "did you mean press-1, press-2? ");
        assert_eq!(near("PRESS-17"), "did you mean line-3-press-17, press-1, press-2? ");
        assert_eq!(near("robot"), "");
        assert_eq!(near(&"x".repeat(10_000)), "");
    }
}
