//! What passed between a client and the site, one JSON object per request, without what differs from run to run: ids, ports,
//! hashes, times, a client's own words.

use serde_json::{Map, Value, json};

/// Headers that decide something, on either side.
const HEADERS: [&str; 7] =
    ["accept", "content-type", "user-agent", "range", "content-range", "accept-ranges", "content-disposition"];

/// A request and its answer; `headers` are names in lower case and values.
pub fn entry(
    (method, target): (&str, &str),
    headers: &[(String, String)],
    body: &str,
    status: u16,
    answer_headers: &[(String, String)],
    answer: Option<&str>,
) -> Value {
    json!({
        "method": method,
        "target": link(target),
        "headers": chosen(headers),
        "body": text(body),
        "status": status,
        "answerHeaders": chosen(answer_headers),
        "answer": answer.map(text),
    })
}

fn chosen(headers: &[(String, String)]) -> Value {
    let mut map = Map::new();
    for (name, value) in headers.iter().filter(|(name, _)| HEADERS.contains(&name.as_str())) {
        let file = value.split_once("filename=").map(|(kind, _)| format!("{kind}filename={{file}}"));
        map.insert(name.clone(), file.unwrap_or_else(|| value.clone()).into());
    }
    map.into()
}

/// JSON, or whatever else it is.
fn text(text: &str) -> Value {
    let read = serde_json::from_str(text).map(|value| plain("", value));
    read.unwrap_or_else(|_| text.into())
}

fn plain(key: &str, value: Value) -> Value {
    match (key, value) {
        ("id" | "stopId", Value::String(id)) if !id.is_empty() => "{action}".into(),
        ("id", Value::Number(_)) => "{action}".into(),
        ("time" | "timestamp", _) => "{time}".into(),
        ("size" | "cnt" | "of", Value::Number(_)) => format!("{{{key}}}").into(),
        ("sha1" | "md5" | "sha256" | "filename" | "sleep", Value::String(text)) => {
            format!("{{{key} of {} characters}}", if key == "filename" { 0 } else { text.len() }).into()
        }
        ("details", Value::Array(lines)) => format!("{{{} lines}}", lines.len().min(2)).into(),
        (_, Value::String(text)) if text.starts_with("http://") => link(&text).into(),
        (_, Value::Array(items)) => items.into_iter().map(|item| plain(key, item)).collect(),
        (_, Value::Object(fields)) => {
            Value::Object(fields.into_iter().map(|(key, value)| (key.clone(), plain(&key, value))).collect())
        }
        (_, value) => value,
    }
}

/// A URL or its path.
pub fn link(target: &str) -> String {
    let (site, path) = match target.strip_prefix("http://") {
        Some(rest) => ("{site}", rest.split_once('/').map_or("", |(_, path)| path)),
        None => ("", target.trim_start_matches('/')),
    };
    let (path, query) = path.split_once('?').map_or((path, ""), |(path, _)| (path, "?c={module}"));
    let mut before = "";
    let parts = path.split('/').map(|part| {
        let known = match before {
            "v1" => "{gateway}",
            "deploymentBase" => "{action}",
            "cancelAction" => "0{action}",
            "softwaremodules" => "{module}",
            "artifacts" if part.ends_with(".MD5SUM") => "{file}.MD5SUM",
            "artifacts" => "{file}",
            _ => part,
        };
        before = part;
        known
    });
    format!("{site}/{}{query}", parts.collect::<Vec<_>>().join("/"))
}
