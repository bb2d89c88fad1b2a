//! `lamplighter verify --cache`: every artifact read again, and nothing changed.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use indicatif::BinaryBytes;
use serde::Serialize;

use super::End;
use super::hash::{bar, hash};
use crate::artifact::{CachedFile, CachedKind, cache_dir, cached_files};
use crate::cli::prose::{count, sentence};
use crate::cli::{Output, bad_input};

/// What was found.
#[derive(Debug, Serialize)]
struct Report {
    artifacts: Vec<Line>,
    /// Files of the cache that are no artifacts, such as damaged ones that were set aside.
    others: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Line {
    digest: String,
    size: u64,
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

pub(super) fn run(state: &Path, output: Output, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let files = match cached_files(state) {
        Ok(files) => files,
        Err(error) => {
            let dir = cache_dir(state);
            let why =
                format!("cannot read {}: {error}; is `--config` or `--state` the one of your site?", dir.display());
            return Ok(bad_input(&why));
        }
    };
    let (report, end) = verify(files);
    output.print(out, &report, text)?;
    Ok(end.into())
}

fn verify(files: Vec<CachedFile>) -> (Report, End) {
    let artifact = |file: &CachedFile| matches!(file.kind, CachedKind::Artifact(_));
    let bar = bar(files.iter().filter(|file| artifact(file)).map(|file| file.size).sum());
    bar.set_message("verifying");
    let (mut report, mut end) = (Report { artifacts: Vec::new(), others: Vec::new() }, End::Good);
    for file in files {
        let CachedKind::Artifact(digest) = file.kind else {
            report.others.push(file.path.display().to_string());
            continue;
        };
        let (size, verdict) = match hash(&file.path, &bar) {
            Ok(is) if is.digest == digest => (is.size, Ok(())),
            Ok(is) => (is.size, Err((End::Bad, format!("damaged: its bytes have {}", is.digest)))),
            // a running site set it aside meanwhile
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => (file.size, Err((End::Unreadable, format!("cannot be read: {error}")))),
        };
        end = end.max(verdict.as_ref().err().map_or(End::Good, |(end, _)| *end));
        let why = verdict.err().map(|(_, why)| why);
        report.artifacts.push(Line { digest: digest.to_string(), size, ok: why.is_none(), why });
    }
    bar.finish_and_clear();
    (report, end)
}

fn text(report: &Report) -> String {
    let mut text = String::new();
    for line in &report.artifacts {
        let verdict = line.why.as_deref().unwrap_or("ok");
        text += &sentence(&format!("{} {verdict}", line.digest));
    }
    for file in &report.others {
        text += &sentence(&format!("{file} is no artifact"));
    }
    let bad = report.artifacts.iter().filter(|line| !line.ok).count();
    let bytes = BinaryBytes(report.artifacts.iter().map(|line| line.size).sum());
    let all = report.artifacts.len();
    text + &sentence(&match (all, bad) {
        (0, _) => "no artifact in the cache".into(),
        (_, 0) => format!("{}, {bytes}: every byte is as it was", count(all, "artifact")),
        _ => {
            let are = if bad == 1 { "is" } else { "are" };
            format!(
                "{bad} of {} {are} not good: check the disk, then restart the site; it sets a damaged one that it wants aside, and gets it anew",
                count(all, "artifact")
            )
        }
    })
}
