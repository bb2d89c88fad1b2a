//! Between the API server and the loop: what it says becomes events, and what happened becomes news there.

use std::rc::Rc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_local;

use super::control::{Answer, Asked, Query};
use crate::config::SiteConfig;
use crate::device::{Context, Envelope};
use crate::engine::{self, State};
use crate::kube::{self, Link, News, Objects, Report, Settings, Show};
use crate::model::{Event, Identity, JournalEntry, ObjectName, ServiceName, Uid, Verdict, What};

/// Stands between the API server and the loop.
#[derive(Clone)]
pub(super) struct ApiDesk {
    pub events: mpsc::Sender<Envelope>,
    pub queries: mpsc::Sender<Asked>,
    pub devices: Rc<Context>,
}

impl kube::Desk for ApiDesk {
    fn poll_interval(&self) -> Duration {
        self.devices.settings.borrow().poll_interval
    }

    async fn decide(&self, events: Vec<Event>) -> Option<Vec<Verdict>> {
        let mut asked = Vec::with_capacity(events.len());
        for event in events {
            let (reply, verdict) = oneshot::channel();
            self.events.send((event, Some(reply))).await.ok()?;
            asked.push(verdict);
        }
        let mut verdicts = Vec::with_capacity(asked.len());
        for verdict in asked {
            verdicts.push(verdict.await.ok()?);
        }
        Some(verdicts)
    }

    async fn report(&self, object: ObjectName, uid: Uid) -> Option<Report> {
        self.ask(Query::Object(object, uid)).await
    }

    async fn unshown(&self, but: Vec<String>) -> Option<Show> {
        self.ask(Query::Unshown(but)).await
    }
}

impl ApiDesk {
    async fn ask<T: DeserializeOwned>(&self, query: Query) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.queries.send((query, reply)).await.ok()?;
        match answer.await.ok()? {
            Answer::Json(json) => serde_json::from_slice(&json).ok().flatten(),
            _ => None,
        }
    }
}

/// The API server that a site file means, if it means one.
pub(super) fn settings(config: &SiteConfig) -> Option<Settings> {
    let api = &config.kubernetes;
    api.is_enabled().then(|| Settings {
        site: config.site.clone(),
        kubeconfig: api.kubeconfig.clone(),
        namespace: api.namespace.clone(),
        selector: api.selector.clone(),
        files: config.manifests.first().cloned().unwrap_or_default(),
    })
}

/// Follows the API server and writes into it, if there is one.
pub(super) fn start(api: Option<(Settings, Rc<Objects>)>, desk: ApiDesk) {
    if let Some((settings, objects)) = api {
        spawn_local(kube::follow(settings.clone(), objects.clone(), desk.clone()));
        spawn_local(kube::write(settings, objects, desk));
    }
}

/// The rows that a person who looks at an object wants to hear of.
pub(super) fn tell(objects: &Objects, state: &State, rows: &[JournalEntry]) {
    for row in rows {
        let (reason, warning) = match row.what {
            What::RolloutAccepted => ("Accepted", false),
            What::RolloutSuperseded => ("Superseded", false),
            What::RolloutCancelled => ("Cancelled", false),
            What::Ordered => ("Ordered", false),
            What::RolloutDeleted => ("Deleted", false),
            What::WaveOpened => ("WaveOpened", false),
            What::WaveProven => ("WaveProven", false),
            What::RolloutReady => ("Done", false),
            What::LimitReached => ("FailureLimit", true),
            What::Failed => ("GatewayFailed", true),
            What::Restarted => ("Restarted", false),
            What::RestartFailed => ("RestartFailed", true),
            _ => continue,
        };
        if let Some(service) = &row.service {
            let object = ObjectName::Service(ServiceName(service.clone()));
            objects.tell(News { object, reason, note: row.detail.clone(), warning, at: row.wall.unwrap_or_default() });
            continue;
        }
        // the artifact stands behind the name
        let Some(name) = row.rollout.as_deref().and_then(|rollout| rollout.split(' ').next()) else { continue };
        let note = match &row.gateway {
            Some(gateway) => format!("{gateway}: {}", row.detail),
            None => row.detail.clone(),
        };
        let name = Identity(name.to_owned());
        let shown = engine::current(state, &name).and_then(|id| state.rollouts.get(&id));
        let object = ObjectName::Rollout(shown.map_or(&name, |rollout| rollout.object_name()).clone());
        objects.tell(News { object, reason, note, warning, at: row.wall.unwrap_or_default() });
    }
}

/// How the link is, if a person should know.
pub(super) fn notice(objects: &Objects) -> Option<String> {
    match objects.link() {
        Link::Up => None,
        Link::Trying => Some("the API server was not reached yet".into()),
        Link::Down(why) => Some(format!("the API server is not followed: {why}; the site goes on from what it knows")),
        Link::Another(found, known) => Some(format!(
            "another cluster answers as the API server: {found}, and this site belongs to {known}; nothing that it says \
             counts. If it is right, put `cluster: {found}` under `kubernetes` in the site file"
        )),
    }
}
