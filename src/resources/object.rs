//! A document as one of our kinds, as typed.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::CustomResourceExt;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::check::{problems, unknown};
use super::crds::spec_schema;
use super::labels::{Labels, check_labels};
use super::{API_VERSION, Document, EdgeGateway, EdgeService, FieldError, GROUP, OtaRollout, Schema};

/// What may lie in a manifest directory.
#[derive(Debug, Clone, PartialEq)]
pub enum Object {
    /// A rollout.
    Rollout(Box<OtaRollout>),
    /// A gateway.
    Gateway(Box<EdgeGateway>),
    /// A service.
    Service(Box<EdgeService>),
}

/// Reads documents as objects. It holds the schemas, which take a moment to make: use one for a whole directory.
#[derive(Debug)]
pub struct Kinds {
    rollout: Schema,
    gateway: Schema,
    service: Schema,
}

impl Default for Kinds {
    fn default() -> Self {
        Self {
            rollout: spec_schema(OtaRollout::crd()).unwrap_or_default(),
            gateway: spec_schema(EdgeGateway::crd()).unwrap_or_default(),
            service: spec_schema(EdgeService::crd()).unwrap_or_default(),
        }
    }
}

/// Metadata that Kubernetes writes or other tools need; nothing here depends on it.
const IGNORED_METADATA: [&str; 13] = [
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
    "namespace",
];

impl Kinds {
    /// The object that a document describes, or everything that is wrong with it.
    pub fn object(&self, document: &Document) -> Result<Object, Vec<FieldError>> {
        let kind = kind(&document.value).map_err(|error| vec![error])?;
        let schema = match kind {
            Kind::OtaRollout => &self.rollout,
            Kind::EdgeGateway => &self.gateway,
            Kind::EdgeService => &self.service,
        };
        let (metadata, mut found) = metadata(document.value.get("metadata"));
        found.extend(top_level(&document.value));
        match document.value.get("spec") {
            Some(spec) => found.extend(problems(schema, "spec", spec)),
            None if kind != Kind::EdgeGateway => found.push(FieldError::new("spec", "is missing; it has no default")),
            None => {}
        }
        if !found.is_empty() {
            return Err(found);
        }
        let spec = document.value.get("spec").cloned().unwrap_or_else(|| Value::Object(serde_json::Map::new()));
        Ok(match kind {
            Kind::OtaRollout => Object::Rollout(Box::new(OtaRollout { metadata, spec: typed(spec)?, status: None })),
            Kind::EdgeGateway => Object::Gateway(Box::new(EdgeGateway { metadata, spec: typed(spec)?, status: None })),
            Kind::EdgeService => Object::Service(Box::new(EdgeService { metadata, spec: typed(spec)?, status: None })),
        })
    }
}

/// What passed the schema fits the type; if the two ever differ, that is an error of the document's and no panic.
fn typed<T: DeserializeOwned>(spec: Value) -> Result<T, Vec<FieldError>> {
    serde_json::from_value(spec).map_err(|error| vec![FieldError::new("spec", error.to_string())])
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    OtaRollout,
    EdgeGateway,
    EdgeService,
}

fn kind(value: &Value) -> Result<Kind, FieldError> {
    if !value.is_object() {
        return Err(FieldError::new("document", "is not a mapping with apiVersion, kind, metadata and spec"));
    }
    let text = |field: &str| match value.get(field) {
        Some(Value::String(text)) => Ok(text.as_str()),
        Some(_) => Err(FieldError::new(field, "should be a text")),
        None => Err(FieldError::new(field, "is missing; write `apiVersion: lamplighter.dev/v1alpha1` and a `kind`")),
    };
    let (version, kind) = (text("apiVersion")?, text("kind")?);
    match (version, kind) {
        (API_VERSION, "OtaRollout") => Ok(Kind::OtaRollout),
        (API_VERSION, "EdgeGateway") => Ok(Kind::EdgeGateway),
        (API_VERSION, "EdgeService") => Ok(Kind::EdgeService),
        (API_VERSION, "SiteConfig") => Err(FieldError::new(
            "kind",
            "is SiteConfig: a site file is no manifest; give it to `lamplighter run --config`",
        )),
        (API_VERSION, _) => {
            let words = unknown(kind, ["OtaRollout", "EdgeGateway", "EdgeService"].into_iter());
            Err(FieldError::new("kind", format!("{:?} {}", shorten(kind), words.replace("known field", "known kind"))))
        }
        (other, _) if other.split('/').next() == Some(GROUP) => Err(FieldError::new(
            "apiVersion",
            format!("{:?} is not a version that this program knows; write {API_VERSION}", shorten(other)),
        )),
        (other, _) => Err(FieldError::new(
            "kind",
            format!(
                "{} of {:?} is none of Lamplighter's kinds; take it out of this directory",
                shorten(kind),
                shorten(other)
            ),
        )),
    }
}

