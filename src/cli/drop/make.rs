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
    #[arg(long, value_name = "FILE", required_unless_present = "variant", conflicts_with = "variant")]
    artifact: Option<PathBuf>,
    /// Instead of --artifact, the file for the gateways with these labels, as `soc=imx8:press-imx8.swu`; repeated for
    /// each type of hardware, the first that matches a gateway counts
    #[arg(long, value_name = "KEY=VALUE:FILE", value_parser = variant)]
    variant: Vec<Piece>,
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

/// A file, and who gets it if it is one of several.
#[derive(Debug, Clone)]
struct Piece {
    labels: Vec<(String, String)>,
    file: PathBuf,
}

fn variant(text: &str) -> Result<Piece, String> {
    let (labels, file) = text.split_once(':').ok_or("write KEY=VALUE:FILE, such as soc=imx8:press-imx8.swu")?;
    let labels = labels.split(',').map(label).collect::<Result<_, _>>()?;
    Ok(Piece { labels, file: file.into() })
}

pub(super) fn run(args: &MakeArgs, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let path = args.path();
    let printed = path.as_os_str() == "-";
    if !printed && !args.force && path.symlink_metadata().is_ok() {
        return Ok(exists(&path));
    }
    let pieces = args.pieces();
    let mut sizes = Vec::new();
    for (piece, other) in pieces.iter().zip(0_u8..) {
        match plain(&piece.file) {
            Ok(0) => return Ok(bad_input(&format!("{}: is empty", piece.file.display()))),
            Ok(size) => sizes.push(Hashed { digest: Digest::new([other; 32]), size }),
            Err(error) => return Ok(bad_input(&format!("{}: cannot be read: {error}", piece.file.display()))),
        }
    }
    // what is wrong with the words is said before hours of hashing
    if let Err(why) = args.manifest(&pieces, &sizes) {
        return Ok(bad_input(&why));
    }
    let bar = bar(sizes.iter().map(|file| file.size).sum());
    let mut files = Vec::new();
    for piece in &pieces {
        bar.set_message(piece.file.display().to_string());
        match hash(&piece.file, &bar) {
            Ok(hashed) => files.push(hashed),
            Err(error) => return Ok(bad_input(&format!("{}: cannot be read: {error}", piece.file.display()))),
        }
    }
    bar.finish_and_clear();
    let manifest = args.manifest(&pieces, &files).map_err(|why| anyhow::anyhow!(why))?;
    if printed {
        out.write_all(manifest.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    match file::write(&path, manifest.as_bytes(), args.force) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(exists(&path)),
        Err(error) => anyhow::bail!("cannot write {}: {error}", path.display()),
    }
    let names: Vec<_> = pieces.iter().map(|piece| piece.file.display().to_string()).collect();
    let names = names.join(" and ");
    writeln!(out, "{} is written: copy it and {names} into the drop directory, in any order", path.display())?;
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
        self.out.clone().unwrap_or_else(|| self.first().with_file_name(format!("{plain}.yaml")))
    }

    fn first(&self) -> &Path {
        let variant = || self.variant.first().map(|piece| &piece.file);
        self.artifact.as_ref().or_else(variant).map_or(Path::new(""), PathBuf::as_path)
    }

    /// The files that the manifest is about.
    fn pieces(&self) -> Vec<Piece> {
        let one = self.artifact.iter().map(|file| Piece { labels: Vec::new(), file: file.clone() });
        one.chain(self.variant.iter().cloned()).collect()
    }

    /// The manifest, accepted by the parser that a site has; or what is wrong with what was typed.
    fn manifest(&self, pieces: &[Piece], hashes: &[Hashed]) -> Result<String, String> {
        if pieces.iter().any(|piece| piece.file.parent() != self.first().parent()) {
            return Err("--variant: the files lie in several directories; a drop has all of them in one".into());
        }
        let mut text = format!(
            "apiVersion: {API_VERSION}\nkind: OtaRollout\nmetadata:\n  name: {}\nspec:\n  artifact:\n    name: {}\n    \
             version: {}\n",
            json!(self.rollout()),
            json!(self.name),
            json!(self.version),
        );
        let several = !self.variant.is_empty();
        if several {
            text += "    variants:\n";
        }
        for (piece, hashed) in pieces.iter().zip(hashes) {
            let indent = if several { "      " } else { "    " };
            if several {
                text.extend([format!("    - match: {{matchLabels: {}}}\n", matches("--variant", &piece.labels)?)]);
            }
            let name = piece.file.file_name().and_then(|name| name.to_str());
            let name =
                name.ok_or_else(|| format!("{}: the file's name is not UTF-8; rename it", piece.file.display()))?;
            let source = json!(format!("file:{name}"));
            text.extend([format!("{indent}sources: [{source}]\n{indent}digest: {}\n", hashed.digest)]);
            text.extend([format!("{indent}sizeBytes: {}\n", hashed.size)]);
        }
        text.extend([format!("  selector:\n    matchLabels: {}\n", matches("--selector", &self.selector)?)]);
        let strategy = [("maxInFlight", &self.max_in_flight), ("maxFailures", &self.max_failures)];
        let said: Vec<_> = strategy.iter().filter_map(|(field, amount)| Some((field, amount.as_ref()?))).collect();
        if !said.is_empty() {
            text += "  strategy:\n";
        }
        for (field, amount) in said {
            let amount = amount.parse::<u32>().map_or_else(|_| json!(amount), |count| json!(count));
            text += &["    ", field, ": ", &amount.to_string(), "\n"].concat();
        }
        let setting = Setting { dir: config::base(self.first()), poll_interval: POLL_INTERVAL, secrets: false };
        let found = found_in("the manifest", text.as_bytes(), &Kinds::default(), &setting);
        match found.into_iter().find_map(|found| found.result.err()) {
            Some(why) => Err(why),
            None => Ok(text),
        }
    }
}

/// Labels as a manifest writes them.
fn matches(flag: &str, labels: &[(String, String)]) -> Result<serde_json::Value, String> {
    let map: serde_json::Map<_, _> = labels.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
    if map.len() < labels.len() {
        return Err(format!("{flag}: a label is there twice, and a gateway has one value for each"));
    }
    Ok(map.into())
}
