//! `lamplighter verify`: are these the bytes that a rollout means, and is the cache what its names say?

mod cache;
mod file;
pub(super) mod hash;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use super::Output;
use super::control::SiteArgs;

/// Compare firmware files with the manifests that name them, or verify the cache
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Nothing is changed. Exits with 0 if all is as it should be, 1 if something is not, 2 if something cannot be \
    read.\n\nExamples:\n  lamplighter verify /media/usb/gateway-os-2.1.0.swu\n  lamplighter verify --cache"
)]
pub struct VerifyArgs {
    /// Firmware files
    #[arg(value_name = "FILE", required_unless_present = "cache", conflicts_with = "cache")]
    files: Vec<PathBuf>,
    /// Compare with this manifest instead of those beside the file; may be repeated
    #[arg(long, value_name = "MANIFEST", conflicts_with = "cache")]
    manifest: Vec<PathBuf>,
    /// Read every artifact in a site's cache and compare it with its digest
    #[arg(long)]
    cache: bool,
    #[command(flatten)]
    site: SiteArgs,
    /// How to answer: text, json or yaml
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t, hide_possible_values = true)]
    output: Output,
}

pub(super) fn run(args: &VerifyArgs, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    if args.cache {
        return cache::run(&args.site.state()?, args.output, out);
    }
    file::run(&args.files, &args.manifest, args.output, out)
}

/// How it ended, the worst of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Good,
    Bad,
    Unreadable,
}

impl From<End> for ExitCode {
    fn from(end: End) -> Self {
        match end {
            End::Good => Self::SUCCESS,
            End::Bad => Self::FAILURE,
            End::Unreadable => Self::from(2),
        }
    }
}
