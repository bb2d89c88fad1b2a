//! Labels as Kubernetes allows them, so that a manifest from a file and one from the API mean the same.

use std::collections::BTreeMap;

use schemars::{Schema, SchemaGenerator, json_schema};

/// Labels as typed.
pub type Labels = BTreeMap<String, String>;

/// The most labels of one object.
const MOST: usize = 64;
/// The longest key: a DNS name, a slash and a name.
const LONGEST_KEY: usize = 253 + 1 + 63;
const LONGEST_VALUE: usize = 63;

/// The schema of a map of labels.
pub(super) fn labels_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "nullable": true,
        "maxProperties": MOST,
        "additionalProperties": { "type": "string", "maxLength": LONGEST_VALUE },
    })
}

/// What is wrong with these labels: the key and the reason.
pub fn check_labels(labels: &Labels) -> Result<(), (String, String)> {
    if labels.len() > MOST {
        return Err((String::new(), format!("has {} labels; use at most {MOST}", labels.len())));
    }
    for (key, value) in labels {
        if !is_label_key(key) {
            let shown: String = key.chars().take(LONGEST_KEY).collect();
            return Err((shown, "is not a label's name: use up to 63 letters, digits, '-', '_' and '.', with an optional prefix such as example.com/".into()));
        }
        if !value.is_empty() && !is_label_text(value) {
            return Err((
                key.clone(),
                format!(
                    "{value:?} is not a label's value: use up to 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit"
                ),
            ));
        }
    }
    Ok(())
}

/// Can a label be called so?
pub(super) fn is_label_key(key: &str) -> bool {
    let name = key.rsplit_once('/').map_or(key, |(_, name)| name);
    key.len() <= LONGEST_KEY && is_label_text(name)
}

fn is_label_text(text: &str) -> bool {
    let ends = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_alphanumeric());
    text.len() <= LONGEST_VALUE
        && ends(text.bytes().next())
        && ends(text.bytes().last())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}
