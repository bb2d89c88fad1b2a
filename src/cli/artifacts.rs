//! `lamplighter artifacts`: what lies in the cache, and who wants it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;
use std::process::ExitCode;

use indicatif::BinaryBytes;
use serde::Serialize;

use super::Output;
use super::at_rest::Visit;
use super::control::SiteArgs;
use super::prose::{count, last_written, paragraph, sentence};
use super::table::table;
use super::watch::{WatchArgs, show};
use crate::artifact::{CachedFile, CachedKind, cache_dir, cached_files};
use crate::site::report::{self, KnownArtifact, KnownArtifacts};

/// List the artifacts in the cache, and the rollouts that want them
#[derive(Debug, clap::Args)]
#[command(after_help = "Without a running site they are read from a copy of its store.")]
pub struct ArtifactsArgs {
    #[command(flatten)]
    site: SiteArgs,
    #[command(flatten)]
    watch: WatchArgs,
    /// How to answer: text, json or yaml
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t, hide_possible_values = true)]
    output: Output,
}

/// The cache.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct List {
    /// A process runs; otherwise its store says what is wanted.
    running: bool,
    /// When the store was last written; only of a site that does not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    saved_at: Option<String>,
    artifacts: Vec<Line>,
    /// Files that are no artifacts.
    others: Vec<Other>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    digest: String,
    /// Name and version, as rollouts call it.
    names: Vec<String>,
    /// In bytes; none if nobody knows.
    size: Option<u64>,
    cached: bool,
    state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    rollouts: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Other {
    file: String,
    size: u64,
    state: &'static str,
}

pub(super) fn run(args: &ArtifactsArgs, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let state = args.site.state()?;
    let mut visit = Visit::new(&args.site);
    let ask = || {
        let mut at_rest = None;
        let known = visit.get("/v1/artifacts", |site| {
            at_rest = Some(site.saved_at());
            Ok(report::artifacts(site.state()))
        })?;
        let files = cached_files(&state).map_err(|error| {
            anyhow::anyhow!(
                "cannot read {}: {error}; run this as root or as the site's user",
                cache_dir(&state).display()
            )
        })?;
        Ok(List { running: at_rest.is_none(), saved_at: at_rest.flatten(), ..list(known, files) })
    };
    show(args.watch, args.output, out, ask, text)
}

fn list(mut known: KnownArtifacts, files: Vec<CachedFile>) -> List {
    let (mut lines, mut others) = (BTreeMap::new(), Vec::new());
    for file in files {
        let state = match file.kind {
            CachedKind::Artifact(digest) => {
                let digest = digest.to_string();
                let known = known.artifacts.remove(&digest).unwrap_or_default();
                lines.insert(digest.clone(), line(digest, known, Some(file.size)));
                continue;
            }
            CachedKind::Part => "Copying",
            CachedKind::Damaged => "Damaged",
            CachedKind::Other => "Strange",
        };
        let name = file.path.file_name().unwrap_or_default().to_string_lossy().replace(char::is_control, "?");
        others.push(Other { file: name, size: file.size, state });
    }
    // what is neither here nor wanted is history
    let wanted = known.artifacts.into_iter().filter(|(_, known)| !known.rollouts.is_empty());
    lines.extend(wanted.map(|(digest, known)| (digest.clone(), line(digest, known, None))));
    List { running: true, saved_at: None, artifacts: lines.into_values().collect(), others }
}

fn line(digest: String, known: KnownArtifact, cached: Option<u64>) -> Line {
    let state = match (known.state.as_str(), cached) {
        ("Verified", None) => "Missing",
        ("", _) => "Unwanted",
        (state, _) => state,
    };
    Line {
        digest,
        names: known.names.into_iter().collect(),
        size: cached.or(known.size),
        cached: cached.is_some(),
        state: state.to_owned(),
        why: known.why,
        rollouts: known.rollouts.into_iter().collect(),
    }
}

fn text(list: &List) -> String {
    let mut text = String::new();
    if !list.running {
        let when = last_written(list.saved_at.as_deref());
        text += &paragraph("", &format!("the site does not run; its store was last written {when}"));
        text += "\n";
    }
    if list.artifacts.is_empty() && list.others.is_empty() {
        return text + &paragraph("", "the cache is empty, and no rollout wants an artifact");
    }
    let or_dash = |names: &[String]| if names.is_empty() { "-".into() } else { names.join(", ") };
    let size = |size: Option<u64>| size.map_or("-".into(), |size| BinaryBytes(size).to_string());
    let mut rows: Vec<Vec<String>> = list
        .artifacts
        .iter()
        .map(|it| vec![short(&it.digest), or_dash(&it.names), size(it.size), it.state.clone(), or_dash(&it.rollouts)])
        .collect();
    rows.extend(list.others.iter().map(|other| {
        let dash = || "-".to_owned();
        vec![short(&other.file), dash(), size(Some(other.size)), other.state.into(), dash()]
    }));
    text += &table(&["SHA256", "ARTIFACT", "SIZE", "STATE", "WANTED BY"], &rows, &["SIZE", "ARTIFACT"]);
    for (it, why) in list.artifacts.iter().filter_map(|it| Some((it, it.why.as_ref()?))) {
        text += &sentence(&format!("{}: {why}", short(&it.digest)));
    }
    let cached: Vec<u64> = list.artifacts.iter().filter(|it| it.cached).filter_map(|it| it.size).collect();
    let total = cached.iter().chain(list.others.iter().map(|other| &other.size)).sum();
    let _ = writeln!(text, "\n{} in the cache, {}", count(cached.len(), "artifact"), BinaryBytes(total));
    text
}

/// Enough of a digest to tell it from others, and what follows it in a file's name.
fn short(name: &str) -> String {
    let name = name.strip_prefix("sha256:").unwrap_or(name);
    match name.split_at_checked(64) {
        Some((digits, rest)) => format!("{}{rest}", digits.get(..12).unwrap_or(digits)),
        None => name.to_owned(),
    }
}
