//! `lamplighter check FILE…`: what a running site would say about these files, without one.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use serde::Serialize;

use super::Output;
use super::prose::{count, sentence};
use crate::config;
use crate::intake::{Found, Manifests, found_in, read_file, refuse_duplicates};
use crate::model::Intent;
use crate::resources::{Kinds, Setting, documents};

/// Check manifests and site files, without a site
#[derive(Debug, clap::Args)]
#[command(after_help = "Exits with 0 if all are good, 1 if something is refused, 2 if a file cannot be read.\n\n\
    Examples:\n  lamplighter check /etc/lamplighter/site.yaml /etc/lamplighter/manifests")]
pub struct Args {
    /// Manifests, site files, or manifest directories
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The poll interval of the site: deadlines must be at least three of it.
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = crate::model::parse_duration)]
    poll_interval: Duration,
    /// How to answer: text, json or yaml
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t, hide_possible_values = true)]
    output: Output,
}

#[derive(Debug, Serialize)]
struct Report {
    objects: Vec<Line>,
}

/// What is said about one object.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    object: String,
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

/// Runs it, printing to `out`.
pub fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let mut checked = Checked {
        poll_interval: args.poll_interval,
        kinds: Kinds::default(),
        found: vec![],
        lines: vec![],
        unreadable: false,
    };
    for file in &args.files {
        checked.take(file);
    }
    let (objects, unreadable) = checked.finish();
    let report = Report { objects };
    args.output.print(out, &report, text)?;
    Ok(match (unreadable, report.objects.iter().all(|line| line.ok)) {
        (true, _) => ExitCode::from(2),
        (false, true) => ExitCode::SUCCESS,
        (false, false) => ExitCode::FAILURE,
    })
}

struct Checked {
    poll_interval: Duration,
    kinds: Kinds,
    /// Kept until the end: the same name in two files is found only when all are read.
    found: Vec<Found>,
    lines: Vec<Line>,
    unreadable: bool,
}

impl Checked {
    fn take(&mut self, path: &Path) {
        if path.is_dir() {
            let dirs = Manifests::new(vec![path.to_owned()], self.poll_interval);
            let under = |mut found: Found| {
                if !Path::new(&found.what).starts_with(path) {
                    found.what = path.join(&found.what).display().to_string();
                }
                found
            };
            self.found.extend(dirs.found().into_iter().map(under));
            return;
        }
        match bytes(path) {
            Ok(bytes) => self.take_file(path, &bytes),
            Err(why) => {
                self.unreadable = true;
                self.say(path.display().to_string(), Err(why));
            }
        }
    }

    fn take_file(&mut self, path: &Path, bytes: &[u8]) {
        let label = path.display().to_string();
        if documents(bytes).len() == 0 {
            self.say(label, Err("holds no object".into()));
        } else if documents(bytes).flatten().any(|document| document.kind() == Some("SiteConfig")) {
            let result = config::load(path).map_err(|error| error.to_string().replacen(&format!("{label}: "), "", 1));
            let what = result.as_ref().map_or(label.clone(), |site| format!("{label}: SiteConfig/{}", site.site));
            self.say(what, result.map(|_| ()));
        } else {
            let setting = Setting { dir: config::base(path), poll_interval: self.poll_interval, secrets: true };
            self.found.extend(found_in(&label, bytes, &self.kinds, &setting));
        }
    }

    fn say(&mut self, object: String, result: Result<(), String>) {
        self.lines.push(Line { object, ok: result.is_ok(), why: result.err() });
    }

    fn finish(mut self) -> (Vec<Line>, bool) {
        let mut found = std::mem::take(&mut self.found);
        refuse_duplicates(&mut found);
        for Found { what, result } in found {
            self.say(what, result.map(|_: Intent| ()));
        }
        (self.lines, self.unreadable)
    }
}

/// The link itself may lead anywhere: whoever runs this named it.
pub(super) fn bytes(path: &Path) -> Result<Vec<u8>, String> {
    let path = path.canonicalize().map_err(|error| format!("cannot be read: {error}"))?;
    match (path.parent(), path.file_name().and_then(|name| name.to_str())) {
        (Some(dir), Some(name)) => read_file(dir, name),
        _ => Err("is not a file".into()),
    }
}

/// Of more objects than this only those that are refused are listed.
const MANY: usize = 20;

fn text(report: &Report) -> String {
    let many = report.objects.len() > MANY;
    let listed = report.objects.iter().filter(|line| !many || !line.ok);
    let line = |line: &Line| match &line.why {
        None => format!("{} ok", line.object),
        Some(why) => format!("{} refused: {why}", line.object),
    };
    let mut text: String = listed.map(|object| sentence(&line(object))).collect();
    if many {
        let good = report.objects.iter().filter(|line| line.ok).count();
        text += &sentence(&format!("{good} of {} ok", count(report.objects.len(), "object")));
    }
    text
}
