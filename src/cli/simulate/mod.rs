//! `lamplighter simulate`: a complete site as a child process, N simulated gateways, and whether all ended as they should;
//! or a scenario in virtual time.
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
mod scenario;
mod site;
mod trust;
mod usage;
mod verdict;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::LocalSet;

pub(super) use amounts::format_bytes;
use amounts::{parse_bytes, parse_kill_every, parse_share};
use files::Directory;
use run::Simulation;
use verdict::Report;

use super::{Output, complain};

/// Play a whole site on this machine, with simulated gateways that it updates
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "It is a real Lamplighter in a temporary directory. Exits with 0 only if every gateway ended as its behaviour says \
    it should.\n\nExamples:\n  lamplighter simulate --gateways 40 --artifact-size 1Mi\n  lamplighter simulate --kill-every 2s --faults 10%\n  lamplighter simulate --scenario canary-friday"
)]
pub struct SimulateArgs {
    /// Play a scenario in virtual time instead: one that `--list` names, or a file
    #[arg(long, value_name = "NAME|FILE", conflicts_with_all = ["gateways", "artifact_size", "faults", "kill_every", "tls", "keep"])]
    pub scenario: Option<String>,
    /// List the scenarios that come with Lamplighter
    #[arg(long, conflicts_with = "scenario")]
    pub list: bool,
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
    /// How to print the result: text, json or yaml
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t, hide_possible_values = true)]
    pub output: Output,
    /// Run this binary as the site
    #[arg(long, value_name = "PATH", hide = true)]
    pub site_binary: Option<PathBuf>,
}

impl SimulateArgs {
    fn for_script(&self) -> bool {
        self.output != Output::Text
    }
}

/// Runs a simulation. Success only if every gateway ended as it should.
pub fn run(args: SimulateArgs) -> anyhow::Result<ExitCode> {
    if args.list {
        return scenario::list(args.output);
    }
    if let Some(name) = &args.scenario {
        return scenario::play(name, args.seed, args.output);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let dir = Directory::create(args.keep)?;
    if args.tls {
        dir.secure()?;
    }
    let output = args.output;
    if args.keep {
        complain(&format!("the site's files and its log are kept in {}", dir.path().display()));
    }
    let played = LocalSet::new().block_on(&runtime, async {
        tokio::select! {
            report = play(args, &dir) => report.map(Some),
            stopped = stop_signal() => stopped.map(|()| None),
        }
    });
    let Some(report) = played? else {
        complain(&"stopped before the end");
        return Ok(ExitCode::from(130));
    };
    output.print(&mut io::stdout(), &report, Report::text)?;
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
