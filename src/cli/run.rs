//! `lamplighter run`: the operator itself.

use std::path::{self, PathBuf};
use std::process::ExitCode;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::LocalSet;

use crate::config::{ConfigError, Flags, SiteConfig, SiteFile};
use crate::resources::FieldError;
use crate::site;

/// Run the operator for one site
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The site file is followed while it runs. SIGTERM or SIGINT stops it in order, a second one at once.\n\n\
    Examples:\n  lamplighter run --config site.yaml --state /var/lib/lamplighter"
)]
pub struct RunArgs {
    /// The site file
    #[arg(long, value_name = "FILE", default_value = super::SITE_FILE)]
    config: PathBuf,
    /// Keep the state here instead of where the site file says
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Read manifests from here instead of where the site file says; may be repeated
    #[arg(long, value_name = "DIR")]
    manifests: Vec<PathBuf>,
    /// Take drops from here instead of where the site file says
    #[arg(long, value_name = "DIR")]
    drops: Option<PathBuf>,
    /// Listen here for devices instead of where the site file says
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<std::net::SocketAddr>,
    /// Follow the API server of this kubeconfig instead of the one that the site file says
    #[arg(long, value_name = "FILE", conflicts_with = "no_kube")]
    kubeconfig: Option<PathBuf>,
    /// Follow no API server, whatever the site file says
    #[arg(long)]
    no_kube: bool,
    /// Serve plain HTTP where others can reach it; `devices.insecure` in the site file must say so too
    #[arg(long)]
    insecure: bool,
}

/// File reads and hashing; the store has a thread of its own.
const BLOCKING_THREADS: usize = 4;

pub(super) fn run(args: &RunArgs) -> anyhow::Result<ExitCode> {
    let file = site_file(args);
    let config = file.load()?;
    said_twice(args, &config)?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(BLOCKING_THREADS).build()?;
    LocalSet::new().block_on(&runtime, async {
        let stop = stop_on_signal()?;
        site::run(file, config, stop).await?;
        Ok(ExitCode::SUCCESS)
    })
}

/// The site file, and the flags that count instead of what it says.
fn site_file(args: &RunArgs) -> SiteFile {
    // relative to where the person stands, not to the site file
    let here = |path: &PathBuf| path::absolute(path).unwrap_or_else(|_| path.clone());
    let flags = Flags {
        state: args.state.as_ref().map(here),
        manifests: args.manifests.iter().map(here).collect(),
        drops: args.drops.as_ref().map(here),
        listen: args.listen,
        kubeconfig: args.kubeconfig.as_ref().map(here),
        no_kube: args.no_kube,
    };
    SiteFile { path: here(&args.config), flags }
}

/// Plain HTTP beyond this machine has to be said twice.
fn said_twice(args: &RunArgs, config: &SiteConfig) -> Result<(), ConfigError> {
    if !config.devices.is_open() || args.insecure {
        return Ok(());
    }
    let why = format!(
        "is true, and {} can be reached from outside: plain HTTP there lets anybody read tokens and change firmware on \
         its way. Use devices.tls (`lamplighter init` makes a certificate), listen on 127.0.0.1 behind a TLS proxy, or \
         say it again: `lamplighter run --insecure`",
        config.devices.listen
    );
    let errors = vec![FieldError::new("devices.insecure", why)];
    Err(ConfigError::Wrong { file: args.config.clone(), errors })
}

/// The first SIGTERM or SIGINT stops in order; the second ends the process as it always did.
fn stop_on_signal() -> anyhow::Result<watch::Receiver<bool>> {
    let (stop, stopped) = watch::channel(false);
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::task::spawn_local(async move {
        for _ in 0..2 {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            if stop.send_replace(true) {
                std::process::exit(1);
            }
        }
    });
    Ok(stopped)
}
