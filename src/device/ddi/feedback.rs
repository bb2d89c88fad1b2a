//! What gateways say about their orders (b.4).

use serde_json::Value;

use crate::model::{Execution, Finished};

/// As much of a gateway's own words as a person reads, in characters.
const LONGEST: usize = 500;

/// A gateway's word on an order.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) execution: Execution,
    pub(super) finished: Finished,
    pub(super) message: Option<String>,
    pub(super) done: u32,
    pub(super) of: u32,
}

impl Said {
    /// Does it change what the heart knows? Everything else is progress, and stays in memory.
    pub(super) fn decides(&self) -> bool {
        matches!(self.execution, Execution::Closed | Execution::Rejected)
    }
}

/// Reads the body of a feedback. Lenient but for what b.4 requires: clients send legacy `id` and `time`, `of` may be 0.
pub(super) fn parse(body: &[u8]) -> Result<Said, String> {
    // Installers log in any encoding, and SWUpdate repeats a last word that is refused for ever (b.9.10).
    let body = String::from_utf8_lossy(body);
    let body: Value = serde_json::from_str(&body).map_err(|error| format!("the body is not JSON: {error}"))?;
    let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).map(str::to_ascii_lowercase);
    let execution = match text("/status/execution").as_deref() {
        Some("closed") => Execution::Closed,
        Some("proceeding") => Execution::Proceeding,
        Some("canceled") => Execution::Canceled,
        Some("scheduled") => Execution::Scheduled,
        Some("rejected") => Execution::Rejected,
        Some("resumed") => Execution::Resumed,
        Some("downloaded") => Execution::Downloaded,
        Some("download") => Execution::Download,
        _ => {
            return Err("status.execution must be closed, proceeding, canceled, scheduled, rejected, resumed, \
                        downloaded or download"
                .into());
        }
    };
    let finished = match text("/status/result/finished").as_deref() {
        Some("success") => Finished::Success,
        Some("failure") => Finished::Failure,
        Some("none") => Finished::None,
        _ => return Err("status.result.finished must be success, failure or none".into()),
    };
    Ok(Said {
        execution,
        finished,
        message: body.pointer("/status/details").and_then(message),
        done: count(body.pointer("/status/result/progress/cnt")),
        of: count(body.pointer("/status/result/progress/of")),
    })
}

fn count(value: Option<&Value>) -> u32 {
    value.and_then(Value::as_u64).map_or(0, |count| u32::try_from(count).unwrap_or(u32::MAX))
}

/// The details as one line, shortened.
fn message(details: &Value) -> Option<String> {
    let lines: Vec<&str> = match details {
        Value::String(line) => vec![line],
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        _ => return None,
    };
    let mut message = String::new();
    for line in lines.into_iter().map(str::trim).filter(|line| !line.is_empty()) {
        if !message.is_empty() {
            message.push_str("; ");
        }
        // A character has at most four bytes: no line need be read further than that.
        message.extend(line.chars().take(LONGEST + 1).map(|c| if c.is_control() { ' ' } else { c }));
        if message.len() > LONGEST * 4 {
            break;
        }
    }
    if message.chars().count() > LONGEST {
        message = message.chars().take(LONGEST - 1).chain(['…']).collect();
    }
    (!message.is_empty()).then_some(message)
}
