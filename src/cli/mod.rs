//! The command line: one file per subcommand. It sits on top of everything and decides nothing about gateways.
//!
//! Must never write to the store of a running site: what a person wants goes over the control socket.
//! Exit codes: 0 done, 1 refused or failed, 2 bad usage or input.

pub mod check;
mod control;
pub mod crds;
mod logging;
mod prose;
mod resume;
mod run;
pub mod simulate;
mod status;
mod table;
mod why;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::config::ConfigError;

/// Where a site file lies if nobody says.
const SITE_FILE: &str = "/etc/lamplighter/site.yaml";

/// Updates edge gateways wave by wave, offline, and can prove what it did.
#[derive(Debug, Parser)]
#[command(name = "lamplighter", version, propagate_version = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// How the log is written
    #[arg(long, value_enum, global = true, default_value_t)]
    log_format: logging::Format,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::RunArgs),
    Status(status::StatusArgs),
    Why(why::WhyArgs),
    Resume(resume::ResumeArgs),
    Check(check::Args),
    Crds(crds::Args),
    Simulate(simulate::SimulateArgs),
}

/// How a command answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Output {
    /// For people.
    #[default]
    Text,
    /// For scripts.
    Json,
}

/// Parses the command line and runs what it says.
pub fn main() -> ExitCode {
    // first thing: without a provider the HTTP client and the TLS server would panic
    let _ = rustls::crypto::ring::default_provider().install_default();
    let cli = Cli::parse();
    logging::start(cli.log_format);
    let mut out = io::stdout().lock();
    let done = match cli.command {
        Command::Run(args) => run::run(&args),
        Command::Status(args) => status::run(&args, &mut out),
        Command::Why(args) => why::run(&args, &mut out),
        Command::Resume(args) => resume::run(&args, &mut out),
        Command::Check(args) => check::run(&args, &mut out),
        Command::Crds(args) => crds::run(&args, &mut out),
        Command::Simulate(args) => simulate::run(args),
    };
    done.unwrap_or_else(|error| {
        let io = error.downcast_ref::<io::Error>();
        if io.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
            // whoever reads has seen enough
            return ExitCode::SUCCESS;
        }
        if error.is::<ConfigError>() {
            return bad_input(&error);
        }
        complain(&format!("{error:#}"));
        ExitCode::FAILURE
    })
}

/// Says what is wrong with the input.
fn bad_input(error: &dyn std::fmt::Display) -> ExitCode {
    complain(error);
    ExitCode::from(2)
}

/// Not by `eprintln!`, which panics when nobody listens.
fn complain(error: &dyn std::fmt::Display) {
    let _ = writeln!(io::stderr(), "lamplighter: {error}");
}