fn shorten(text: &str) -> String {
    text.chars().take(80).collect()
}

/// Fields beside `metadata` and `spec`; a `status` comes along when an object was copied out of a cluster.
fn top_level(value: &Value) -> Vec<FieldError> {
    const KNOWN: [&str; 5] = ["apiVersion", "kind", "metadata", "spec", "status"];
    let names = value.as_object().into_iter().flat_map(serde_json::Map::keys);
    names
        .filter(|name| !KNOWN.contains(&name.as_str()))
        .map(|name| FieldError::new(shorten(name), unknown(name, KNOWN.into_iter())))
        .collect()
}

fn metadata(value: Option<&Value>) -> (ObjectMeta, Vec<FieldError>) {
    let mut found = Vec::new();
    let mut metadata = ObjectMeta::default();
    let Some(Value::Object(fields)) = value else {
        found.push(FieldError::new("metadata", "should be a mapping with at least a name"));
        return (metadata, found);
    };
    match fields.get("name") {
        Some(Value::String(name)) if is_object_name(name) => metadata.name = Some(name.clone()),
        Some(_) => found.push(FieldError::new("metadata.name", NAME_RULE)),
        None => found.push(FieldError::new("metadata.name", "is missing; it has no default")),
    }
    match fields.get("namespace") {
        Some(Value::String(namespace)) => metadata.namespace = Some(namespace.clone()),
        Some(Value::Null) | None => {}
        Some(_) => found.push(FieldError::new("metadata.namespace", "should be a text")),
    }
    match fields.get("labels").map(labels) {
        Some(Ok(labels)) => metadata.labels = labels,
        Some(Err(error)) => found.push(error),
        None => {}
    }
    let known = || IGNORED_METADATA.into_iter().chain(["labels", "name"]);
    for name in fields.keys().filter(|name| !known().any(|known| known == name.as_str())) {
        found.push(FieldError::new(format!("metadata.{}", shorten(name)), unknown(name, known())));
    }
    (metadata, found)
}

fn labels(value: &Value) -> Result<Option<Labels>, FieldError> {
    let Value::Object(fields) = value else {
        return if value.is_null() {
            Ok(None)
        } else {
            Err(FieldError::new("metadata.labels", "should be a mapping of texts"))
        };
    };
    let mut labels = Labels::new();
    for (key, value) in fields {
        let Value::String(value) = value else {
            let field = format!("metadata.labels.{}", shorten(key));
            return Err(FieldError::new(
                field,
                format!("should be a text, but is {}; put it in quotes", shorten(&value.to_string())),
            ));
        };
        labels.insert(key.clone(), value.clone());
    }
    check_labels(&labels)
        .map_err(|(key, why)| FieldError::new(format!("metadata.labels.{key}").trim_end_matches('.'), why))?;
    Ok(Some(labels))
}

const NAME_RULE: &str =
    "should have 1 to 253 lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit";

/// Would the API server take this as an object's name?
pub fn is_object_name(name: &str) -> bool {
    let part = |part: &str| {
        let ends = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        ends(part.bytes().next())
            && ends(part.bytes().last())
            && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    name.len() <= 253 && name.split('.').all(part)
}
