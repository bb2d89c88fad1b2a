//! From an object of the API to what it means, by the same checks that a manifest goes through.

use serde_json::{Value, json};

use super::item::{Item, Kind};
use super::secrets::Secrets;
use crate::model::{Intent, ObjectName, Refusal};
use crate::resources::{self, API_VERSION, Document, FieldError, Kinds, Object, Setting};

/// What an object means, or why it cannot be accepted. Its spec is taken out of it.
pub(super) fn intent(
    kind: Kind,
    item: &mut Item,
    kinds: &Kinds,
    (setting, secrets): (&Setting, &Secrets),
) -> Result<Intent, Refusal> {
    let what = name(kind, item).to_string();
    let refusal = |errors: Vec<FieldError>| {
        let why = errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        let plain = |text: String| text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
        Refusal { what: plain(what.clone()), why: plain(why) }
    };
    secrets.fill(item).map_err(|why| refusal(vec![FieldError::new("spec.auth.tokenSecretRef", why)]))?;
    let document = Document { line: 1, value: document(kind, item) };
    let checked = kinds.object(&document).map_err(&refusal)?;
    let intent = match checked {
        Object::Gateway(object) => resources::gateway(&object, setting).map(Intent::Gateway),
        Object::Rollout(object) => {
            resources::rollout(&object, setting).map(|(identity, spec)| Intent::Rollout(identity, spec.into()))
        }
        Object::Service(object) => resources::service(&object).map(|(name, spec)| Intent::Service(name, spec.into())),
    };
    intent.map_err(|error| refusal(vec![error]))
}

pub(super) fn name(kind: Kind, item: &Item) -> ObjectName {
    kind.object(item.metadata.name.clone())
}

fn document(kind: Kind, item: &mut Item) -> Value {
    let spec = std::mem::take(&mut item.spec);
    let metadata = json!({"name": item.metadata.name, "labels": item.metadata.labels});
    let mut document = json!({"apiVersion": API_VERSION, "kind": kind.name(), "metadata": metadata});
    if let (Some(fields), false) = (document.as_object_mut(), spec.is_null()) {
        fields.insert("spec".into(), spec);
    }
    document
}
