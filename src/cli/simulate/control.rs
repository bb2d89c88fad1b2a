//! What the site says about itself over its control socket, as far as a simulation looks at it.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use hyper::Method;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::cli::control::call;

/// `GET /v1/status`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct Status {
    /// The site's rollouts.
    #[serde(default)]
    pub rollouts: Vec<Rollout>,
    /// What the site did not accept.
    #[serde(default)]
    pub refused: Vec<Value>,
}

/// A rollout.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Rollout {
    /// `Ready`, `Reconciling` or `Stalled`.
    pub phase: String,
    /// Why.
    pub reason: String,
    /// Members by step.
    pub steps: BTreeMap<String, u32>,
}

impl Rollout {
    /// Members in one of these steps.
    pub fn in_steps(&self, steps: &[&str]) -> u32 {
        steps.iter().filter_map(|step| self.steps.get(*step)).sum()
    }

    /// Are all `gateways` at their end?
    pub fn all_ended(&self, gateways: u32) -> bool {
        self.in_steps(&["Updated", "Failed", "Skipped"]) >= gateways
    }
}

/// `GET /v1/gateways`.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Gateways {
    /// All of them.
    #[serde(default)]
    pub gateways: Vec<Gateway>,
}

/// A gateway, as the site sees it.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Gateway {
    /// Its name.
    pub name: String,
    /// Its membership in the rollout.
    #[serde(default)]
    pub member: Option<Member>,
}

/// A membership.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Member {
    /// How far it is.
    pub step: String,
    /// Why it waits, failed or was skipped.
    #[serde(default)]
    pub reason: Option<String>,
}

impl Gateway {
    /// Step and reason, as one text.
    pub fn end(&self) -> String {
        match &self.member {
            None => "no member of the rollout".into(),
            Some(Member { step, reason: Some(reason) }) if !reason.is_empty() => format!("{step} {reason}"),
            Some(Member { step, .. }) => step.clone(),
        }
    }
}

/// Asks the site at `socket`.
pub async fn get<T: DeserializeOwned>(socket: &Path, path: &str) -> anyhow::Result<T> {
    let body = call(socket, Method::GET, path, bytes::Bytes::new())
        .await
        .with_context(|| format!("{path} was not answered"))?;
    serde_json::from_slice(&body).with_context(|| format!("{path} was answered with something else than expected"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_status_and_ignores_what_it_does_not_know() {
        let text = r#"{"site":"s","more":1,"rollouts":[{"name":"r","phase":"Reconciling","waves":[],
            "steps":{"Waiting":3,"Updated":2,"Failed":1,"Dancing":1}}]}"#;
        let status: Status = serde_json::from_str(text).unwrap();
        let rollout = status.rollouts.first().unwrap();
        assert_eq!(rollout.in_steps(&["Waiting", "Updated", "Offered"]), 5);
        assert!(rollout.all_ended(3) && !rollout.all_ended(4));
    }

    #[test]
    fn the_end_of_a_gateway_is_its_step_and_reason() {
        let end = |text: &str| serde_json::from_str::<Gateway>(text).unwrap().end();
        assert_eq!(end(r#"{"name":"a","member":{"step":"Failed","reason":"WrongVersion"}}"#), "Failed WrongVersion");
        assert_eq!(end(r#"{"name":"a","member":{"step":"Updated","reason":null}}"#), "Updated");
        assert_eq!(end(r#"{"name":"a","member":null}"#), "no member of the rollout");
    }
}
