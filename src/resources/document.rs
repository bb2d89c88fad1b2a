//! The one reader of YAML (and so of JSON): bytes in, documents out, each a tree of plain values.
//!
//! Files come from people and from strangers: everything here is bounded before it is built.

use serde_json::Value;
use serde_yaml::options::{DuplicateKeyPolicy, MergeKeyPolicy, NonFiniteFloatPolicy};

/// What a file may cost.
#[derive(Debug, Clone, Copy)]
pub struct Limits;

impl Limits {
    /// The longest manifest or site file in bytes; checked by whoever opens it, before reading.
    pub const FILE_BYTES: u64 = 1 << 20;
    /// The most documents in one file: 500 gateways fit into one with room to spare.
    pub const DOCUMENTS: usize = 4_096;
    /// The most values in one document, aliases expanded.
    const NODES: usize = 4_096;
    const DEPTH: usize = 32;
    const ALIASES: usize = 64;
}

/// One document of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The line on which it starts, from 1.
    pub line: usize,
    /// What it says.
    pub value: Value,
}

impl Document {
    /// Its `kind`, if it has one.
    pub fn kind(&self) -> Option<&str> {
        self.value.get("kind")?.as_str()
    }
}

/// Why one document, or the file as a whole, cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct Unreadable {
    /// The line of the error, or where the document starts; from 1.
    pub line: usize,
    /// What is wrong and what to do.
    pub why: String,
}

/// Reads the documents of a file, each as it is asked for: a tree takes many times the room of its text, so a file of 500
/// objects must not be held as 500 trees. A bad one does not refuse the others; a file that is not text is one error.
pub fn documents(bytes: &[u8]) -> impl ExactSizeIterator<Item = Result<Document, Unreadable>> {
    parts(bytes).into_iter().map(|part| part.and_then(|(line, text)| read(line, text)))
}

/// The text of each document and the line on which it starts.
fn parts(bytes: &[u8]) -> Vec<Result<(usize, &str), Unreadable>> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text),
        Err(error) => return vec![Err(not_utf8(bytes, error.valid_up_to()))],
    };
    if let Some(at) = text.find('\0') {
        let why = "has a NUL byte; it is not a text file".into();
        return vec![Err(Unreadable { line: line_of(text.as_bytes(), at), why })];
    }
    let mut parts: Vec<_> = split(text).into_iter().map(Ok).collect();
    if let Some(Ok((line, _))) = parts.get(Limits::DOCUMENTS) {
        let why = format!("has more than {} documents; split the file", Limits::DOCUMENTS);
        let line = *line;
        parts.truncate(Limits::DOCUMENTS);
        parts.push(Err(Unreadable { line, why }));
    }
    parts
}

fn not_utf8(bytes: &[u8], at: usize) -> Unreadable {
    Unreadable { line: line_of(bytes, at), why: "is not UTF-8; save the file as UTF-8".into() }
}

fn line_of(bytes: &[u8], at: usize) -> usize {
    1 + bytes.iter().take(at).filter(|b| **b == b'\n').count()
}

/// Splits a stream at its `---` lines, which YAML allows nowhere else at the start of a line. Parts with nothing but
/// comments are left out.
fn split(text: &str) -> Vec<(usize, &str)> {
    let mut parts = Vec::new();
    let (mut begin, mut begin_line, mut at) = (0, 1, 0);
    for (index, line) in text.split_inclusive('\n').enumerate() {
        if is_marker(line) && at > begin {
            parts.push((begin_line, text.get(begin..at).unwrap_or_default()));
            (begin, begin_line) = (at, index + 1);
        }
        at += line.len();
    }
    parts.push((begin_line, text.get(begin..).unwrap_or_default()));
    parts.retain(|(_, part)| !is_blank(part));
    parts
}

fn is_marker(line: &str) -> bool {
    line.strip_prefix("---").is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\n', '\r']))
}

fn is_blank(part: &str) -> bool {
    part.lines().all(|line| {
        let line = if is_marker(line) { line.get(3..).unwrap_or_default().trim() } else { line.trim() };
        line.is_empty() || line.starts_with('#') || line == "..."
    })
}

fn read(line: usize, text: &str) -> Result<Document, Unreadable> {
    match serde_yaml::from_str_with_options::<Value>(text, options()) {
        Ok(value) => Ok(Document { line, value }),
        Err(error) => {
            let inside = error.location().map_or(0, |at| usize::try_from(at.line()).unwrap_or(1).saturating_sub(1));
            Err(Unreadable { line: line + inside, why: explain(&error) })
        }
    }
}

fn options() -> serde_yaml::Options {
    serde_yaml::options! {
        budget: serde_yaml::budget! {
            max_nodes: Limits::NODES,
            max_events: Limits::NODES * 4,
            max_depth: Limits::DEPTH,
            flow_nesting_limit: Limits::DEPTH,
            max_documents: 2,
            max_aliases: Limits::ALIASES,
            max_anchors: Limits::ALIASES,
            max_recorded_anchor_events: Limits::NODES * 4,
            max_recorded_anchor_bytes: 1 << 20,
        },
        alias_limits: serde_yaml::alias_limits! {
            max_total_replayed_events: Limits::NODES,
            max_replay_stack_depth: 8,
            max_alias_expansions_per_anchor: Limits::ALIASES,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::Error,
        non_finite_float_policy: NonFiniteFloatPolicy::Reject,
        strict_booleans: true,
        reject_unsupported_tags: true,
        emit_comments: false,
        with_snippet: false,
    }
}

/// The parser's words, with what to do where that is not obvious.
fn explain(error: &serde_yaml::Error) -> String {
    use serde_yaml::Error as E;
    match error.without_snippet() {
        E::AliasError { error, .. } => explain(error),
        E::Budget { .. }
        | E::AliasReplayLimitExceeded { .. }
        | E::AliasExpansionLimitExceeded { .. }
        | E::AliasReplayStackDepthExceeded { .. } => format!(
            "is too large for one document, aliases expanded ({}); write it without aliases, or split it with `---`",
            words(error)
        ),
        E::DuplicateMappingKey { key, .. } => {
            format!("has the key {:?} twice; remove one of the two", key.as_deref().unwrap_or("?"))
        }
        E::MergeKeyNotAllowed { .. } => "has a merge key (`<<`); write the fields out".into(),
        E::MultipleDocuments { .. } => "goes on after its end; begin each document with `---`".into(),
        _ => format!("is not valid YAML: {}", words(error)),
    }
}

/// The first line without the place, which is the error's own field here.
fn words(error: &serde_yaml::Error) -> String {
    let text = error.without_snippet().to_string();
    let line = text.lines().next().unwrap_or_default();
    line.split_once(" at line ").map_or(line, |(words, _)| words).trim().to_owned()
}
