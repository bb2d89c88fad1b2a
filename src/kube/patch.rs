//! What is written about an object: its finalizer and claim, and its status.

use hyper::Method;
use serde_json::{Value, json};

use super::connection::{Api, Ask};
use super::fault::Fault;
use super::item::Kind;
use super::objects::Objects;
use super::report::Show;
use super::settings::Settings;
use super::{CLAIM, DROPPED, FINALIZER, MANAGER};
use crate::model::{ObjectName, Uid};
use crate::resources::API_VERSION;

const APPLY: &str = "application/apply-patch+yaml";
const PATCH: &str = "application/json-patch+json";

fn path(api: &Api, name: &ObjectName, subresource: &str, query: &str) -> String {
    let kind = Kind::of(name).plural();
    format!("/apis/{API_VERSION}/namespaces/{}/{kind}/{}{subresource}{query}", api.namespace(), name.name())
}

fn apply_query() -> String {
    format!("?fieldManager={MANAGER}&force=true")
}

/// Of this very object: if another one has its name by now, the server refuses.
fn applied(name: &ObjectName, metadata: Value) -> Value {
    let mut metadata = metadata;
    if let Some(fields) = metadata.as_object_mut() {
        fields.insert("name".into(), name.name().into());
    }
    json!({"apiVersion": API_VERSION, "kind": Kind::of(name).name(), "metadata": metadata})
}

/// Says that it is this site's, and that it may not go unseen.
pub(super) async fn adopt(api: &Api, objects: &Objects, name: &ObjectName, uid: Uid, site: &str) -> Result<(), Fault> {
    let body = applied(name, json!({"uid": uid, "finalizers": [FINALIZER], "annotations": {CLAIM: site}}));
    objects.count(true);
    let path = path(api, name, "", &apply_query());
    let ask = Ask { method: Method::PATCH, path: &path, body: Some((APPLY, body.to_string().into_bytes())) };
    api.ask(&ask).await.map(drop)
}

/// Lets it go. Not by server-side apply: whoever copied the finalizer along owns it too, and it would stay.
pub(super) async fn release(api: &Api, objects: &Objects, name: &ObjectName, uid: Uid) -> Result<(), Fault> {
    #[derive(serde::Deserialize)]
    struct Whole {
        metadata: Metadata,
    }
    #[derive(serde::Deserialize)]
    struct Metadata {
        uid: Uid,
        #[serde(default)]
        finalizers: Vec<String>,
    }
    let path = path(api, name, "", "");
    objects.count(false);
    let body = api.get(&path).await?;
    let Metadata { uid: found, finalizers } = serde_json::from_slice::<Whole>(&body).map_err(Fault::garbled)?.metadata;
    let at = finalizers.iter().position(|finalizer| finalizer == FINALIZER);
    let Some(at) = at.filter(|_| found == uid) else { return Ok(()) };
    let place = format!("/metadata/finalizers/{at}");
    let body = json!([
        {"op": "test", "path": "/metadata/uid", "value": uid},
        {"op": "test", "path": place, "value": FINALIZER},
        {"op": "remove", "path": place},
    ]);
    objects.count(true);
    let ask = Ask { method: Method::PATCH, path: &path, body: Some((PATCH, body.to_string().into_bytes())) };
    api.ask(&ask).await.map(drop)
}

/// Makes the object by which a rollout of a drop is shown; it is ours from the start. One that is there already is left.
pub(super) async fn show(api: &Api, objects: &Objects, show: &Show, settings: &Settings) -> Result<(), Fault> {
    let object = json!({
        "apiVersion": API_VERSION, "kind": Kind::Rollout.name(),
        "metadata": {
            "name": show.object, "labels": settings.selector, "finalizers": [FINALIZER],
            "annotations": {CLAIM: settings.site, DROPPED: show.rollout},
        },
        "spec": show.spec,
    });
    objects.count(true);
    let (namespace, kind) = (api.namespace(), Kind::Rollout.plural());
    let path = format!("/apis/{API_VERSION}/namespaces/{namespace}/{kind}?fieldManager={MANAGER}-drop");
    create(api, &path, &object).await
}

async fn create(api: &Api, path: &str, object: &Value) -> Result<(), Fault> {
    let body = Some(("application/json", object.to_string().into_bytes()));
    match api.ask(&Ask { method: Method::POST, path, body }).await {
        Err(Fault::Refused(409, ..)) => Ok(()),
        other => other.map(drop),
    }
}

/// Writes a status.
pub(super) async fn status(
    api: &Api,
    objects: &Objects,
    name: &ObjectName,
    uid: Uid,
    status: &Value,
) -> Result<(), Fault> {
    let mut body = applied(name, json!({"uid": uid}));
    if let Some(fields) = body.as_object_mut() {
        fields.insert("status".into(), status.clone());
    }
    objects.count(true);
    let path = path(api, name, "/status", &apply_query());
    let ask = Ask { method: Method::PATCH, path: &path, body: Some((APPLY, body.to_string().into_bytes())) };
    api.ask(&ask).await.map(drop)
}

/// Writes an event. One that is there already was written before.
pub(super) async fn event(api: &Api, objects: &Objects, event: &Value) -> Result<(), Fault> {
    objects.count(true);
    let path = format!("/apis/events.k8s.io/v1/namespaces/{}/events?fieldManager={MANAGER}", api.namespace());
    create(api, &path, event).await
}
