//! `lamplighter drop make`: a manifest for an artifact, with its digest and size, ready for a stick.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;

use super::file;
use crate::cli::bad_input;
use crate::cli::verify::hash::{Hashed, bar, hash, plain};
use crate::config;
use crate::intake::found_in;
use crate::model::Digest;
use crate::resources::{API_VERSION, Kinds, Setting};

/// What a site tells its gateways is not known here; its own check has the last word on deadlines.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Write the manifest of a rollout, with the artifact's digest and size
#[derive(Debug, clap::Args)]
#[command(after_help = "Copy it and the artifact into the drop directory of a site, in any order.")]
#[command(disable_version_flag = true)]
pub struct MakeArgs {
    /// The firmware file
    #[arg(long, value_name = "FILE")]
    artifact: PathBuf,
    /// The artifact's name: gateways report their version of it under this key
    #[arg(long, value_name = "NAME")]
    name: String,
    /// The version that gateways come back with, exactly as they report it
    #[arg(long, value_name = "VERSION")]
    version: String,
    /// Labels that a gateway must all have, as `line=3,hall=7`; may be repeated
    #[arg(long, value_name = "KEY=VALUE", required = true, value_delimiter = ',', value_parser = label)]
    selector: Vec<(String, String)>,
    /// What the rollout is called; the same name as an earlier drop edits that one [default: the artifact's name]
    #[arg(long, value_name = "NAME")]
    rollout_name: Option<String>,
    /// How many gateways are updated at once: a count or a share such as 10%
    #[arg(long, value_name = "AMOUNT")]
    max_in_flight: Option<String>,
    /// So many failures stop the rollout: a count or a share such as 5%
    #[arg(long, value_name = "AMOUNT")]
    max_failures: Option<String>,
    /// Where to write the manifest; `-` prints it [default: the rollout's name, beside the artifact]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace a manifest that is there
    #[arg(long)]
    force: bool,
}

fn label(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE, such as line=3")?;
    Ok((key.to_owned(), value.to_owned()))
}

pub(super) fn run(args: &MakeArgs, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let path = args.path();
    let printed = path.as_os_str() == "-";
    if !printed && !args.force && path.symlink_metadata().is_ok() {
        return Ok(exists(&path));
    }
    let size = match plain(&args.artifact) {
        Ok(0) => return Ok(bad_input(&format!("{}: is empty", args.artifact.display()))),
        Ok(size) => size,
        Err(error) => return Ok(bad_input(&format!("{}: cannot be read: {error}", args.artifact.display()))),
    };
    // what is wrong with the words is said before hours of hashing
    if let Err(why) = args.manifest(&Hashed { digest: Digest::new([0; 32]), size }) {
        return Ok(bad_input(&why));
    }
    let bar = bar(size);
    bar.set_message(args.artifact.display().to_string());
    let hashed = hash(&args.artifact, &bar);
    bar.finish_and_clear();
    let manifest = match hashed {
        Ok(hashed) => args.manifest(&hashed).map_err(|why| anyhow::anyhow!(why))?,
        Err(error) => return Ok(bad_input(&format!("{}: cannot be read: {error}", args.artifact.display()))),
    };
    if printed {
        out.write_all(manifest.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    match file::write(&path, manifest.as_bytes(), args.force) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(exists(&path)),
        Err(error) => anyhow::bail!("cannot write {}: {error}", path.display()),
    }
    let artifact = args.artifact.display();
    writeln!(out, "{} is written: copy it and {artifact} into the drop directory, in any order", path.display())?;
    Ok(ExitCode::SUCCESS)
}

fn exists(path: &Path) -> ExitCode {
    crate::cli::complain(&format!(
        "{} is there already; write elsewhere with --out, or replace it with --force",
        path.display()
    ));
    ExitCode::FAILURE
}

impl MakeArgs {
    fn rollout(&self) -> &str {
        self.rollout_name.as_deref().unwrap_or(&self.name)
    }

    fn path(&self) -> PathBuf {
        // the name may be anything until it is checked
        let plain = self.rollout().replace(['/', '\0'], "-");
        self.out.clone().unwrap_or_else(|| self.artifact.with_file_name(format!("{plain}.yaml")))
    }

    /// The manifest, accepted by the parser that a site has; or what is wrong with what was typed.
    fn manifest(&self, hashed: &Hashed) -> Result<String, String> {
        let name = self.artifact.file_name().and_then(|name| name.to_str());
        let name = name.ok_or("--artifact: the file's name is not UTF-8; rename it")?;
        let labels: serde_json::Map<_, _> =
            self.selector.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
        if labels.len() < self.selector.len() {
            return Err("--selector: a label is there twice, and a gateway has one value for each".into());
        }
        let mut text = format!(
            "apiVersion: {API_VERSION}\nkind: OtaRollout\nmetadata:\n  name: {}\nspec:\n  artifact:\n    name: {}\n    \
             version: {}\n    sources: [{}]\n    digest: {}\n    sizeBytes: {}\n  selector:\n    matchLabels: {}\n",
            json!(self.rollout()),
            json!(self.name),
            json!(self.version),
            json!(format!("file:{name}")),
            hashed.digest,
            hashed.size,
            json!(labels),
        );
        let strategy = [("maxInFlight", &self.max_in_flight), ("maxFailures", &self.max_failures)];
        let said: Vec<_> = strategy.iter().filter_map(|(field, amount)| Some((field, amount.as_ref()?))).collect();
        if !said.is_empty() {
            text += "  strategy:\n";
        }
        for (field, amount) in said {
            let amount = amount.parse::<u32>().map_or_else(|_| json!(amount), |count| json!(count));
            text += &["    ", field, ": ", &amount.to_string(), "\n"].concat();
        }
        let setting = Setting { dir: config::base(&self.artifact), poll_interval: POLL_INTERVAL };
        let found = found_in("the manifest", text.as_bytes(), &Kinds::default(), &setting);
        match found.into_iter().find_map(|found| found.result.err()) {
            Some(why) => Err(why),
            None => Ok(text),
        }
    }
}
