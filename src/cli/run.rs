//! `lamplighter run`: the operator itself.

use std::path::{self, PathBuf};
use std::process::ExitCode;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::LocalSet;

use crate::config::{self, ConfigError, SiteConfig};
use crate::resources::FieldError;
use crate::site;

/// Run the operator for one site
#[derive(Debug, clap::Args)]
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
    /// Listen here for devices instead of where the site file says
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<std::net::SocketAddr>,
    /// Serve plain HTTP where others can reach it; `devices.insecure` in the site file must say so too
    #[arg(long)]
    insecure: bool,
}

/// File reads and hashing; the store has a thread of its own.
const BLOCKING_THREADS: usize = 4;

pub(super) fn run(args: &RunArgs) -> anyhow::Result<ExitCode> {
    let config = match configured(args) {
        Ok(config) => config,
        Err(error) => return Ok(super::bad_input(&error)),
    };
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(BLOCKING_THREADS).build()?;
    LocalSet::new().block_on(&runtime, async {
        let stop = stop_on_signal()?;
        site::run(config, stop).await?;
        Ok(ExitCode::SUCCESS)
    })
}

/// The site file, with what the flags say in the place of what it says.
fn configured(args: &RunArgs) -> Result<SiteConfig, ConfigError> {
    let mut typed = config::read(&args.config)?;
    // relative to where the person stands, not to the site file
    let here = |path: &PathBuf| path::absolute(path).unwrap_or_else(|_| path.clone()).display().to_string();
    if let Some(state) = &args.state {
        typed.state = here(state);
    }
    if !args.manifests.is_empty() {
        typed.intake.manifests = args.manifests.iter().map(here).collect();
    }
    if let Some(listen) = args.listen {
        typed.devices.listen = listen.to_string();
    }
    let config = config::checked(typed, &args.config)?;
    if config.devices.is_open() && !args.insecure {
        let why = format!(
            "is true, and {} can be reached from outside: plain HTTP there lets anybody read tokens and change firmware on \
             its way. Use devices.tls (`lamplighter init` makes a certificate), listen on 127.0.0.1 behind a TLS proxy, or \
             say it again: `lamplighter run --insecure`",
            config.devices.listen
        );
        let errors = vec![FieldError::new("devices.insecure", why)];
        return Err(ConfigError::Wrong { file: args.config.clone(), errors });
    }
    Ok(config)
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
