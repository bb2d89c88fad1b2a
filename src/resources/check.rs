//! A document's values against a schema: the same schema that the API server enforces, so that a file and the API refuse
//! the same things, with words for a person.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kube::core::schema::{OptionalEnum, OptionalIntOrString, StructuralSchemaRewriter};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use schemars::transform::AddNullable;
use serde_json::{Map, Value};

use super::FieldError;

/// What a kind's fields must look like.
pub type Schema = JSONSchemaProps;

/// More problems than these in one document help nobody.
const MOST_PROBLEMS: usize = 8;

/// The schema of a type that is no resource, made as kube makes those of the resources, so that one checker reads all.
pub fn schema_of<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::openapi3().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let generator = settings
        .with_transform(AddNullable::default())
        .with_transform(StructuralSchemaRewriter)
        .with_transform(OptionalEnum)
        .with_transform(OptionalIntOrString)
        .into_generator();
    let schema = serde_json::to_value(generator.into_root_schema_for::<T>());
    schema.and_then(serde_json::from_value).unwrap_or_default()
}

/// Everything that is wrong with `value`, which stands at `field`: unknown fields, wrong types, missing fields, bounds.
/// Patterns are left to the conversion, which can say what they mean.
pub fn problems(schema: &Schema, field: &str, value: &Value) -> Vec<FieldError> {
    let mut found = Vec::new();
    visit(schema, field, value, &mut found);
    found.truncate(MOST_PROBLEMS);
    found
}

fn visit(schema: &Schema, field: &str, value: &Value, found: &mut Vec<FieldError>) {
    if found.len() >= MOST_PROBLEMS || (value.is_null() && schema.nullable == Some(true)) {
        return;
    }
    if let Some(why) = wrong_type(schema, value) {
        found.push(FieldError::new(field, why));
        return;
    }
    if let Some(why) = out_of_bounds(schema, value) {
        found.push(FieldError::new(field, why));
    }
    match value {
        // its own reader checks it
        Value::Object(_) if schema.x_kubernetes_preserve_unknown_fields == Some(true) => {}
        Value::Object(fields) => visit_fields(schema, field, fields, found),
        Value::Array(items) => visit_items(schema, field, items, found),
        _ => {}
    }
}

fn visit_fields(schema: &Schema, field: &str, fields: &Map<String, Value>, found: &mut Vec<FieldError>) {
    let known = schema.properties.as_ref();
    let others = match &schema.additional_properties {
        Some(JSONSchemaPropsOrBool::Schema(schema)) => Some(schema.as_ref()),
        _ => None,
    };
    for (name, value) in fields {
        let at = join(field, name);
        match (known.and_then(|known| known.get(name)), others) {
            (Some(schema), _) | (None, Some(schema)) => visit(schema, &at, value, found),
            (None, None) => {
                let names = known.into_iter().flat_map(|known| known.keys().map(String::as_str));
                found.push(FieldError::new(at, unknown(name, names)));
            }
        }
    }
    for name in schema.required.iter().flatten().filter(|name| !fields.contains_key(*name)) {
        found.push(FieldError::new(join(field, name), "is missing; it has no default"));
    }
}

fn visit_items(schema: &Schema, field: &str, items: &[Value], found: &mut Vec<FieldError>) {
    if let Some(JSONSchemaPropsOrArray::Schema(schema)) = &schema.items {
        for (index, item) in items.iter().enumerate() {
            visit(schema, &format!("{field}[{index}]"), item, found);
        }
    }
}

fn join(field: &str, name: &str) -> String {
    let name: String = name.chars().take(80).collect();
    if field.is_empty() { name } else { format!("{field}.{name}") }
}

/// What to say about a name that is none of these.
pub(super) fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.collect();
    let lower = name.to_lowercase();
    let near = |candidate: &&str| {
        let longest = 1 + candidate.len() / 5;
        (strsim::damerau_levenshtein(&lower, &candidate.to_lowercase()), longest)
    };
    let best =
        known.iter().map(|candidate| (near(candidate), candidate)).filter(|((far, longest), _)| far <= longest).min();
    match best {
        Some((_, candidate)) if name.len() <= 80 => format!("is not a known field; did you mean {candidate}?"),
        _ if known.is_empty() => "is not a known field; remove it".into(),
        _ => format!("is not a known field; known here: {}", known.join(", ")),
    }
}

fn wrong_type(schema: &Schema, value: &Value) -> Option<String> {
    if schema.x_kubernetes_int_or_string == Some(true) {
        let fits = value.is_string() || value.is_i64() || value.is_u64();
        return (!fits).then(|| format!("should be a whole number or a text, but {}", describe(value)));
    }
    let (fits, wanted) = match schema.type_.as_deref()? {
        "object" => (value.is_object(), "a mapping of fields"),
        "array" => (value.is_array(), "a list"),
        "string" => (value.is_string(), "a text"),
        "boolean" => (value.is_boolean(), "true or false"),
        "integer" => (value.is_i64() || value.is_u64(), "a whole number"),
        "number" => (value.is_number(), "a number"),
        _ => return None,
    };
    let quotes = if wanted == "a text" && !value.is_object() && !value.is_array() && !value.is_null() {
        "; put it in quotes"
    } else {
        ""
    };
    (!fits).then(|| format!("should be {wanted}, but {}{quotes}", describe(value)))
}

fn describe(value: &Value) -> String {
    match value {
        Value::Null => "has no value".into(),
        Value::Bool(_) | Value::Number(_) => format!("is {value}"),
        Value::String(text) => format!("is the text {:?}", shorten(text)),
        Value::Array(_) => "is a list".into(),
        Value::Object(_) => "is a mapping of fields".into(),
    }
}

fn shorten(text: &str) -> String {
    let mut short: String = text.chars().take(60).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

fn out_of_bounds(schema: &Schema, value: &Value) -> Option<String> {
    match value {
        Value::String(text) => wrong_text(schema, text),
        Value::Number(number) => wrong_number(schema, number.as_f64()?),
        Value::Array(items) => wrong_count("entries", items.len(), schema.min_items, schema.max_items),
        Value::Object(fields) => wrong_count("fields", fields.len(), schema.min_properties, schema.max_properties),
        _ => None,
    }
}

fn wrong_text(schema: &Schema, text: &str) -> Option<String> {
    if let Some(allowed) = &schema.enum_ {
        let allowed: Vec<&str> = allowed.iter().filter_map(|value| value.0.as_str()).collect();
        if !allowed.contains(&text) {
            return Some(format!("is {:?}; use one of {}", shorten(text), allowed.join(", ")));
        }
    }
    wrong_count("characters", text.chars().count(), schema.min_length, schema.max_length)
}

fn wrong_number(schema: &Schema, number: f64) -> Option<String> {
    match (schema.minimum, schema.maximum) {
        (Some(least), _) if number < least => Some(format!("is {number}; use at least {least}")),
        (_, Some(most)) if number > most => Some(format!("is {number}; use at most {most}")),
        _ => None,
    }
}

fn wrong_count(what: &str, count: usize, least: Option<i64>, most: Option<i64>) -> Option<String> {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    match (least, most) {
        (Some(least), _) if count < least && count == 0 => Some("is empty".into()),
        (Some(least), _) if count < least => Some(format!("has {count} {what}; use at least {least}")),
        (_, Some(most)) if count > most => Some(format!("has {count} {what}; use at most {most}")),
        _ => None,
    }
}
