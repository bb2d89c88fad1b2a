//! `lamplighter artifacts`: what lies in the cache, what it is kept for, and the end of what nobody needs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;
use std::process::ExitCode;

use indicatif::BinaryBytes;
use serde::Serialize;

use super::at_rest::Visit;
use super::control::SiteArgs;
use super::prose::{count, last_written, paragraph, sentence};
use super::table::table;
use super::watch::{WatchArgs, show};
use super::{Output, fetching};
use crate::artifact::{CachedFile, CachedKind, cache_dir, cached_files};
use crate::site::report::{self, FreedFile, FreedFiles, KnownArtifact, KnownArtifacts, ProgressLine};

/// List the artifacts in the cache, and what each is kept for
#[derive(Debug, clap::Args)]
#[command(after_help = "Without a running site they are read from a copy of its store.")]
pub struct ArtifactsArgs {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    site: SiteArgs,
    #[command(flatten)]
    watch: WatchArgs,
    /// How to answer: text, json or yaml
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t, hide_possible_values = true, global = true)]
    output: Output,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Remove what no rollout brings and no rollback would need
    Prune {
        /// Only say what would be removed
        #[arg(long)]
        dry_run: bool,
    },
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
    /// So many gateways run it.
    run: u32,
    /// So many gateways ran it before what they run now.
    ran: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<ProgressLine>,
}

impl Line {
    fn is_needed(&self) -> bool {
        !self.rollouts.is_empty() || self.run > 0 || self.ran > 0
    }

    fn kept_for(&self) -> String {
        if !self.is_needed() {
            return CAN_GO.into();
        }
        let gateways = |count: u32, what: &str| {
            (count > 0).then(|| format!("{count} {} {what}", if count == 1 { "gateway" } else { "gateways" }))
        };
        let counts = [gateways(self.run, "on it"), gateways(self.ran, "on it before")];
        self.rollouts.iter().cloned().chain(counts.into_iter().flatten()).collect::<Vec<_>>().join(", ")
    }
}

/// `prune` removes it.
const CAN_GO: &str = "nothing: it can go";

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Other {
    file: String,
    size: u64,
    state: &'static str,
    can_go: bool,
}

pub(super) fn run(args: &ArtifactsArgs, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    match args.command {
        None => list_them(args, out),
        Some(Command::Prune { dry_run }) => prune(args, dry_run, out),
    }
}

fn list_them(args: &ArtifactsArgs, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let mut visit = Visit::new(&args.site);
    let ask = || {
        let mut at_rest = None;
        let known = visit.get("/v1/artifacts", |site| {
            at_rest = Some(site.saved_at());
            Ok(report::artifacts(site.state(), |_| None))
        })?;
        Ok(List { running: at_rest.is_none(), saved_at: at_rest.flatten(), ..list(known, files(args)?) })
    };
    show(args.watch, args.output, out, ask, text)
}

fn prune(args: &ArtifactsArgs, dry_run: bool, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let freed = if dry_run {
        let known: KnownArtifacts = args.site.get("/v1/artifacts")?;
        if known.all_stay { FreedFiles::default() } else { would_go(&list(known, files(args)?)) }
    } else {
        args.site.post("/v1/artifacts/prune")?
    };
    args.output.print(out, &freed, |freed| freed_text(freed, dry_run))?;
    Ok(ExitCode::SUCCESS)
}

fn freed_text(freed: &FreedFiles, dry_run: bool) -> String {
    if freed.freed.is_empty() {
        return sentence("nothing can go: `lamplighter artifacts` says what each is kept for");
    }
    let file = |file: &FreedFile| sentence(&format!("{}  {}", file.file, BinaryBytes(file.bytes)));
    let (what, sum) = (if dry_run { "would be free" } else { "are free" }, BinaryBytes(freed.bytes));
    freed.freed.iter().map(file).collect::<String>() + &sentence(&format!("{sum} {what}"))
}

fn files(args: &ArtifactsArgs) -> anyhow::Result<Vec<CachedFile>> {
    let state = args.site.state()?;
    cached_files(&state).map_err(|error| {
        anyhow::anyhow!("cannot read {}: {error}; run this as root or as the site's user", cache_dir(&state).display())
    })
}

fn would_go(list: &List) -> FreedFiles {
    let artifacts = list.artifacts.iter().filter(|it| it.cached && !it.is_needed());
    let artifacts = artifacts.map(|it| (it.digest.trim_start_matches("sha256:").to_owned(), it.size.unwrap_or(0)));
    let parts = list.others.iter().filter(|other| other.can_go).map(|other| (other.file.clone(), other.size));
    let freed: Vec<_> = parts.chain(artifacts).map(|(file, bytes)| FreedFile { file, bytes }).collect();
    FreedFiles { bytes: freed.iter().map(|file| file.bytes).sum(), freed }
}

fn list(mut known: KnownArtifacts, files: Vec<CachedFile>) -> List {
    let (mut lines, mut others) = (BTreeMap::new(), Vec::new());
    let wanted: std::collections::BTreeSet<String> =
        known.artifacts.iter().filter(|(_, it)| !it.rollouts.is_empty()).map(|(digest, _)| digest.clone()).collect();
    for file in files {
        let (state, can_go) = match file.kind {
            CachedKind::Artifact(digest) => {
                let digest = digest.to_string();
                let known = known.artifacts.remove(&digest).unwrap_or_default();
                lines.insert(digest.clone(), line(digest, known, Some(file.size)));
                continue;
            }
            CachedKind::Part(digest) => ("Copying", !wanted.contains(&digest.to_string())),
            // it belongs to a part
            CachedKind::Record(_) => continue,
            CachedKind::Damaged => ("Damaged", false),
            CachedKind::Other => ("Strange", false),
        };
        let name = file.path.file_name().unwrap_or_default().to_string_lossy().replace(char::is_control, "?");
        others.push(Other { file: name, size: file.size, state, can_go });
    }
    // what is neither here nor wanted is history
    let missing = known.artifacts.into_iter().filter(|(_, known)| !known.rollouts.is_empty());
    lines.extend(missing.map(|(digest, known)| (digest.clone(), line(digest, known, None))));
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
        run: known.run,
        ran: known.ran,
        progress: known.progress,
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
        .map(|it| vec![short(&it.digest), or_dash(&it.names), size(it.size), it.state.clone(), it.kept_for()])
        .collect();
    rows.extend(list.others.iter().map(|other| {
        let kept_for = match (other.state, other.can_go) {
            (_, true) => CAN_GO,
            ("Damaged", _) => "you to look at, and to remove",
            _ => "-",
        };
        vec![short(&other.file), "-".into(), size(Some(other.size)), other.state.into(), kept_for.into()]
    }));
    text += &table(&["SHA256", "ARTIFACT", "SIZE", "STATE", "KEPT FOR"], &rows, &["SIZE", "ARTIFACT"]);
    for (it, why) in list.artifacts.iter().filter_map(|it| Some((it, it.why.as_ref()?))) {
        text += &sentence(&format!("{}: {why}", short(&it.digest)));
    }
    for it in &list.artifacts {
        if let Some(words) = it.progress.as_ref().and_then(|progress| fetching::words(progress, it.size)) {
            let _ = writeln!(text, "{}: {words}", short(&it.digest));
        }
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
