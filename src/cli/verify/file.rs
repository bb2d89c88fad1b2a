//! `lamplighter verify FILE…`: a file against the rollouts that name it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use serde::Serialize;

use super::End;
use super::hash::{Hashed, bar, hash, plain};
use crate::cli::prose::sentence;
use crate::cli::table::cut;
use crate::cli::{Output, check, complain};
use crate::intake::{Found, Manifests, found_in};
use crate::model::{ArtifactSpec, Intent};
use crate::resources::{Kinds, Setting};

/// What deadlines a manifest may have is `check`'s to say, not ours: the shortest interval allows the most.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug, Serialize)]
struct Report {
    files: Vec<Line>,
}

/// What is said about one file.
#[derive(Debug, Serialize)]
struct Line {
    file: String,
    ok: bool,
    #[serde(flatten)]
    is: Option<Is>,
    /// The rollouts that mean it.
    rollouts: Vec<Compared>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Is {
    digest: String,
    size_bytes: u64,
}

/// What one rollout says about a file.
#[derive(Debug, Serialize)]
struct Compared {
    rollout: String,
    artifact: String,
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

pub(super) fn run(
    files: &[PathBuf],
    manifests: &[PathBuf],
    output: Output,
    out: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    let mut end = End::Good;
    let mut given = Vec::new();
    for path in manifests {
        match read(path) {
            Ok(found) => given.extend(found),
            Err(why) => {
                complain(&format!("{}: {why}", path.display()));
                end = End::Unreadable;
            }
        }
    }
    for Found { what, result } in &given {
        if let Err(why) = result {
            complain(&format!("{what}: {why}"));
            end = End::Unreadable;
        }
    }
    let bar = bar(files.iter().filter_map(|file| plain(file).ok()).sum());
    let mut lines = Vec::new();
    for path in files {
        bar.set_message(cut(&path.display().to_string(), 30, true));
        let found = if manifests.is_empty() { beside(path) } else { given.clone() };
        let line = match hash(path, &bar) {
            Ok(is) => compared(path, is, &found, !manifests.is_empty()),
            Err(error) => {
                end = End::Unreadable;
                let why = Some(format!("cannot be read: {error}"));
                Line { file: path.display().to_string(), ok: false, is: None, rollouts: vec![], why }
            }
        };
        end = end.max(if line.ok { End::Good } else { End::Bad });
        lines.push(line);
    }
    bar.finish_and_clear();
    output.print(out, &Report { files: lines }, |report| report.files.iter().map(text).collect())?;
    Ok(end.into())
}

/// The objects of a manifest, or of a directory of them.
fn read(path: &Path) -> Result<Vec<Found>, String> {
    if path.is_dir() {
        return Ok(in_directory(path));
    }
    let dir = path.parent().unwrap_or(Path::new("")).to_owned();
    let setting = Setting { dir, poll_interval: POLL_INTERVAL, secrets: false };
    Ok(found_in(&path.display().to_string(), &check::bytes(path)?, &Kinds::default(), &setting))
}

/// The objects of the manifests in a file's directory.
fn beside(file: &Path) -> Vec<Found> {
    let dir = file.parent().filter(|dir| !dir.as_os_str().is_empty());
    let found = in_directory(dir.unwrap_or(Path::new(".")));
    // a name is read more easily without a `./` that nobody typed
    let plain = |mut found: Found| {
        found.what = found.what.trim_start_matches("./").to_owned();
        found
    };
    found.into_iter().map(plain).collect()
}

fn in_directory(dir: &Path) -> Vec<Found> {
    let mut found = Manifests::new(vec![dir.to_owned()], POLL_INTERVAL).found();
    for one in &mut found {
        if !Path::new(&one.what).starts_with(dir) {
            one.what = dir.join(&one.what).display().to_string();
        }
    }
    found
}

/// The rollouts that name the file, or mean its bytes under another name.
fn compared(path: &Path, is: Hashed, found: &[Found], given: bool) -> Line {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut rollouts = Vec::new();
    for Found { what, result } in found {
        let Ok(Intent::Rollout(_, spec)) = result else { continue };
        let meant = spec.files().filter(|file| file.file_name() == name || file.key.digest == is.digest);
        // of variants that are one file under two names, the one that is called so
        let best = meant.map(|file| (verdict(&name, is, file), file)).min_by_key(|(verdict, _)| verdict.is_err());
        if let Some((verdict, file)) = best {
            let (rollout, artifact) = (what.clone(), file.key.to_string());
            rollouts.push(Compared { rollout, artifact, ok: verdict.is_ok(), why: verdict.err() });
        }
    }
    let ok = !rollouts.is_empty() && rollouts.iter().all(|rollout| rollout.ok);
    Line {
        file: path.display().to_string(),
        ok,
        is: Some(Is { digest: is.digest.to_string(), size_bytes: is.size }),
        why: rollouts.is_empty().then(|| nobody(found, given)),
        rollouts,
    }
}

fn verdict(name: &str, is: Hashed, said: &ArtifactSpec) -> Result<(), String> {
    let same = (is.digest == said.key.digest, is.size == said.size);
    let wrong = match same {
        (true, true) if said.file_name() != name => {
            format!(
                "these are its bytes, but spec.artifact.sources calls them {}; rename one of them",
                said.file_name()
            )
        }
        (true, true) => return Ok(()),
        (true, false) => {
            format!(
                "spec.artifact.sizeBytes says {}, the file has {} bytes and the right digest; correct the manifest",
                said.size, is.size
            )
        }
        (false, true) => format!(
            "spec.artifact.digest says {}, the file has that size and other bytes; copy the right file again, or correct the digest",
            said.key.digest
        ),
        (false, false) if is.size < said.size => format!(
            "spec.artifact.sizeBytes says {}, the file has {}; it may be cut short: copy it again, or correct size and digest",
            said.size, is.size
        ),
        (false, false) => format!(
            "spec.artifact.sizeBytes says {}, the file has {}; it is another file: copy the right one, or correct size and digest",
            said.size, is.size
        ),
    };
    Err(wrong)
}

fn nobody(found: &[Found], given: bool) -> String {
    let place = if given { "in the manifests given" } else { "in a manifest beside it" };
    let hint = if given { "" } else { "; `--manifest` names one elsewhere" };
    let refused: Vec<_> = found.iter().filter(|found| found.result.is_err()).map(|found| found.what.as_str()).collect();
    match refused.as_slice() {
        [] => format!("no rollout {place} means it{hint}"),
        refused => format!(
            "no rollout {place} means it, but {} is refused; see `lamplighter check`{hint}",
            refused.join(" and ")
        ),
    }
}

fn text(line: &Line) -> String {
    let mut text = String::new();
    for rollout in &line.rollouts {
        let (name, artifact) = (&rollout.rollout, &rollout.artifact);
        text += &sentence(&match &rollout.why {
            None => format!("{} ok: it is {artifact}, as {name} says", line.file),
            Some(why) => format!("{} refused: {name} ({artifact}): {why}", line.file),
        });
    }
    if let Some(why) = &line.why {
        text += &sentence(&format!("{} refused: {why}", line.file));
    }
    if let Some(Is { digest, size_bytes }) = &line.is {
        // in one piece, to be copied into a manifest
        text.extend(["  digest: ", digest, "\n  sizeBytes: ", &size_bytes.to_string(), "\n"]);
    }
    text
}
