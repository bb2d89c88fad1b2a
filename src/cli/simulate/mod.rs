//! `lamplighter simulate`: a complete site as a child process, N simulated gateways, and whether all ended as they should.
//!
//! It must never share state with the site: it knows it as a person and as gateways do, by its files and its sockets.

mod amounts;
mod cast;
pub mod client;
mod control;
mod ddi;
mod device;
mod files;
mod firmware;
mod line;
mod player;
mod progress;
mod run;
mod site;
mod trust;
mod usage;
mod verdict;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::LocalSet;

pub(super) use amounts::format_bytes;
use amounts::{parse_bytes, parse_kill_every, parse_share};
use files::Directory;
use run::Simulation;
use verdict::Report;

/// Plays a whole site on this machine: a real Lamplighter in a temporary directory, and simulated gateways that it updates.
#[derive(Debug, Clone, Args)]
pub struct SimulateArgs {
    /// How many gateways
    #[arg(long, value_name = "N", default_value = "500", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub gateways: u32,
    /// How large the firmware is
    #[arg(long, value_name = "SIZE", default_value = "16Mi", value_parser = parse_bytes)]
    pub artifact_size: u64,
    /// What decides who behaves how, and what the firmware is
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
    /// How many gateways fall silent, fail or boot back into the old version; as many again are slow
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = parse_share)]
    pub faults: u32,
    /// Kill the site with SIGKILL about this often, and start it again at once
    #[arg(long, value_name = "DURATION", value_parser = parse_kill_every)]
    pub kill_every: Option<Duration>,
    /// Serve the gateways over TLS, with an authority of the site's own
    #[arg(long)]
    pub tls: bool,
    /// Keep the directory with the site's files and log, and say where it is
    #[arg(long)]
    pub keep: bool,
    /// How the result is printed
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t = Output::Text)]
    pub output: Output,
    /// Run this binary as the site
    #[arg(long, value_name = "PATH", hide = true)]
    pub site_binary: Option<PathBuf>,
}

/// How a result is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people.
    Text,
    /// For scripts.
    Json,
}

impl SimulateArgs {
    fn for_script(&self) -> bool {
        self.output == Output::Json
    }
}

/// Runs a simulation. Success only if every gateway ended as it should.
pub fn run(args: SimulateArgs) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let dir = Directory::create(args.keep)?;
    if args.tls {
        dir.secure()?;
    }
    let output = args.output;
    if args.keep {
        eprintln!("the site's files and its log are kept in {}", dir.path().display());
    }
    let played = LocalSet::new().block_on(&runtime, async {
        tokio::select! {
            report = play(args, &dir) => report.map(Some),
            stopped = stop_signal() => stopped.map(|()| None),
        }
    });
    let Some(report) = played? else {
        eprintln!("stopped before the end");
        return Ok(ExitCode::from(130));
    };
    print(&report, output)?;
    Ok(if report.wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn play(args: SimulateArgs, dir: &Directory) -> anyhow::Result<Report> {
    Simulation::start(args, dir).await?.finish().await
}

/// Waits for what ends a program politely; then everything is dropped, and with it the site and its directory.
async fn stop_signal() -> anyhow::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
    Ok(())
}

fn print(report: &Report, output: Output) -> anyhow::Result<()> {
    let mut out = io::stdout();
    match output {
        Output::Text => write!(out, "{}", report.text())?,
        Output::Json => writeln!(out, "{}", serde_json::to_string_pretty(report)?)?,
    }
    Ok(())
}
