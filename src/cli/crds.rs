//! `lamplighter crds`: the CRDs, for `kubectl apply -f -` or into a directory.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;

use crate::resources::crds;

/// Print the resource definitions (CRDs) as YAML
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  lamplighter crds | kubectl apply -f -")]
pub struct Args {
    /// Write a file for each into this directory instead
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Runs it, printing to `out`.
pub fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    for crd in crds() {
        let yaml = crd.yaml().map_err(anyhow::Error::msg)?;
        match &args.dir {
            Some(dir) => {
                std::fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
                let file = dir.join(&crd.file);
                std::fs::write(&file, yaml).with_context(|| format!("cannot write {}", file.display()))?;
            }
            None => write!(out, "---\n{yaml}")?,
        }
    }
    Ok(ExitCode::SUCCESS)
}
